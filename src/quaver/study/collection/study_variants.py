"""A study's prompt variants: shown, and their paraphrases made by a model, exported and edited by hand."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from quaver.collect.run.ledger import Entry, ledger, spent
from quaver.collect.run.progress import Budget
from quaver.collect.store.store_lock import sole_writer
from quaver.core.arguments import guarded
from quaver.core.number_format import count
from quaver.core.records import Request
from quaver.core.replaced_file import replacing
from quaver.core.rows import Rows
from quaver.core.spreadsheet import safe_cell
from quaver.core.variant_display import ShownVariant, marked_messages, origin_in_words
from quaver.design.calls.experiment import resolve
from quaver.design.calls.lock_file import original_messages
from quaver.design.items.table_files import read_rows
from quaver.design.items.text_lines import Row
from quaver.design.prompt_edits import Edit, Editable
from quaver.design.prompts.rendering import messages_of
from quaver.errors import SpecError, UnknownName
from quaver.study.sources.prices import check_money
from quaver.study.sources.study_file_source import StudyFile, asking
from quaver.study.sources.study_source import StudySource

COLUMNS = ("id", "part", "text", "original", "remarks")
"""The level, which part of the prompt it changes, its text (the one column to edit), the study file's own
text, and why the paraphrase is flagged where it is."""


def write_texts(path: Path, texts: Sequence[Editable]) -> int:
    """Write a row for each text, safe to open in a spreadsheet.

    Returns:
        How many there are.
    """
    with (
        replacing(path) as part,
        part.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file,
    ):
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for editable in texts:
            cells = (editable.id, editable.part, editable.text, editable.original, editable.remarks)
            writer.writerow(safe_cell(cell) for cell in cells)
    return len(texts)


def read_edits(path: Path, texts: Sequence[Editable]) -> list[Edit]:
    """Compare an edited table with the texts as they stand."""
    if not path.is_file():
        raise SpecError(
            "there is no such table", where=str(path), fix="`quaver variants STUDY --export FILE` writes one"
        )
    known = {(editable.id, editable.part): editable for editable in texts}
    found = _by_text(read_rows(path, hint="save the table in a file with one sheet"), known)
    for key, editable in known.items():
        if key not in found:
            raise SpecError(
                f"the row of {editable.id} ({editable.part}) is missing",
                where=path.name,
                expected=f"{len(known)} rows, one for each text",
                found=f"{len(found)} rows",
                fix="put it back; to leave out a paraphrase, change the study file, not the table",
            )
    return [
        Edit(editable.factor, editable.level, editable.part, editable.text, after)
        for key, editable in known.items()
        if (after := _text(found[key], editable)) != editable.text
    ]


def _by_text(rows: Sequence[Row], known: dict[tuple[str, str], Editable]) -> dict[tuple[str, str], Row]:
    result: dict[tuple[str, str], Row] = {}
    for row in rows:
        for column in COLUMNS[:3]:
            if column not in row:
                raise UnknownName("column", column, row, where=row.where, fix=f"keep the column {column!r}")
        key = (_plain(row["id"]), str(row["part"]))
        if key not in known:
            raise UnknownName(
                "text", " ".join(key), [" ".join(one) for one in known], where=f"{row.where}: id"
            )
        if key in result:
            raise SpecError(
                f"{key[0]} ({key[1]}) is there twice", where=row.where, fix="remove one of the rows"
            )
        result[key] = row
    return result


def _text(row: Row, editable: Editable) -> str:
    """The text of a row; line ends and the apostrophe before what would be a formula are the table's."""
    text = _plain(row["text"]).replace("\r\n", "\n")
    if not text.strip():
        raise SpecError(
            f"the text of {editable.id} is empty",
            where=f"{row.where}: text",
            expected="the text of the prompt",
            found="nothing",
        )
    return editable.text if text == editable.text.replace("\r\n", "\n") else text


def _plain(cell: object) -> str:
    text = str(cell or "")
    return text[1:] if text.startswith("'") and safe_cell(text[1:]) == text else text


