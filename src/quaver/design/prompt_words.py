"""The words that Quaver itself puts into a prompt, by language (``prompt_words.toml``)."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final

from quaver.errors import UnknownName

ENGLISH: Final = "en"
WORDLESS: Final = "none"
"""No words, but the user's own: for a language that the table does not have."""

_ANSWERS: Final = "{{ answers | join(', ') }}"
_DEFINITIONS: Final = (
    "{% for label in labels %}{% if label.definition %}{{ label.answer }}: {{ label.definition }}\n"
    "{% endif %}{% endfor %}"
)


@cache
def words_by_language() -> Mapping[str, Mapping[str, Any]]:
    """What Quaver puts into prompts, by the code of the language."""
    text = files("quaver.design").joinpath("prompt_words.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def words_in(language: str) -> Mapping[str, Any]:
    """What Quaver puts into prompts of a language.

    Raises:
        UnknownName: It has no words in this language.
    """
    if language not in words_by_language():
        raise UnknownName("language", language, [*words_by_language()])
    return words_by_language()[language]


def postfix_for_labels(language: str = ENGLISH, *, defined: bool = False) -> str:
    """The template that asks for one of the labels, behind their definitions where they have any.

    >>> postfix_for_labels("fr")
    "Réponds par l'une de ces catégories : {{ answers | join(', ') }}."
    """
    asks = words_in(language)["one_of"].replace("{}", _ANSWERS)
    return _DEFINITIONS + asks if defined else str(asks)


def postfix_for_fields(language: str = ENGLISH) -> str:
    """The template that asks for a JSON object of several fields."""
    return f"{words_in(language)['record']}\n{{{{ fields }}}}"
