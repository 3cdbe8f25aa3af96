"""What the page's script shows on demand: each prompt's labels, item by item, and the answers behind them.

It stands in the page as a block of JSON that no browser executes. Its size is bounded: of a large study it
holds a sample of the items, and says so.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import polars as pl
from markupsafe import Markup

from quaver.core.estimate_frame import Deviations
from quaver.report.estimate_index import NO_LABEL, Results
from quaver.report.page_words import sentence, visible


class RawAnswer(NamedTuple):
    """A stored answer as the model gave it: its place in the design, and its text."""

    item: str
    model: str
    variant: str
    decoding: str
    text: str


class Cost(NamedTuple):
    """What a model's answers cost.

    Attributes:
        model: Its name in the study.
        calls: Calls that were made.
        reused: Answers that were reused from other studies.
        errors: How many of the calls ended in an error.
        prompt_tokens: Tokens read.
        cached_tokens: How many of these the server had in its cache.
        completion_tokens: Tokens written.
        money: US dollars; None where the price is not known.
        paraphrases: Whether the calls made paraphrases.
    """

    model: str
    calls: int
    reused: int
    errors: int
    prompt_tokens: float
    cached_tokens: float
    completion_tokens: float
    money: float | None
    paraphrases: bool = False

    @property
    def name(self) -> str:
        """What a table calls it."""
        return f"{self.model} (paraphrases)" if self.paraphrases else self.model


class PartCost(NamedTuple):
    """What the answers at one level of a factor cost.

    Attributes:
        factor: A factor of the variants, ``decoding`` or ``model``.
        level: One of its levels.
        calls: Answers.
        prompt_tokens: Tokens read.
        completion_tokens: Tokens written.
        money: US dollars; None where the price of one of the models is not known.
    """

    factor: str
    level: str
    calls: int
    prompt_tokens: float
    completion_tokens: float
    money: float | None


class Behind(Protocol):
    """Where a report looks up texts, answers and costs, a few items at a time."""

    @property
    def raw(self) -> bool:
        """Whether raw answers are stored."""
        ...

    def texts(self, items: Sequence[str]) -> Mapping[str, str]:
        """The texts of some items by id, as far as they are known."""
        ...

    def answers(self, items: Sequence[str]) -> Sequence[RawAnswer]:
        """The first repeat's raw answers about some items, each cut to a few hundred characters."""
        ...

    def costs(self) -> Sequence[Cost]:
        """What each model's answers cost; nothing if no calls were made."""
        ...

    def part_costs(self) -> Sequence[PartCost]:
        """What the answers at each level of each factor cost, of all models together."""
        ...


_MOST_LABELS = 400_000
"""Labels that are listed, each a character; of more, as many whole items as that."""

_MOST_ITEMS = 4_000
_MOST_TEXTS = 400
_MOST_ANSWERS = 6_000
_LEAST_ANSWERED, _MOST_ANSWERED = 5, 60
"""Items whose raw answers are listed."""

_LEAST_SAID, _MOST_SAID, _SAID_IN_ALL = 4, 24, 6_000
"""Estimates of a prompt and model that are listed."""

_LONGEST = 160
"""Characters of a text or an answer."""

_DIGITS = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_UNLABELLED, _NOT_ASKED = b".", b" "
_WHERE = ("model", "decoding", "variant", "item")


def figure_data(results: Results, deviations: Deviations | None, behind: Behind | None) -> Markup:
    """The data as JSON that can stand in a ``script`` element."""
    document = {
        "models": results.models,
        "decodings": results.decodings,
        "prompts": [results.variant_name(str(variant["id"])) for variant in results.variants],
        "said": _said(results),
        **_labelled(results, deviations, behind),
    }
    return inert(document)


def _said(results: Results) -> list[list[tuple[int, str]]]:
    """What was measured of each prompt, in words, each with its model's place; -1 where it is of all."""
    found: dict[str, list[tuple[int, str]]] = {str(one["id"]): [] for one in results.variants}
    first = results.evaluators[0] if results.evaluators else ""
    count: Counter[tuple[str, int]] = Counter()
    each = _SAID_IN_ALL // max(1, len(found) * len(results.models))
    most = max(_LEAST_SAID, min(_MOST_SAID, each))
    for estimate in (*results.estimates, *results.anywhere("deviation_share")):
        variant = estimate.cell.get("variant", "")
        if variant not in found or estimate.value is None or estimate.cell.get("evaluator", first) != first:
            continue
        model = estimate.cell.get("model", "")
        index = results.models.index(model) if model in results.models else -1
        count[variant, index] += 1
        if count[variant, index] <= most:
            found[variant].append((index, sentence(estimate, results, ("variant",))))
    return list(found.values())


def inert(document: Mapping[str, Any]) -> Markup:
    r"""JSON that cannot end the element it stands in, with what cannot be printed made visible.

    >>> inert({"a": ["</script>"]})
    Markup('{"a":["\\u003c/script\\u003e"]}')
    """
    text = json.dumps(_shown(document), ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _shown(value: Any) -> Any:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, Mapping):
        return {key: _shown(one) for key, one in value.items()}
    return [_shown(one) for one in value] if isinstance(value, (list, tuple)) else value


