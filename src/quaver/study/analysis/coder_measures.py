"""What is measured of a study's human coders, whether or not its file asks for it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from quaver.design.spec import MeasureSpec, StudySpec

_FEWEST: Final = {"coder_agreement": 1, "alternative_annotator": 3}
"""The measures of coders, and how many coders each needs."""
_POOLED: Final = ("model", "decoding")


def coder_measures(spec: StudySpec, asked: Collection[str]) -> list[MeasureSpec]:
    """The measures that a study with coders has beside those that its file asks for: over all prompts.

    Args:
        spec: The study.
        asked: The names of the measures that its file asks for.
    """
    return [
        MeasureSpec(use=name, by=_POOLED)
        for name, fewest in _FEWEST.items()
        if len(spec.items.coders) >= fewest and name not in asked
    ]


def audited_coders(spec: StudySpec) -> list[MeasureSpec]:
    """What a report shows of coders and each prompt."""
    return [MeasureSpec(use="coder_agreement")] if len(spec.items.coders) > 1 else []


def with_coders(spec: StudySpec, measure: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """A measure's options; one of coders is of the study's where it names none."""
    if measure not in _FEWEST or "coders" in options or not spec.items.coders:
        return options
    return {"coders": spec.items.coders, **options}
