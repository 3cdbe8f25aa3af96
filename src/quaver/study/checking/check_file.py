"""The study file that a check leaves behind: commented, to be edited and run like any other."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quaver.core.label_decisions import Decision
from quaver.core.replaced_file import writing
from quaver.design.items.item_data import column_template
from quaver.design.spec.json_schema import MODELINE, write_with_schema
from quaver.errors import QuaverError
from quaver.study.checking.check_options import CheckOptions, written_in
from quaver.study.checking.coding_sheet import DEFINED
from quaver.study.checking.text_table import TextTable

_SEAL = "# Unchanged since `quaver check` wrote it: "


@dataclass(frozen=True, slots=True)
class CheckDesign:
    """What a check asks.

    Attributes:
        name: The study's name.
        instructions: The instruction's forms by name, the original first.
        is_own: Whether the user gave it.
        reorders: Whether the labels are also listed from last to first.
        model: What would stand under ``models``.
        sample: How many texts are drawn; all if None.
        more_gold: How many others with true labels are asked about at most.
        repeats: How often each prompt asks about each text.
        max_tokens: Where an answer is cut off.
        is_held: Whether the model can write nothing but one of the labels.
        options: Those of the check.
        definitions: What labels mean, where a coding sheet says so.
        in_function: Whether the model is a function of the text alone, which holds the instruction itself.
    """

    name: str
    instructions: Mapping[str, str]
    is_own: bool
    reorders: bool
    model: str | Mapping[str, Any]
    sample: int | None
    more_gold: int
    repeats: int
    max_tokens: int
    is_held: bool
    options: CheckOptions
    definitions: Mapping[str, str] = field(default_factory=dict)
    in_function: bool = False

    @property
    def prompts(self) -> int:
        """How many prompts there are."""
        return len(self.instructions) * (1 + self.reorders)


def check_file(path: Path, source: Path, table: TextTable, design: CheckDesign) -> str:
    """The study file's text, sealed."""
    first = "# May these labels be used? `quaver check` wrote this study file. Change it as you like; then:"
    return _sealed(study_text(path, source, table, design, first=first, study=path.parent.name))


def study_text(
    path: Path, source: Path, table: TextTable, design: CheckDesign, *, first: str, study: str
) -> str:
    """A commented study file for a table of texts."""
    seen = "the fields with their labels" if table.fields else "the list of labels"
    lines = ["prompt:", f"  # The model sees the text, this instruction, and {seen}."]
    lines += [] if design.is_own else ["  # A plain default: say here what the labels mean."]
    lines += [f"  instruction: {_yaml(next(iter(design.instructions.values())))}"]
    defined = {label: meaning for label in table.labels if (meaning := design.definitions.get(label))}
    lines += [f"  postfix: {_yaml(DEFINED)}"] if defined else []
    labels = [
        {"code": label, "definition": defined[label]} if label in defined else label for label in table.labels
    ]
    parts = [
        _head(first, study, source, table.taken, design),
        f"name: {_yaml(design.name)}\nseed: {design.options['seed']}",
        _task(table, design, labels),
        _items(path, source, table, design),
        "\n".join(lines),
        *_variants(table, design),
        f"models:\n  - {_yaml(design.model)}",
        _decoding(table, design),
        f"repeats: {design.repeats} # how often each prompt asks about each text",
        _measures(table, design),
    ]
    if evaluator := design.options["evaluator"]:
        parts.append(f"evaluators: [{_yaml(evaluator)}] # turns answers into labels")
    if budget := design.options["budget"]:
        parts.append(f"budget: {{money: {budget:g}}} # US dollars, of all runs together")
    return "\n\n".join(parts) + "\n"


def _task(table: TextTable, design: CheckDesign, labels: Sequence[Any]) -> str:
    if not table.fields:
        return f"task:\n  labels: {_yaml(labels)}"
    lines = ["task:", "  # Say in a field's `definition` what it is about."]
    lines += ["  fields:", *(f"    {_yaml(one.name)}: {_yaml(one.document)}" for one in table.fields)]
    return "\n".join(lines)


def write_check_file(path: Path, text: str, *, replaces: bool = True) -> None:
    """Write a check's study file, unless that would undo somebody's edits, or replace another check."""
    if path.exists():
        there = path.read_text(encoding="utf-8", errors="replace")
        if there == MODELINE + text:
            return
        if there != MODELINE + _sealed(there.removeprefix(MODELINE).partition(f"\n{_SEAL}")[0]):
            raise QuaverError(
                "this study file was edited, and the check would write over it",
                where=str(path),
                fix=f"`quaver run {path.parent}` goes on from it; --to FOLDER starts another check",
            )
        if not replaces and _asked(there) != _asked(MODELINE + text):
            raise QuaverError(
                "there is a check of these texts, and these options ask for another one",
                where=str(path.parent),
                fix="leave the options of a check out to go on from it; --to FOLDER starts another check",
            )
    with writing(path.parent):
        write_with_schema(path, text)


def _asked(text: str) -> list[str]:
    """The lines of a check's study file that say what is asked: all but its budget and its seal."""
    return [line for line in text.splitlines() if not line.startswith(("budget:", _SEAL)) and line]


