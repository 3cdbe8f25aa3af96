"""Paraphrases of a prompt for the inter-prompt score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from quaver.core.records import LabelSet, Variant
from quaver.design.paraphrase.paraphrase_draft import Draft, PromptContext
from quaver.design.paraphrase.pegasus import Pegasus
from quaver.design.paraphrase.surface_paraphraser import Surface
from quaver.errors import QuaverError, SpecError

Rewords = Literal["surface", "pegasus"] | Callable[[str, int, float], Sequence[str]]
"""Who paraphrases: one of Quaver's engines, or a function ``reword(text, count, temperature)``."""

SURFACE_WARNING = (
    "the paraphrases are small edits (articles, spelling, punctuation, politeness), which need no model and "
    "move labels less than promptstability's PEGASUS does; "
    'PromptStabilityAnalysis(…, paraphraser="pegasus") samples those'
)


def checked_paraphraser(given: Any) -> Rewords:
    """Who is to paraphrase.

    Raises:
        QuaverError: It is neither an engine's name nor a function.
    """
    if callable(given) or given in ("surface", "pegasus"):
        return given  # type: ignore[no-any-return]
    raise QuaverError(
        "unknown paraphraser",
        where="paraphraser",
        expected="'surface', 'pegasus', or a function reword(text, count, temperature)",
        found=repr(given),
    )


def strength_of(temperature: float) -> float:
    """How many of the possible small edits are made at one of promptstability's temperatures.

    >>> [round(strength_of(t), 2) for t in (0.1, 0.5, 2.0, 5.0)]
    [0.05, 0.2, 0.5, 0.71]
    """
    return temperature / (temperature + 2)


def paraphrases(text: str, postfix: str, count: int, temperature: float, by: Rewords, seed: int) -> list[str]:
    """Paraphrases of a text.

    Args:
        text: The text, which is reworded.
        postfix: What follows it, which is not.
        count: How many.
        temperature: The higher, the further from the text.
        by: Who paraphrases.
        seed: Where the draws start.

    Raises:
        QuaverError: There are not as many, or the temperature is out of range.
    """
    if not temperature > 0:
        raise QuaverError(
            "paraphrases are sampled", where="temperatures", expected="above 0", found=repr(temperature)
        )
    if callable(by):
        return _of_function(by, text, count, temperature)
    if by == "pegasus":
        engine: Pegasus | Surface = Pegasus(temperatures=[temperature], k=count)
    else:
        engine = Surface(strengths=[strength_of(temperature)], k=count)
    prompt = Variant("original", {}, "", "", "", text, postfix, {})
    context = PromptContext(prompt, LabelSet(()), seed)
    try:
        made = engine.reword(context, Draft(text, exact=engine.exact), _Quiet())
    except SpecError as error:
        error.where, error.fix = "nr_variations", "ask for fewer, or write original_text with more words"
        raise
    return [one.text for one in made]


def _of_function(
    by: Callable[[str, int, float], Sequence[str]], text: str, count: int, temperature: float
) -> list[str]:
    found = by(text, count, temperature)
    if isinstance(found, str) or len(found) != count or not all(isinstance(one, str) for one in found):
        raise QuaverError(
            "the paraphraser did not return paraphrases",
            where="paraphraser",
            expected=f"a list of {count} texts",
            found=repr(found)[:120],
        )
    return list(found)


class _Quiet:
    """The work of an engine that brings its own model."""

    def begin(self, what: str) -> None:
        """Nothing is announced."""

    def ask(self, *asked: Any) -> Any:
        """No model is asked here."""
        raise NotImplementedError
