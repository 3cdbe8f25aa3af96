"""Texts that are longer than a prompt should show, cut into parts that are asked about one by one."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import replace
from itertools import product
from typing import Any, Final, cast

from quaver.core.label_values import fields_in, labels_in, set_of
from quaver.core.number_format import count
from quaver.core.records import OF_SETS, SPLIT, UNORDERED, Item, LabelSet
from quaver.design.spec.items_spec import BY_MODEL, WHOLE, ItemsSpec, SplitSpec
from quaver.design.spec.study_file import Positions
from quaver.errors import ItemError, SpecError, UnknownName

CHARACTERS_A_TOKEN: Final = 4
"""A rule of thumb for English, where the model cannot count."""

PART, PARTS = "part", "parts"
"""The columns of the number of a part and of how many parts its text has, for prompts."""

Place = tuple[int, ...]
"""Where a part begins and ends in its text."""

# The last of each in a window: the greedy beginning is given up from its end, character by character.
_PARAGRAPH: Final = re.compile(r"(?s:.*)(?<=\S)([^\S\n]*+\n[^\S\n]*+\n)")
_LINE: Final = re.compile(r"(?s:.*)(?<=\S)([^\S\n]*+\n)")
_SENTENCE: Final = re.compile(r"""(?s:.*)((?<=[.!?…])\s|(?<=[.!?…]["'”’»)\]])\s|(?<=[。！？])(?=.))""")
_WORD: Final = re.compile(r"(?s:.*)(?<=\S)(\s)")
_LOOK_AHEAD: Final = 8
"""Characters behind the limit in which a blank line may go on."""

_SPACE: Final = re.compile(r"\s")
_PLACE: Final = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
"""A place in a template."""

_LETTER: Final = re.compile(r"\S|\Z")


def cut(text: str, split: SplitSpec) -> tuple[Place, ...]:
    """Where the parts of a text begin and end: in order, without white space at their ends.

    No part is longer than the limit, unless it is one word. A text without blank lines has a paragraph in
    each line.

    >>> cut("One. Two. Three.", SplitSpec(tokens=2, by="sentences"))
    ((0, 4), (5, 9), (10, 16))
    """
    assert isinstance(split.tokens, int)
    most, overlap = CHARACTERS_A_TOKEN * split.tokens, CHARACTERS_A_TOKEN * split.overlap
    if len(text) <= most or not text.strip():
        return ((0, len(text)),)
    text = text.rstrip()
    levels = [_SENTENCE, _WORD]
    if split.by == "paragraphs":
        levels.insert(0, _PARAGRAPH if _PARAGRAPH.match(text) else _LINE)
    places, begin, done = list[Place](), _at(_LETTER, text, 0), 0
    while done < len(text):
        stop = _stop(text, levels, max(begin, done), begin + most)
        if stop is None:  # the next word leaves no room for what the last part had already
            begin = max(begin, _at(_LETTER, text, done))
            stop = _stop(text, levels, begin, begin + most) or _at(_SPACE, text, begin)
        places.append((begin, stop))
        done = stop
        again = _at(_SPACE, text, max(begin + 1, stop - overlap), stop) if overlap else stop
        begin = _at(_LETTER, text, again)
    return tuple(places)


def _stop(text: str, levels: Sequence[re.Pattern[str]], done: int, limit: int) -> int | None:
    """Where a part ends: behind what is done and before the limit, at the coarsest boundary that there is."""
    if len(text) <= limit:
        return len(text)
    for boundary in levels:
        stop = limit + _LOOK_AHEAD
        while (found := boundary.match(text, done + 1, stop)) and (stop := found.start(1)) > limit:
            continue
        if found:
            return stop
    return None


def _at(sign: re.Pattern[str], text: str, begin: int, end: int = sys.maxsize) -> int:
    """The next place of a sign; the end where there is none."""
    found = sign.search(text, begin, end)
    return found.start() if found else min(end, len(text))


def split_column(asked: ItemsSpec, source: Positions, columns: Collection[str]) -> str:
    """The column that is cut: the one that is named, or else the only one that the text shows."""
    where, split = source.where("items", "split", "column"), asked.split
    places = " ".join(_PLACE.findall(" ".join(asked.text.values())))
    named = {name for name in columns if re.search(rf"\b{re.escape(name)}\b", places)}
    shown = named - {PART, PARTS}
    name = (split and split.column) or (shown.pop() if len(shown) == 1 else None)
    if name is None:
        raise SpecError(
            "it is not clear which column is to be cut",
            where=where,
            expected="one column in the text, or its name: `split: {column: text, …}`",
            found=", ".join(sorted(shown)) or "no column",
        )
    if name not in columns:
        raise UnknownName("column", name, columns, where=where)
    return name


def in_parts(items: Sequence[Item], asked: ItemsSpec, source: Positions) -> list[Item]:
    """The items with the places of the parts of long texts; the parts themselves where they are not joined.

    Raises:
        ItemError: A column or an item is called as those of parts are.
    """
    split, column = asked.split, split_column(asked, source, items[0].fields)
    assert split is not None
    levels, found, parts = [*split.levels.values()], list[Item](), list[Item]()
    for item in items:
        text, cuts = item.fields.get(column), dict[tuple[Place, ...], tuple[int, ...]]()
        for number, level in enumerate(levels if isinstance(text, str) else ()):
            places = cut(str(text), level)
            cuts[places] = (*cuts.get(places, ()), number)
        of_all = len(cuts) == 1
        every = tuple((*place, *(() if of_all else of)) for places, of in cuts.items() for place in places)
        found.append(replace(item, fields=_numbered(item, 1, 1), parts=every if len(every) > 1 else ()))
        parts += parts_of(found[-1], column)
    taken = {PART, PARTS, *([SPLIT] if len(levels) > 1 else [])}.intersection(items[0].fields)
    names = Counter(one.id for one in [*parts, *(item for item in found if item.parts)])
    taken |= {name for name, n in names.items() if n > 1}
    if taken:
        raise ItemError(
            "this is what a part of a text, its number or its split would be called",
            where=source.where("items", "split"),
            expected="no column `part`, `parts` or `split` in the table, and no id of an item like 17#2",
            found=", ".join(sorted(taken)[:5]),
            fix="rename it in the table",
        )
    return list(map(_alone, parts)) if split.join == "none" else found


def _alone(part: Item) -> Item:
    """A part as an item of its own, in a group with those of its text, whose gold label is none of theirs."""
    if part.fields[PARTS] == 1:
        return replace(part, groups={**part.groups, WHOLE: part.id})
    groups = {**part.groups, WHOLE: part.id.rpartition("#")[0]}
    return replace(part, groups=groups, gold=None, golds={})


def parts_of(item: Item, column: str) -> list[Item]:
    """The parts in which a text is asked about, in a group of their own; the item itself if it is one."""
    if not item.parts:
        return [item]
    text, parts = item.fields.get(column), []
    sizes, seen = Counter(place[2:] for place in item.parts), Counter[Place]()
    for number, (begin, end, *of) in enumerate(item.parts, start=1):
        seen[key := tuple(of)] += 1
        fields = _numbered(item, seen[key], sizes[key])
        if isinstance(text, str):  # else the texts are not here
            fields[column] = text[begin:end]
        parts.append(replace(item, id=f"{item.id}#{number}", fields=fields, parts=()))
    return parts


def _numbered(item: Item, number: int, of: int) -> dict[str, Any]:
    """The cells of a row, with the number of its part."""
    fields: dict[str, Any] = copy(cast(dict[str, Any], item.fields))  # a row knows its place
    fields |= {PART: number, PARTS: of}
    return fields


def whole(item: Item) -> Item:
    """An item as prompts show it that is asked about whole."""
    return replace(item, fields=_numbered(item, 1, 1))


def notes_on_parts(split: SplitSpec, items: Sequence[Item]) -> list[str]:
    """What a reader must know of texts that were cut, for each split."""
    notes = []
    for number, level in enumerate(split.levels.values()):
        sizes = Counter[str]()
        for item in items:
            own = [place for place in item.parts if len(place) == 2 or number in place[2:]]
            sizes[item.groups.get(WHOLE, item.id)] += len(own) or 1
        long = [size for size in sizes.values() if size > 1]
        join = str(level.join).replace("'", "")
        join += ", in a further call that shows it the labels of the parts" * (join == BY_MODEL)
        notes.append(
            f"{len(long):,} of {count(len(sizes), 'text')} are longer than {level.tokens:,} tokens (of "
            f"{CHARACTERS_A_TOKEN} characters each) and are cut between {level.by} into {sum(long):,} parts "
            f"(join: {join})."
        )
    return notes


Join = tuple[str, str]
"""How the labels of a text's parts become its label; for `any` also the label, or nothing for sets."""


def joins_of(split: SplitSpec, labels: LabelSet, source: Positions) -> dict[tuple[int, str], Join]:
    """How the labels are joined, by the numbers of splits and the fields; of a task without fields, no name.

    Raises:
        SpecError: The join does not fit the labels.
    """
    fields = {field.name: field.labels for field in fields_in(labels)} or {"": labels}
    spans = {field.name for field in fields_in(labels) if field.spans}
    joins = {}
    for (number, level), (name, some) in product(enumerate(split.levels.values()), fields.items()):
        given: Any = level.join
        one = given.get(name) if isinstance(given, dict) and [*given] != ["any"] else given
        kind, wanted = ("any", str(one.get("any"))) if isinstance(one, dict) else (str(one), "")
        known = ["none"] if name in spans else _joins_for(some)
        known += [BY_MODEL] * (not name and some.level not in OF_SETS)
        if (_ANY_LABEL if wanted else kind) not in known or (wanted and wanted not in some.codes):
            raise SpecError(
                "the labels of a text's parts cannot be joined in this way",
                where=source.where("items", "split", "join"),
                expected=f"{', '.join(known)}{name and f' for {name}'}",
                found=str(given),
            )
        joins[number, name] = kind, wanted
    return joins


_ANY_LABEL: Final = "{any: LABEL}"


def _joins_for(labels: LabelSet) -> list[str]:
    """The joins that fit some labels."""
    if labels.level in OF_SETS:
        return ["any", "none"]
    ordered = [] if labels.level in UNORDERED else ["max"]
    return [*ordered, *([] if labels.are_numbers else ["majority", _ANY_LABEL]), "none"]


def joined_label(
    join: Join, labels: Sequence[str | None], statuses: Sequence[str], of: LabelSet
) -> tuple[str | None, str, str]:
    """The label of a text by those of its parts, its status, and in words how it follows.

    A majority is one of the parts that have a label. The highest label, a set of all, and that no part has a
    named label are known only if each part has one.

    >>> from quaver.core.records import Label
    >>> stances = LabelSet((Label("favor", "favor"), Label("against", "against")))
    >>> joined_label(("any", "favor"), ["against", "favor", None], ["valid", "valid", "empty"], stances)
    ('favor', 'valid', '“favor” in 1 of 3 parts (2), 1 without a label')
    >>> joined_label(("majority", ""), ["against", "favor"], ["valid", "valid"], stances)
    (None, 'no_label', 'as many parts have “against” as “favor”')
    """
    kind, wanted = join
    votes = Counter(label for label in labels if label is not None)
    failed = [status for label, status in zip(labels, statuses, strict=True) if label is None]
    if not votes or (failed and kind != "majority" and wanted not in votes):
        return (
            None,
            Counter(failed).most_common(1)[0][0],
            f"{len(failed)} of {len(labels)} parts without a label",
        )
    if of.level in OF_SETS:
        return set_of((label for one in votes for label in labels_in(one)), of.codes), "valid", "of all parts"
    if kind == "max":
        scale = {one.code: place if one.value is None else one.value for place, one in enumerate(of.labels)}
        label = max(votes, key=lambda code: scale[code] if scale else float(code))
    elif wanted in votes:
        label = wanted
    else:
        (label, n), *others = votes.most_common(2)
        if others and others[0][1] == n:
            return None, "no_label", f"as many parts have “{label}” as “{others[0][0]}”"
    numbers = ", ".join(str(number) for number, one in enumerate(labels, start=1) if one == label)
    gap = f", {len(failed)} without a label" if failed else ""
    return label, "valid", f"“{label}” in {votes[label]} of {len(labels)} parts ({numbers}){gap}"