def _sealed(text: str) -> str:
    digest = hashlib.sha256(text.strip().encode()).hexdigest()[:16]
    return f"{text.rstrip()}\n{_SEAL}{digest}\n"


def _head(first: str, study: str, source: Path, taken: Sequence[Decision], design: CheckDesign) -> str:
    decisions = [_one_line(f"{decision.role}: {decision.column} ({decision.why})") for decision in taken]
    name = _one_line(study)
    model = design.model
    is_function = not isinstance(model, str) and model["use"] == "function"
    given = f" --function {model['name']}=MODULE:FUNCTION" if is_function else ""  # type: ignore[index]
    return "\n".join(
        [
            first,
            "#",
            f"#   quaver plan {name}{given}",
            f"#   quaver run {name}{given}",
            f"#   quaver report {name}",
            "#",
            f"# From {_one_line(source.name)}:",
            *(f"#   {decision}" for decision in decisions),
        ]
    )


def _items(path: Path, source: Path, table: TextTable, design: CheckDesign) -> str:
    lines = ["items:", f"  source: {_yaml(_relative(source, path.parent))}"]
    lines += [f"  {option}: {_yaml(value)}" for option, value in written_in(design.options).items()]
    lines += [f"  id: {_yaml(table.item)}"] if table.item else []
    lines += [f"  text: {_yaml(column_template(table.text))}"]
    where = ({"none_of": table.left} if table.left else {}) | ({"empty": False} if table.blank else {})
    if where:
        lines += ["  # What the prompts show as examples is no test."] if table.left else []
        lines += [f"  where: {_yaml({table.text: where})}"]
    lines += [f"  group: {_yaml(table.group)}"] if table.group else []
    lines += [f"  groups: {_yaml(table.compare)}"] if table.compare else []
    lines += [f"  coders: {_yaml(table.coders)}"] if table.coders else []
    gold = {"column": table.gold} if table.gold else {"coders": "majority"} if table.coders else {}
    if gold:
        lines += [] if table.gold else ["  # The label of most coders counts as the true one."]
        drawn = {"drawn": design.options["hand_labels"]} if design.options["hand_labels"] else {}
        lines += [f"  gold: {_yaml(gold | drawn | ({'map': table.also} if table.also else {}))}"]
    if design.sample:
        lines += [f"  sample: {design.sample} # of {table.rows:,} texts; without this line, all of them"]
    if design.more_gold:
        more = (
            f"  more_gold: {design.more_gold} # and up to so many others with a true label, for correctness"
        )
        lines.append(more)
    return "\n".join(lines)


def _variants(table: TextTable, design: CheckDesign) -> list[str]:
    lines = []
    others = list(design.instructions.items())[1:]
    if others:
        lines += [
            "  # The instruction in other words. Edit these, or add your own.",
            "  - use: instructions",
            "    factor: instruction",
            "    texts:",
        ]
        lines += [f"      {_yaml(name)}: {_yaml(text)}" for name, text in others]
    if design.reorders:
        orders = {"last to first": list(reversed(table.labels))}
        lines += ["  - use: label_order", "    factor: order of the labels", f"    orders: {_yaml(orders)}"]
    if table.examples:
        lines += ["  # Texts with true labels that every prompt shows.", "  - use: shots"]
        lines += [f"    k: {len(table.examples)}", "    examples:"]
        lines += [f"      - {_yaml({'label': label, table.text: text})}" for text, label in table.examples]
    return ["\n".join(["variants:", *lines])] if lines else []


def _decoding(table: TextTable, design: CheckDesign) -> str:
    options = f"temperature: {design.options['temperature']:g}, max_tokens: {design.max_tokens}"
    if not design.is_held or not table.labels:
        return f"decoding:\n  check: {{{options}}}"
    why = "  # The model can write nothing but one of the labels; without the constraint, anything."
    return f"decoding:\n{why}\n  check: {{{options}, constraint: labels}}"


def _measures(table: TextTable, design: CheckDesign) -> str:
    names = ["intra_pss"] * (design.repeats > 1)
    names += ["inter_pss", "sensitivity"] * (design.prompts > 1)
    names += ["accuracy", "consistency"] * bool(table.gold or table.coders)
    classes = [one.name for one in table.fields if one.kind != "number"]
    shares = f"{{use: label_shares, field: {_yaml(classes)}}}" if table.fields else "label_shares"
    names += ["accuracy"] * bool(table.fields) + [shares] * bool(classes or not table.fields)
    return "\n".join(["measures:", *(f"  - {name}" for name in (*names, "compliance"))])


def _relative(source: Path, home: Path) -> str:
    try:
        return Path(os.path.relpath(source.resolve(), home.resolve())).as_posix()
    except ValueError:  # on another drive
        return source.resolve().as_posix()


def _yaml(value: Any) -> str:
    """A value on one line, as JSON writes it and YAML reads it."""
    return json.dumps(value, ensure_ascii=False)


def _one_line(text: str) -> str:
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in " ".join(text.split()))
