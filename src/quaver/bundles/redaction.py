"""Finds items' texts wherever they stand, so that they can be left out of what is passed on."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from quaver.core.label_values import fields_in
from quaver.core.line_file import lines_of
from quaver.core.records import Item
from quaver.design.prompts.rendering import PromptWriter
from quaver.design.spec import StudySpec
from quaver.errors import QuaverError
from quaver.study.session import Study
from quaver.study.sources.conclusion_measures import concluded_about

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
        runs: set[tuple[str, ...]] = set()
        for item in items:
            for name, value in item.fields.items():
                if name not in kept and value is not None:
                    text = value if isinstance(value, str) else json.dumps(value, default=str)
                    runs |= {*_windows(_words(text), _RUN)} or _whole(text)
        for text in rendered:
            runs |= _whole(text)
        self._lengths = sorted(set(map(len, runs)))
        for text in own:
            words = _words(text)
            for length in self._lengths:
                runs.difference_update(_windows(words, length))
        self._runs = runs

    def __contains__(self, text: object) -> bool:
        """Whether a string holds an item's text."""
        if not isinstance(text, str):
            return False
        words = _words(text)
        return any(not self._runs.isdisjoint(_windows(words, length)) for length in self._lengths)

    def out_of(self, document: Any) -> Any:
        """A JSON document with every string that holds an item's text replaced."""
        if isinstance(document, str):
            return LEFT_OUT if document in self else document
        if isinstance(document, Mapping):
            return {self.out_of(key): self.out_of(value) for key, value in document.items()}
        if isinstance(document, list | tuple):
            return list(map(self.out_of, document))
        return document

    def in_markup(self, page: str) -> bool:
        """Whether an HTML page, CSV or JSON text holds one, whatever stands between its words."""
        return html.unescape(_TAGS.sub(" ", page)) in self or page in self


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORDS.findall(text.replace("\\n", " ").replace("\\t", " ").casefold()))


def _windows(words: tuple[str, ...], length: int) -> Iterator[tuple[str, ...]]:
    """Each run of so many words in a row."""
    for index in range(len(words) - length + 1):
        yield words[index : index + length]


def _whole(text: str) -> set[tuple[str, ...]]:
    """All words of a text as one run; empty where the text is too short to tell from others."""
    words = _words(text)
    return {words} if len(words) >= 3 or (words and len(text.strip()) >= 16) else set()


def covariates(spec: StudySpec) -> set[str]:
    """The items' fields that are no texts: groups, gold labels, what conclusions are drawn about."""
    own = spec.annotations or spec.items
    golds = [own.gold, *(field.gold for field in spec.task.fields.values())]
    kept = {*own.groups, *own.coders, *concluded_about(spec)}
    for gold in golds:
        if gold is not None:
            kept |= {*gold.named}
    return kept


def texts_of(study: Study, kept: set[str] | None = None) -> Texts:
    """The texts of a study that a bundle without texts may not hold."""
    experiment, prompt = study.experiment, study.spec.prompt
    items = [*experiment.items]
    for variant in experiment.variants:
        items += variant.examples
    rendered: set[str] = set()
    for variant in {variant.text: variant for variant in experiment.variants}.values():
        rendered.update(map(PromptWriter(variant, experiment.labels).text, items))
    own = [prompt.instruction, prompt.system, prompt.layout]
    own += sorted({variant.postfix for variant in experiment.variants})
    fields = fields_in(experiment.labels)
    own += [f"{field.name} {field.definition}" for field in fields]
    for labels in [field.labels for field in fields] or [experiment.labels]:
        own += [f"{label.name} {label.definition}" for label in labels.labels]
    return Texts(items, rendered, covariates(study.spec) if kept is None else kept, own)


def refuse_texts(files: Iterable[Path], texts: Texts) -> None:
    """Look for items' texts in what is to be packed; the store was searched as it was copied."""
    for file in files:
        holds_texts = False
        if file.suffix in (".json", ".csv", ".html", ".md", ".yaml", ".yml"):
            holds_texts = any(map(texts.in_markup, lines_of(file.read_text(encoding="utf-8"))))
        elif file.suffix == ".parquet":
            for column in pl.read_parquet(file).select(pl.col(pl.String, pl.Categorical).cast(pl.String)):
                holds_texts = holds_texts or any(text in texts for text in column.unique())
        if holds_texts:
            raise QuaverError(
                "the bundle would still contain an item's text",
                where=file.name,
                expected="texts in fields that are neither ids, groups, gold labels nor covariates",
                fix="rename or shorten what holds it (an id, a label, a group), or bundle with the texts",
            )
