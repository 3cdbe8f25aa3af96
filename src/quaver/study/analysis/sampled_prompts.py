"""Which of a study's prompts are a sample of others, and so what the intervals of its measures hold for.

Paraphrases are a sample of the ways in which a question could be put. Perturbations, factors and treatments
are a design: their levels are all there is to compare.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from quaver.core.column_names import column_of
from quaver.core.records import Variant
from quaver.design.spec import MeasureSpec
from quaver.design.spec.task_spec import IMPORTED
from quaver.estimation.declaration import Measure

_FAMILIES = frozenset({"paraphrases", "instructions"})
_NAMES = frozenset({"paraphrase", "variant", "prompt_id", "prompt"})
"""Columns of imported labels that tell paraphrases apart; nothing is known there of how prompts were made."""


class Prompts(NamedTuple):
    """The factors in which a study's prompts differ.

    Attributes:
        sampled: Those whose levels are a sample: paraphrases.
        designed: The others.
        paraphrases: How many there are, taken over the sampled factors.
    """

    sampled: tuple[str, ...]
    designed: tuple[str, ...]
    paraphrases: int = 0

    @classmethod
    def of(cls, variants: Sequence[Variant]) -> Prompts:
        """The factors that have several levels.

        Args:
            variants: A study's.
        """
        levels: dict[str, set[str]] = {}
        families: dict[str, set[str]] = {}
        for variant in variants:
            for factor, level in variant.factors.items():
                levels.setdefault(factor, set()).add(level)
                origin = variant.origin.get(factor) or {}
                families.setdefault(factor, set()).add(str(origin.get("family", "")))
        varied = [factor for factor, some in levels.items() if len(some) > 1]
        sampled = [factor for factor in varied if _is_sample(factor, families[factor])]
        found = {tuple(variant.factors.get(factor) for factor in sampled) for variant in variants}
        designed = [factor for factor in varied if factor not in sampled]
        return cls(tuple(sampled), tuple(designed), len(found) if sampled else 0)


def _is_sample(factor: str, families: set[str]) -> bool:
    known = families - {"", IMPORTED}
    return bool(known & _FAMILIES) if known else factor in {column_of("factor", name) for name in _NAMES}


def with_estimand(
    asked: MeasureSpec, measure: Measure, options: Mapping[str, Any], prompts: Prompts
) -> tuple[MeasureSpec, dict[str, Any]]:
    """A measure as a study asks for it, with what its intervals are to hold for.

    By default a measure that would speak of prompts in general speaks of these alone where none are a sample.
    Where paraphrases are crossed with other factors, they are the prompts. A measure that is taken of every
    prompt is taken of all of them together, where it is to speak of others; what is no sample stays apart.

    Args:
        asked: As the study has it.
        measure: The measure.
        options: Its options.
        prompts: The study's.
    """
    found = dict(options)
    if measure.estimands == ("fixed",) and asked.estimand is None:
        return asked, found
    wanted = asked.estimand or measure.estimands[0]
    if asked.estimand is None and wanted != "fixed" and not prompts.sampled:
        wanted = "fixed"
        found["estimand"] = wanted
    elif asked.estimand is not None:
        found["estimand"] = asked.estimand
    if wanted == "fixed":
        return asked, found
    if prompts.sampled and prompts.designed:
        found["columns"] = {"prompt": list(prompts.sampled), **(found.get("columns") or {})}
    if asked.by is None and "variant" not in measure.compared(options):
        apart = prompts.designed if prompts.sampled else ()
        by = tuple(name for name in asked.columns((), ("variant",)) if name != "variant")
        asked = asked.model_copy(update={"by": (*by, *apart)})
    return asked, found
