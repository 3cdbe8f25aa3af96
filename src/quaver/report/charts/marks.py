"""What a mark of a chart says on the page, and to which prompt and model it leads."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial

from quaver.core.number_format import span
from quaver.core.records import Estimate
from quaver.report.estimate_index import Results
from quaver.report.page_words import printed, sentence

_WRITTEN = re.compile(r"(\d*)\.(\d*)\|(.*)", re.DOTALL)


def about(estimate: Estimate, results: Results) -> str:
    """An estimate in words, behind the places of its prompt and its model in the study."""
    return f"{place_of(estimate, results)}|{sentence(estimate, results)}"


def place_of(estimate: Estimate, results: Results) -> str:
    """The places of an estimate's prompt and model, from 1; empty where it is of no one of several."""
    model = estimate.cell.get("model", "")
    at = str(results.models.index(model) + 1) if len(results.models) > 1 and model in results.models else ""
    return f"{results.prompt_places.get(_prompt(estimate, results), '')}.{at}"


def _prompt(estimate: Estimate, results: Results) -> str:
    """The variant that it is of, or the only one that has its level of a factor."""
    if "variant" in estimate.cell:
        return estimate.cell["variant"]
    factor, level = estimate.cell.get("factor", ""), estimate.cell.get("level", "")
    some = [name for name, levels in results.factor_levels.items() if levels.get(factor) == level]
    return some[0] if len(some) == 1 else ""


def plainly(
    names: Iterable[object],
    value: float,
    percent: bool = False,
    ends: tuple[float | None, float | None] = (None, None),
) -> str:
    """A mark of which no more is known than its names and numbers, in words.

    >>> plainly(["small", "", "warm"], 0.5, True, (0.25, 0.75))
    '.|small, warm: 50%, interval 25% to 75%'
    """
    subject = ", ".join(dict.fromkeys(str(name) for name in names if name not in (None, "")))
    said = printed(value, percent)
    if between := span(*ends, partial(printed, percent=percent)):
        said += f", interval {between}"
    return f".|{subject}: {said}" if subject else f".|{said}"


def by_model(some: Iterable[str]) -> bool:
    """Whether some marks say which of several models they are of."""
    return any((match := _WRITTEN.match(one)) and match[2] for one in some)


def taken_apart(written: str) -> tuple[str, str, str] | None:
    """The place of the prompt, that of the model, and the words; None if it was not written here."""
    match = _WRITTEN.fullmatch(written)
    return (match[1], match[2], match[3]) if match else None
