"""The options of an import, which ``quaver import`` and ``quaver.import_annotations`` share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final, Literal

from quaver.core.options import Option
from quaver.study.imports.cell_options import CellOptions

Twice = Literal["error", "first", "repeat"]
Outside = Literal["error", "no-label"]
LISTS: Final = ("item", "coders", "fields", "variant", "compare", "ignore")
"""The options that name one or more columns."""


class ImportOptions(CellOptions, total=False):
    """How a file of labels is read; columns that are left out are recognised by their names.

    Attributes:
        item: The column of the items' ids, or the columns that make up an id together.
        label: The column of labels, in a table with a row an annotation.
        raw: The column of raw answers, which evaluators read, instead of labels.
        thinking: The column of what a model thought, where that stands apart from its raw answer.
        evaluators: Registered names of those that read raw answers; ``marked_label``, if left out.
        coders: The coders' columns, in a table with a row an item.
        fields: Columns that are variables of their own, in a table with a row an annotation: each a label, a
            set of labels, a scale or a number. By default those that are, where one of them is a set.
        coder: The column of who labelled.
        variant: The columns of the prompts, each a factor.
        decoding: The column of how the answer was drawn.
        repeat: The column of which asking it was.
        prompt: The column of the prompts' texts.
        original: The column that marks the original prompt with ``true``, ``yes`` or ``1``.
        text: The column of the items' texts.
        gold: The column of true labels; or a file with the items and their true labels.
        group: The column that says which texts belong together (author, thread): every interval then allows
            for their being alike.
        compare: Columns whose groups of texts are compared (party, language).
        ignore: Columns that play no role, whatever they are called.
        labels: The label set, in order; those that occur, if left out.
        distinct: Keep labels apart that differ only in capitals, white space, dashes or how a number is
            written.
        level: Level of measurement; nominal, unless another tool's scores are numbers.
        name: What the files' paths say, from the end: ``{model}/graded_{variant}.txt``. In a file of batch
            results it is what their ids say.
        columns: The columns' names, where the file has no header; ``_`` leaves a column out.
        gold_columns: Those of the file of true labels, where it has no header.
        twice: What to do with rows that no column tells apart: an ``error``, keep the ``first``, or number
            them as a ``repeat`` in the file's order.
        outside: What to do with a label that is not among ``labels``: an ``error``, or ``no-label``, which
            counts it as an answer without a label.
        encoding: Of a text file.
        separator: Between the cells of CSV and TSV.
        sheet: Of a spreadsheet, where several hold something.
        quote: ``"none"`` where quotation marks in a CSV or TSV file are text, and enclose no cells.
    """

    item: Annotated[str | Sequence[str], Option("The column of items, or several that make up an id.", ())]
    label: Annotated[str | None, Option("The column of labels, with one annotation a row.")]
    raw: Annotated[str | None, Option("The column of raw answers, which evaluators read.")]
    thinking: Annotated[str | None, Option("The column of thinking beside raw answers.")]
    evaluators: Annotated[
        Sequence[str],
        Option("Reads the raw answers; by default marked_label.", (), flags=("--evaluator",)),
    ]
    coders: Annotated[str | Sequence[str], Option("The coders' columns, one item a row: anna,ben,cleo.", ())]
    fields: Annotated[str | Sequence[str], Option("Several variables, a column each: tone,topics,cost.", ())]
    coder: Annotated[str | None, Option("The column of who labelled.")]
    variant: Annotated[str | Sequence[str], Option("The columns of prompts; each is a factor.", ())]
    decoding: Annotated[str | None, Option("The column of decodings, such as the temperature.")]
    repeat: Annotated[str | None, Option("The column that numbers the repeats.")]
    prompt: Annotated[str | None, Option("The column of the prompts' texts.")]
    original: Annotated[str | None, Option("The column that marks the original prompt: true, yes, 1.")]
    text: Annotated[str | None, Option("The column of texts.")]
    gold: Annotated[str | Path | None, Option("The column of true labels, or a file that has them.")]
    group: Annotated[str | None, Option("The column of texts that belong together: author.")]
    compare: Annotated[str | Sequence[str], Option("Compare the texts by these columns: party.", ())]
    ignore: Annotated[str | Sequence[str], Option("The columns to ignore.", ())]
    labels: Annotated[Sequence[str], Option('The label set, in order: a,b,"c, d". By default all found.', ())]
    distinct: Annotated[
        bool, Option("Keep labels apart that differ in capitals or spaces.", False, flags=("--distinct",))
    ]
    level: Annotated[
        Literal["nominal", "ordinal", "interval", "ratio"] | None, Option("Level of measurement.")
    ]
    name: Annotated[str | None, Option("What the files' paths say: {model}/graded_{variant}.txt.")]
    columns: Annotated[Sequence[str], Option("The columns' names, where there is no header.", ())]
    gold_columns: Annotated[Sequence[str], Option("Those of the file of true labels.", ())]
    twice: Annotated[Twice, Option("Of rows that no column tells apart: error, first or repeat.", "error")]
    outside: Annotated[Outside, Option("Of labels outside --labels: error or no-label.", "error")]
    encoding: Annotated[str, Option("Encoding of a text file.", "utf-8")]
    separator: Annotated[str | None, Option(r"What separates the cells, if it is not a comma: ';', '\t'.")]
    sheet: Annotated[str | None, Option("The sheet of a spreadsheet, where several hold something.")]
    quote: Annotated[Literal["none"] | None, Option("none: quotation marks are text like any other.")]
