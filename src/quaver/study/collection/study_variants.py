"""A study's prompt variants: shown, and their paraphrases made by a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from quaver.collect.store.store_lock import sole_writer
from quaver.core.arguments import guarded
from quaver.core.number_format import count
from quaver.core.records import Request, Variant
from quaver.core.rows import Rows
from quaver.core.variant_display import Change, marked_messages
from quaver.design.calls.experiment import resolve
from quaver.design.calls.lock_file import original_messages
from quaver.design.prompts.rendering import messages_of
from quaver.errors import SpecError
from quaver.study.sources.study_file_source import StudyFile, asking
from quaver.study.sources.study_source import StudySource


class StudyVariants(Rows):
    """The prompt variants of a study, ``study.variants``.

    Iterate to see each variant with its messages by role, filled in with the first item: pieces of text that
    are the same as in the original, gone, or new.

    Args:
        source: The study's source.
    """

    def __init__(self, source: StudySource) -> None:
        self._source = source

    def __len__(self) -> int:
        return len(self._source.experiment.variants)

    def __iter__(self) -> Iterator[tuple[Variant, list[tuple[str, list[Change]]]]]:
        self._source.require("has_texts")
        experiment = self._source.experiment
        original = original_messages(experiment)
        for variant in experiment.variants:
            messages = messages_of(variant, experiment.labels, experiment.items[0])
            yield variant, marked_messages(original, messages)

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
            again: Make all of them anew.
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


def _affording(study: StudyFile) -> Callable[[Request], None]:
    """Refuses a request for paraphrases that the study's budget has no room for, beside all that is spent."""

    def afford(request: Request) -> None:
        budget = study.remaining_budget()
        used = budget.spent
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
