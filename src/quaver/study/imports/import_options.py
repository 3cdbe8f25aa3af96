"""The options of an import, which ``quaver import`` and ``quaver.import_annotations`` share.

How a table is written and what its cells mean are options of every command that reads columns of labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal

from typing_extensions import TypedDict

from quaver.core.label_decisions import LabelRules
from quaver.core.options import Option
from quaver.core.records import Level
from quaver.errors import QuaverError

Twice = Literal["error", "repeat"]
Outside = Literal["error", "no-label"]
LISTS: Final = ("coders", "models", "confidence", "fields", "variant", "compare", "ignore")
"""The options that name one or more columns."""


class TableOptions(TypedDict, total=False):
    r"""How a table is written, and what the cells of its columns of labels mean.

    Attributes:
        encoding: Encoding of a text file. UTF-8, if left out.
        separator: The separator between cells, if it is not a comma: ';', '\t'.
        sheet: The sheet of a spreadsheet, where several hold a table.
        quote: none: quotation marks are text like any other. In a CSV or TSV file they then enclose no cells.
        unlabelled: Other cells that mean “no label”, such as 99. Beside empty cells, ``NA``, ``None``, ``.``
        label_is: Labels that look like missing ones, such as NA.
        same: What else is a label: y=yes,n=no.
    """

    encoding: str | None
    separator: str | None
    sheet: str | None
    quote: Literal["none"] | None
    unlabelled: Sequence[str]
    label_is: Sequence[str]
    same: Sequence[str]


class ImportOptions(TableOptions, total=False):
    """How a file of labels is read; columns that are left out are recognised by their names.

    Attributes:
        item: The column of the items' ids.
        label: The column of labels, one a row, or several: 'human_*'.
        raw: The column of raw answers, which evaluators read. In place of labels.
        thinking: The column of thinking beside raw answers.
        evaluators: Reads the raw answers; by default marked_label.
        coders: The coders' columns, one item a row: anna,ben,cleo.
        models: The models' columns, beside people's: gpt,llama. ``coders`` are then the people with whom the
            models are compared; their majority is the gold label unless ``gold`` names one.
        confidence: The columns of models' confidence, 0 to 1. One, or one for each of ``models``.
        fields: Several variables, a column each: tone,topics,cost. In a table with a row an annotation: each
            a label, a set of labels, a scale or a number.
        coder: The column of who labelled.
        variant: The columns of prompts; each is a factor.
        decoding: The column of decodings, such as the temperature.
        repeat: The column that numbers the repeats.
        prompt: The column of the prompts' texts.
        original: The column that marks the original prompt: true, yes, 1.
        text: The column of texts.
        gold: The column of gold labels.
        hand_labels: How the texts with gold labels were picked. ``"random"``, from all of them, or
            ``"chosen"``.
        group: The column that says which texts belong together: author. Every interval then allows for their
            being alike.
        compare: Compare the texts by these columns: party.
        ignore: The columns to ignore. They play no role, whatever they are called.
        labels: The label set, in order: a,b,"c, d"; by default all found.
        distinct: Keep labels apart that differ in capitals or spaces. In dashes, too, and in how a number is
            written.
        level: Level of measurement. Nominal, if left out.
        twice: What rows are that no column tells apart: error or repeat. ``repeat`` numbers them in the
            file's order.
        outside: A label outside --labels is: error or no-label. ``no-label`` counts them as answers
            without a label.
    """

    item: str | None
    label: str | None
    raw: str | None
    thinking: str | None
    evaluators: Annotated[Sequence[str], Option(flags=("--evaluator",))]
    coders: str | Sequence[str]
    models: str | Sequence[str]
    confidence: str | Sequence[str]
    fields: str | Sequence[str]
    coder: str | None
    variant: str | Sequence[str]
    decoding: str | None
    repeat: str | None
    prompt: str | None
    original: str | None
    text: str | None
    gold: str | None
    hand_labels: Literal["random", "chosen"] | None
    group: str | None
    compare: str | Sequence[str]
    ignore: str | Sequence[str]
    labels: Sequence[str]
    distinct: Annotated[bool, Option(flags=("--distinct",))]
    level: Literal["nominal", "ordinal", "interval", "ratio"] | None
    twice: Annotated[Twice, Option("error")]
    outside: Annotated[Outside, Option("error")]


def written_in(options: Mapping[str, Any]) -> dict[str, str]:
    """How a file is written, where that had to be said: those of `TableOptions` that say so."""
    names = ("encoding", "separator", "sheet", "quote")
    return {name: str(value) for name in names if (value := options.get(name)) is not None}


def label_rules(
    options: Mapping[str, Any], labels: Sequence[str], level: Level | None = None, *, is_read: bool = True
) -> LabelRules:
    """The rules that options make.

    Args:
        options: `TableOptions`, and perhaps ``distinct``.
        labels: The label set, where it is given.
        level: Its level of measurement.
        is_read: Whether the labels are read in answers too, where they must be told apart.
    """
    pairs = [text.rpartition("=") for text in options.get("same") or ()]
    if wrong := [right for text, sign, right in pairs if not (text and sign and right)]:
        raise QuaverError(
            "this does not say which label a text is",
            where="--same",
            expected="TEXT=LABEL, such as pos=positive",
            found=wrong[0],
        )
    names = ("label-is", "unlabelled") if is_read else ("label-is", "unlabelled", "distinct")
    return LabelRules(
        tuple(labels),
        tuple(options.get("unlabelled") or ()),
        tuple(options.get("label_is") or ()),
        {text.strip(): label.strip() for text, _, label in pairs},
        bool(options.get("distinct")),
        level,
        names,
    )
