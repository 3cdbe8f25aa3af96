"""Finds items' texts wherever they stand, so that they can be left out of what is passed on."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from quaver.core.records import Item

LEFT_OUT = "[left out]"
_RUN = 6
"""As many words in a row of an item's text are taken for a part of it."""
_WORDS = re.compile(r"\w+")
_TAGS = re.compile(r"<[^>]*>")


class Texts:
    """The texts of some items.

    A string holds one where it has six words in a row of it, or the whole of a shorter one that has three
    words or 16 characters. Shorter ones (a word, a number) are like any other words: they go with the places
    where items' texts are kept, and are not looked for elsewhere.

    Args:
        items: The items.
        rendered: Their texts as prompts show them.
        kept: Fields that are no texts: groups, gold labels, covariates.
        own: The study's own words (instruction, labels), which give nothing away.
    """

    def __init__(
        self, items: Iterable[Item], rendered: Iterable[str], kept: Iterable[str], own: Iterable[str]
    ) -> None:
        kept = set(kept)
        runs: set[tuple[str, ...]] = set()
        for item in items:
            for name, value in item.fields.items():
                if name not in kept and value is not None:
                    runs.update(_parts(value if isinstance(value, str) else json.dumps(value, default=str)))
        runs.update(whole for text in rendered if (whole := tuple(_words(text))) and _telling(text, whole))
        mine = [_words(text) for text in own]
        self._runs = {run for run in runs if not any(_within(run, words) for words in mine)}
        self._lengths = sorted({len(run) for run in self._runs})
        self._longest = max(self._lengths, default=0)

    def __contains__(self, text: object) -> bool:
        """Whether a string holds an item's text."""
        if not self._runs or not isinstance(text, str):
            return False
        words = _words(text)
        return any(
            tuple(words[index : index + size]) in self._runs
            for size in self._lengths
            for index in range(len(words) - size + 1)
        )

    def out_of(self, document: Any) -> Any:
        """A JSON document with every string that holds an item's text replaced."""
        if isinstance(document, str):
            return LEFT_OUT if document in self else document
        if isinstance(document, Mapping):
            return {self.out_of(key): self.out_of(value) for key, value in document.items()}
        if isinstance(document, list | tuple):
            return [self.out_of(value) for value in document]
        return document

    def in_markup(self, page: str) -> bool:
        """Whether an HTML page, CSV or JSON text holds one, whatever stands between its words."""
        return html.unescape(_TAGS.sub(" ", page)) in self or page in self


def _words(text: str) -> list[str]:
    return _WORDS.findall(text.replace("\\n", " ").replace("\\t", " ").casefold())


def _telling(text: str, words: tuple[str, ...]) -> bool:
    return len(words) >= 3 or (bool(words) and len(text.strip()) >= 16)


def _parts(text: str) -> list[tuple[str, ...]]:
    words = tuple(_words(text))
    if len(words) > _RUN:
        return [words[index : index + _RUN] for index in range(len(words) - _RUN + 1)]
    return [words] if _telling(text, words) else []


def _within(run: tuple[str, ...], words: list[str]) -> bool:
    return any(tuple(words[index : index + len(run)]) == run for index in range(len(words) - len(run) + 1))