def _labelled(results: Results, deviations: Deviations | None, behind: Behind | None) -> dict[str, Any]:
    """The labels of some items under every prompt, with the items' texts and raw answers."""
    if deviations is None or not results.variants:
        return {}
    every = [str(item) for item in deviations.items["item"]]  # those that move most come first
    cells = deviations.answers.select(_WHERE[:3]).unique().height
    most = min(_MOST_ITEMS, max(1, _MOST_LABELS // cells))
    sample = set(pl.Series(every).sample(most, seed=abs(results.seed)).to_list()) if len(every) > most else ()
    items = [item for item in every if not sample or item in sample]
    answered = items[: max(_LEAST_ANSWERED, min(_MOST_ANSWERED, _MOST_ANSWERS // cells))]
    texts = behind.texts(items[:_MOST_TEXTS]) if behind else {}
    known, raw = _raw_answers(results, answered, behind)
    codes = list(dict.fromkeys([*results.label_names, *deviations.answers["label"].unique().sort()]))
    codes = [code for code in codes if code != NO_LABEL]
    return {
        "labels": [results.label_name(code) for code in codes],
        "items": items,
        "itemsInAll": len(every),
        "texts": [_cut(texts.get(item, "")) for item in items[:_MOST_TEXTS]] if texts else [],
        "answers": known,
        "width": _width(len(codes)),
        "groups": [
            {"model": model, "decoding": decoding, "labels": lines, "answers": raw.get((model, decoding), [])}
            for (model, decoding), lines in _lines(results, deviations, items, codes).items()
        ],
    }


def _lines(
    results: Results, deviations: Deviations, items: Sequence[str], codes: Sequence[str]
) -> dict[tuple[int, int], list[str]]:
    """For each model and decoding, by their places, a line a prompt: its most frequent label about each item.

    Of equally frequent labels the first in the alphabet counts, as where two prompts are compared
    (`quaver.compare`); no label counts where there is no other.
    """
    counted = deviations.answers.filter(pl.col("item").is_in(items)).with_columns(
        labelled=pl.col("label") != NO_LABEL
    )
    ranked = counted.sort(["labelled", "len", "label"], descending=[True, True, False])
    modal = ranked.group_by(_WHERE, maintain_order=True).agg(pl.col("label").first())
    places = {
        "model": {name: index for index, name in enumerate(results.models)},
        "decoding": {name: index for index, name in enumerate(results.decodings)},
        "variant": {str(one["id"]): index for index, one in enumerate(results.variants)},
        "item": {item: index for index, item in enumerate(items)},
        "label": {code: index for index, code in enumerate((*codes, NO_LABEL))},
    }
    placed = modal.filter(pl.col("variant").is_in([*places["variant"]])).with_columns(
        pl.col(name).replace_strict(known, default=0, return_dtype=pl.Int64) for name, known in places.items()
    )
    width = _width(len(codes))
    digits = b"".join(_digits(index, width) for index in range(len(codes))) + _UNLABELLED * width
    written = np.frombuffer(digits, dtype=np.uint8).reshape(-1, width)
    blank = np.frombuffer(_NOT_ASKED * width, dtype=np.uint8)
    found_lines = {}
    for (model, decoding), part in placed.group_by(["model", "decoding"]):
        table = np.tile(blank, (len(results.variants), len(items), 1))
        table[part["variant"].to_numpy(), part["item"].to_numpy()] = written[part["label"].to_numpy()]
        found_lines[int(model), int(decoding)] = [line.tobytes().decode() for line in table]
    return dict(sorted(found_lines.items()))


def _raw_answers(
    results: Results, items: Sequence[str], behind: Behind | None
) -> tuple[list[str], dict[tuple[int, int], list[list[int]]]]:
    """The raw answers about some items: each text once, and by model and decoding which text is where."""
    known: dict[str, int] = {}
    tables: dict[tuple[int, int], list[list[int]]] = {}
    variants = {str(one["id"]): index for index, one in enumerate(results.variants)}
    places = {item: index for index, item in enumerate(items)}
    for answer in behind.answers(items) if behind and items else ():
        if answer.variant not in variants:
            continue
        key = (_place(results.models, answer.model), _place(results.decodings, answer.decoding))
        table = tables.setdefault(key, [[-1] * len(items) for _ in variants])
        table[variants[answer.variant]][places[answer.item]] = known.setdefault(_cut(answer.text), len(known))
    return list(known), tables


def _place(names: Sequence[str], name: str | None) -> int:
    return names.index(name) if name in names else 0


def _width(labels: int) -> int:
    """Characters that each of so many labels takes."""
    return 1 if labels <= len(_DIGITS) else 1 + _width(-(-labels // len(_DIGITS)))


def _digits(number: int, width: int) -> bytes:
    """A number in a fixed number of digits, the highest first."""
    result = b""
    for _ in range(width):
        number, digit = divmod(number, len(_DIGITS))
        result = _DIGITS[digit : digit + 1] + result
    return result


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[:_LONGEST] + "…"


_PACKED_FROM = 600
"""Bytes from which packing makes a file's link shorter."""


def download(name: str, data: str | bytes, kind: str, words: str = "") -> Markup:
    """A link that saves a file."""
    content = data.encode("utf-8", "backslashreplace") if isinstance(data, str) else data
    packed = len(content) >= _PACKED_FROM and isinstance(data, str)
    if packed:
        content = gzip.compress(content, 9, mtime=0)
    coded = base64.b64encode(content).decode("ascii")
    suffix, held, more = (
        (".gz", "application/gzip", Markup(' data-kind="{}"').format(kind)) if packed else ("", kind, "")
    )
    link = Markup('<a class="save" download="{}{}" href="data:{};base64,{}"{}>{}</a>')
    return link.format(name, suffix, held, coded, more, words or name)
