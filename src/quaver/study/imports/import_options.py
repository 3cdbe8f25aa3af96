"""The options of an import, which ``quaver import`` and ``quaver.import_annotations`` share.

How a table is written and what its cells mean are options of every command that reads columns of labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, TypedDict

from quaver.core.label_decisions import LabelRules
from quaver.core.options import Option
from quaver.core.records import Level
from quaver.errors import QuaverError

Twice = Literal["error", "repeat"]
Outside = Literal["error", "no-label"]
LISTS: Final = ("coders", "models", "confidence", "fields", "variant", "compare", "ignore")
"""The options that name one or more columns."""


class TableOptions(TypedDict, total=False):
    """How a table is written, and what the cells of its columns of labels mean.

    Attributes:
        encoding: Of a text file; UTF-8, if left out.
        separator: Between the cells of CSV and TSV.
        sheet: Of a spreadsheet, where several hold a table.
        quote: ``"none"`` where quotation marks in a CSV or TSV file are text, and enclose no cells.
        unlabelled: What stands there where there is no label, beside empty cells, ``NA``, ``None``, ``.`` …
        label_is: What is a label there, although it looks like a missing one: ``NA``.
        same: Texts that are a label, as ``TEXT=LABEL``.
    """

    encoding: Annotated[str | None, Option("Encoding of a text file.")]
    separator: Annotated[str | None, Option(r"The separator between cells, if it is not a comma: ';', '\t'.")]
    sheet: Annotated[str | None, Option("The sheet of a spreadsheet, where several hold a table.")]
    quote: Annotated[Literal["none"] | None, Option("none: quotation marks are text like any other.")]
    unlabelled: Annotated[Sequence[str], Option("Other cells that mean “no label”, such as 99.", ())]
    label_is: Annotated[Sequence[str], Option("Labels that look like missing ones, such as NA.", ())]
    same: Annotated[Sequence[str], Option("What else is a label: y=yes,n=no.", ())]


class ImportOptions(TableOptions, total=False):
    """How a file of labels is read; columns that are left out are recognised by their names.

    Attributes:
        item: The column of the items' ids.
        label: The column of labels, in a table with a row an annotation.
        raw: The column of raw answers, which evaluators read, instead of labels.
        thinking: The column of what a model thought, where that stands apart from its raw answer.
        evaluators: Registered names of those that read raw answers; ``marked_label``, if left out.
        coders: The coders' columns, in a table with a row an item.
        models: The models' columns, in a table with a row an item; ``coders`` are then the people with whom
            the models are compared; their majority is the gold label unless ``gold`` names one.
        confidence: The column of how sure the model was, from 0 to 1; one for each of ``models``.
        fields: Columns that are variables of their own, in a table with a row an annotation: each a label, a
            set of labels, a scale or a number.
        coder: The column of who labelled.
        variant: The columns of the prompts, each a factor.
        decoding: The column of how the answer was drawn.
        repeat: The column of which asking it was.
        prompt: The column of the prompts' texts.
        original: The column that marks the original prompt with ``true``, ``yes`` or ``1``.
        text: The column of the items' texts.
        gold: The column of gold labels.
        hand_labels: How the texts with a gold label were picked: ``"random"``, from all of them, or
            ``"chosen"``.
        group: The column that says which texts belong together (author, thread): every interval then allows
            for their being alike.
        compare: Columns whose groups of texts are compared (party, language).
        ignore: Columns that play no role, whatever they are called.
        labels: The label set, in order; those that occur, if left out.
        distinct: Keep labels apart that differ only in capitals, white space, dashes or how a number is
            written.
        level: Level of measurement; nominal, if left out.
        twice: What to do with rows that no column tells apart: an ``error``, or number them as a ``repeat``
            in the file's order.
        outside: What to do with a label that is not among ``labels``: an ``error``, or ``no-label``, which
            counts it as an answer without a label.
    """

    item: Annotated[str | None, Option("The column of the items' ids.")]
    label: Annotated[str | None, Option("The column of labels, one a row, or several: 'human_*'.")]
    raw: Annotated[str | None, Option("The column of raw answers, which evaluators read.")]
    thinking: Annotated[str | None, Option("The column of thinking beside raw answers.")]
    evaluators: Annotated[
        Sequence[str],
        Option("Reads the raw answers; by default marked_label.", (), flags=("--evaluator",)),
    ]
    coders: Annotated[str | Sequence[str], Option("The coders' columns, one item a row: anna,ben,cleo.", ())]
    models: Annotated[str | Sequence[str], Option("The models' columns, beside people's: gpt,llama.", ())]
    confidence: Annotated[str | Sequence[str], Option("The columns of models' confidence, 0 to 1.", ())]
    fields: Annotated[str | Sequence[str], Option("Several variables, a column each: tone,topics,cost.", ())]
    coder: Annotated[str | None, Option("The column of who labelled.")]
    variant: Annotated[str | Sequence[str], Option("The columns of prompts; each is a factor.", ())]
    decoding: Annotated[str | None, Option("The column of decodings, such as the temperature.")]
    repeat: Annotated[str | None, Option("The column that numbers the repeats.")]
    prompt: Annotated[str | None, Option("The column of the prompts' texts.")]
    original: Annotated[str | None, Option("The column that marks the original prompt: true, yes, 1.")]
    text: Annotated[str | None, Option("The column of texts.")]
    gold: Annotated[str | None, Option("The column of gold labels.")]
    hand_labels: Annotated[
        Literal["random", "chosen"] | None, Option("How the texts with gold labels were picked.")
    ]
    group: Annotated[str | None, Option("The column that says which texts belong together: author.")]
    compare: Annotated[str | Sequence[str], Option("Compare the texts by these columns: party.", ())]
    ignore: Annotated[str | Sequence[str], Option("The columns to ignore.", ())]
    labels: Annotated[Sequence[str], Option('The label set, in order: a,b,"c, d". By default all found.', ())]
    distinct: Annotated[
        bool, Option("Keep labels apart that differ in capitals or spaces.", False, flags=("--distinct",))
    ]
    level: Annotated[
        Literal["nominal", "ordinal", "interval", "ratio"] | None, Option("Level of measurement.")
    ]
    twice: Annotated[Twice, Option("What rows are that no column tells apart: error or repeat.", "error")]
    outside: Annotated[Outside, Option("What labels outside --labels are: error or no-label.", "error")]


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