class StudyVariants(Rows):
    """The prompt variants of a study, ``study.variants``.

    Iterate to see each variant filled in with the first item, with what differs from the original marked.

    Args:
        source: The study's source.
    """

    def __init__(self, source: StudySource) -> None:
        self._source = source

    def __len__(self) -> int:
        return len(self._source.experiment.variants)

    def __iter__(self) -> Iterator[ShownVariant]:
        self._source.require("has_texts")
        experiment = self._source.experiment
        original = original_messages(experiment)
        for variant in experiment.variants:
            messages = messages_of(variant, experiment.labels, experiment.items[0])
            origin = origin_in_words(variant.origin, variant.covariates)
            yield ShownVariant(variant.id, origin, marked_messages(original, messages))

    def rows(self) -> list[dict[str, Any]]:
        """A row for each variant: its id, the level of each factor, and the prompt for the first item."""
        experiment = self._source.experiment
        return [
            {
                "variant": variant.id,
                **variant.factors,
                "prompt": "\n\n".join(
                    text for _, text in messages_of(variant, experiment.labels, experiment.items[0])
                ),
            }
            for variant in experiment.variants
        ]

    def __repr__(self) -> str:
        return f"<{count(len(self), 'variant')} of {self._source.spec.name!r}>"

    @guarded
    def make(self, *, again: bool = False, watch: Callable[[str], None] = lambda _: None) -> list[str]:
        """Have a model make the paraphrases that the study file asks it for and the folder does not hold yet.

        Args:
            again: Make all of them anew, and forget the edits made by hand.
            watch: Called with what is about to be made.

        Returns:
            What was made, in words. ``Study.run`` makes what is missing, too.

        Raises:
            StoreError: This source asks no model.
            ModelError: A model gave fewer than are wanted, or is of no use; what came is kept.
            SpecError: The budget has no room for them; what came is kept.
        """
        study = asking(self._source)
        if not (again or study.lacks_paraphrases):
            return []
        study.plugins.check_named()  # before anything is paid
        study.files.make()
        with sole_writer(study.folder):
            study.paraphrases.make(again=again, watch=watch, afford=_affording(study))
            try:
                experiment = resolve(study.decided, study.positions, study.paraphrases)
            finally:
                study.paraphrases.rest()
        study.forget(experiment)
        return study.paraphrases.made

    @guarded
    def export(self, path: str | Path) -> int:
        """Write every text that the variants bring to a table (CSV) that a person can edit.

        Args:
            path: The table; replaced where it exists.

        Returns:
            How many texts there are.

        Raises:
            StoreError: This source asks no model, or the file cannot be written.
        """
        return write_texts(Path(path), asking(self._source).experiment.editable)

    @guarded
    def edit(self, path: str | Path) -> list[Edit]:
        """Take over the edits made in a table that ``export`` wrote.

        Returns:
            What was changed. The folder keeps it with what stood there before, and so does the lock file.

        Raises:
            StoreError: This source asks no model.
            SpecError: A row is missing, unknown or empty, or an edited text is no template for this study.
        """
        study = asking(self._source)
        edits = read_edits(Path(path), study.experiment.editable)
        if edits:
            resolve(study.decided, study.positions, study.paraphrases.with_edits(edits))
            study.files.make()
            with sole_writer(study.folder):
                study.paraphrases.add_edits(edits)
            study.forget()
        return edits


def _affording(study: StudyFile) -> Callable[[Request], None]:
    """Refuses a request for paraphrases that the study's budget has no room for, beside all that is spent."""
    caps, stored = study.spec.budget, list[Entry]()
    if study.files.responses.exists():
        with study.files.store() as store:
            stored = ledger(store)

    def afford(request: Request) -> None:
        check_money(study.prices, study.spec, study.positions)
        known = {name: price for name, price in study.prices.items() if price is not None}
        used = spent([*stored, *study.spent_on_paraphrases()], known)
        budget = Budget(calls=caps.calls, tokens=caps.tokens, money=caps.money, spent=used, prices=known)
        if not budget.lets(request):
            raise SpecError(
                "the budget is too small for the paraphrases that a model is to write",
                where=study.positions.where("budget", str(budget.stopped)),
                expected=f"room for {len(request.calls):,} answers of {request.model}, "
                f"each at most {request.decoding.max_tokens:,} tokens long",
                found=f"{used.calls:,} calls, {used.tokens:,.0f} tokens and ${used.money:,.2f} spent already",
                fix="raise the budget, or ask for fewer paraphrases; those that exist are kept",
            )

    return afford
