"""How estimates are shown: the words of their measures, and of what is no measure."""

from __future__ import annotations

from collections.abc import Mapping

from quaver.core.presentation import SECTIONS, Presentation, Section, presented
from quaver.report.plain_text import one_line

_SHARES = frozenset(
    (
        *("level_shares", "label_range", "variation", "label_shift", "deviation_share", "deviations_held"),
        *("flips_repeats", "flips_prompts", "flips_chance", "flips_noise", "label_in_use", "wrong_labels"),
        *("failed_calls", "unlabelled_answers", "truncated_answers"),
        *("corrected_share", "corrected_accuracy", "corrected_compliance"),
        *("rest_wrong", "rest_unlabelled", "best_prompt_wrong", "best_prompt_better"),
    )
)
"""What is printed as percents, of measures that do not declare it and of numbers that are no measures."""


ALL: Mapping[str, str] = {"view": "all answers"}
"""What an estimate is about that lacks a column which others of its measure have; ``all`` where not here."""


def in_words(column: str) -> str:
    """A column or a measure without a name of its own, as an axis calls it.

    >>> in_words("paraphrase_temperature")
    'paraphrase temperature'
    """
    return one_line(column.replace("_", " "))


def presentation_of(measure: str) -> Presentation:
    """How estimates of a name are shown: as a measure declares it, or as the tables here have it.

    >>> presentation_of("my_measure").title
    'My measure, with intervals'
    """
    return presented(measure) or Presentation(unit="share" if measure in _SHARES else "number").named(measure)


def section_of(measure: str) -> Section:
    """Where in the report a measure's charts stand."""
    name = presentation_of(measure).section
    return next((section for section in SECTIONS if section == name), "more")
