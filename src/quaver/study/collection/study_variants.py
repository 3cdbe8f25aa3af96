"""A study's prompt variants: shown, and their paraphrases made by a model, exported and edited by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from quaver.core.arguments import guarded
from quaver.core.variant_display import ShownVariant
from quaver.design.factors.prompt_edits import Edit
from quaver.study.collection.paraphrase_making import (
    edit_paraphrases,
    export_paraphrases,
    make_paraphrases,
    shown_variants,
)
from quaver.study.sources.study_file_source import asking
from quaver.study.sources.study_source import StudySource


class StudyVariants:
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
        return shown_variants(self._source)

    def __repr__(self) -> str:
        return f"<{len(self):,} variants of {self._source.spec.name!r}>"

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
        """
        return make_paraphrases(asking(self._source), again=again, watch=watch)

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
        return export_paraphrases(asking(self._source), Path(path))

    @guarded
    def edit(self, path: str | Path) -> list[Edit]:
        """Take over the edits made in a table that ``export`` wrote.

        Returns:
            What was changed. The folder keeps it with what stood there before, and so does the lock file.

        Raises:
            StoreError: This source asks no model.
            SpecError: A row is missing, unknown or empty, or an edited text is no template for this study.
        """
        return edit_paraphrases(asking(self._source), Path(path))
