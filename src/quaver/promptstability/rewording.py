"""Paraphrases of a prompt for the inter-prompt score, and the keys and texts of the examples."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Literal

from quaver.core.records import LabelSet, Variant
from quaver.design.paraphrase.paraphraser import Draft, PromptContext
from quaver.design.paraphrase.pegasus import Pegasus
from quaver.design.paraphrase.surface_paraphraser import Surface
from quaver.errors import MissingKey, QuaverError, SpecError, UnknownName
from quaver.promptstability.stability_scores import pandas_frame

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
        rewordings = by(text, count, temperature)
        if (
            isinstance(rewordings, str)
            or len(rewordings) != count
            or not all(isinstance(reworded, str) for reworded in rewordings)
        ):
            raise QuaverError(
                "the paraphraser did not return paraphrases",
                where="paraphraser",
                expected=f"a list of {count} texts",
                found=repr(rewordings)[:120],
            )
        return list(rewordings)
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
    return [paraphrase.text for paraphrase in made]


class _Quiet:
    """The work of an engine that brings its own model."""

    def begin(self, what: str) -> None:
        """Nothing is announced."""

    def ask(self, *asked: Any) -> Any:
        """No model is asked here."""
        raise NotImplementedError


_VARIABLES = {
    "anthropic": "ANTHROPIC_API_KEY",
    "cohere": "COHERE_API_KEY",
    "huggingface": "HUGGINGFACE_API_KEY",
    "mistral": "MISTRAL_API_KEY",
    "openai": "OPENAI_API_KEY",
}


def get_api_key(api: str = "openai") -> str:
    """A service's API key, from its environment variable.

    Args:
        api: ``openai``, ``mistral``, ``anthropic``, ``cohere`` or ``huggingface``.

    Returns:
        The value of ``OPENAI_API_KEY``, ``MISTRAL_API_KEY`` and so on.

    Raises:
        UnknownName: No such service is known.
        MissingKey: The variable is not set.
    """
    variable = _VARIABLES.get(str(api).lower())
    if variable is None:
        raise UnknownName("service", api, _VARIABLES, where="get_api_key")
    key = os.environ.get(variable)
    if not key:
        raise MissingKey(
            f"the API key for {api} is not set", where="get_api_key", fix=f"export {variable}=your key"
        )
    return key


_WHO = (
    *("Carmakers", "Farmers in the east", "The country's hotels", "Small banks", "Shipping firms"),
    *("Furniture makers", "Software houses", "Builders of homes", "Coal and steel towns", "Airlines"),
)
_NEWS = (
    (0, "hired more people this spring than in any quarter since records began"),
    (0, "reported full order books, well above what economists had forecast"),
    (0, "paid higher wages for the fourth year in a row while prices stayed where they were"),
    (0, "repaid their loans early, and lenders expect a better year still"),
    (0, "sold a tenth more abroad than a year ago, helped by a cheaper currency"),
    (1, "lost a quarter of their customers within twelve months, and more are expected to leave"),
    (1, "must close every third branch by winter, a spokeswoman said on Monday"),
    (1, "stopped paying dividends after the sharpest fall in sales in thirty years"),
    (1, "warned that costs grow faster than revenue and that jobs will be cut"),
    (1, "asked the government for help, although a first package had been meant to turn the market"),
)


def load_example_data() -> Any:
    """A hundred invented news items about the economy, to try a prompt on.

    Returns:
        A pandas frame with the columns ``id``, ``body`` (the text), ``code`` (0 for positive news, 1 for
        negative) and ``txtlength``.

    Raises:
        Unavailable: pandas is not installed.
    """
    items = [(code, f"{who} {news}.") for who in _WHO for code, news in _NEWS]
    rows = [
        {"id": number, "body": body, "code": code, "txtlength": len(body)}
        for number, (code, body) in enumerate(items, 1)
    ]
    return pandas_frame(rows)
