"""Every file that Quaver keeps, each written and read back as Quaver does it.

`CASES` has one for every module that writes through the helpers of line files and replaced files; a test
compares the two lists.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from tests.collect.fakes import answers, opened, request

from quaver.collect.store.response_store import Store
from quaver.collect.store.spill import receipt
from quaver.core.batch import NotNow
from quaver.core.calls import Response
from quaver.core.records import Label, LabelSet
from quaver.core.transaction import changing
from quaver.errors import QuaverError
from quaver.gold.gold_draw import DRAW_COLUMNS
from quaver.gold.returned_labels import CODED_COLUMNS
from quaver.study.sources.gold_files import GoldFiles, GoldSample
from quaver.study.sources.study_folder import StudyFolder
from quaver.view.mark_book import MarkBook

REFUSED = (QuaverError, NotNow)
"""What a writer or a reader may say instead of doing its work."""


@dataclass(frozen=True)
class Case:
    """A file that is kept.

    Attributes:
        name: What it is.
        write: Keeps a text in a folder; returns once it is acknowledged.
        read: The texts that are kept, in order.
        files: The files, by patterns in the folder.
        adds: Whether an earlier text stays when a later one is kept.
        asked_again: Whether what is damaged is asked for again, without an error.
    """

    name: str
    write: Callable[[Path, str], None]
    read: Callable[[Path], list[str]]
    files: tuple[str, ...]
    adds: bool = False
    asked_again: bool = False

    def __str__(self):
        return self.name


# ------------------------------------------------------------------------------------- lines


def _mark(folder, text):
    book = MarkBook(folder, LabelSet((Label("yes", "yes"),)))
    book.add({"item": f"i{len(book.marks())}", "note": text}, "ada")


def _marks(folder):
    return [one.note for one in MarkBook(folder, LabelSet((Label("yes", "yes"),))).marks()]


# ---------------------------------------------------------------------------------- documents

_TIME = "2026-01-01T00:00:00+00:00"
_OPTIONS = {"prompts": 1, "parts": 1, "first": 1, "confirmed": 0, "whole": True, "error": 0.1}
DOCUMENTS = {
    "canary.json": lambda text: {
        "options": _OPTIONS,
        "pool": [{"item": text, "variant": "v", "prompt": "p"}],
    },
    "occasions.json": lambda text: {
        "occasions": [{"number": 0, "name": text, "time": _TIME, "ended": True, "identities": {}}]
    },
    "study.lock.json": lambda text: {"models": {"m": {"identity": text}}},
    "paraphrases.json": lambda text: {
        "drafts": [{"asked": {}, "paraphrases": [{"name": "w", "text": text}], "answers": {}, "dropped": {}}]
    },
    "labelled.json": lambda text: {"file": text, "sha256": text},
    "accepted.json": lambda text: {"asked": {"text": text}, "found": {}},
}


def _document(name):
    make = DOCUMENTS[name]

    def write(folder, text):
        StudyFolder(folder).write(name, make(text))

    def read(folder):
        found = StudyFolder(folder).read(name)
        return [_within(make("\x00?"), found)] if found else []

    return Case(name, write, read, (name,))


def _within(shape, found):
    """The text at the place where a document has its mark."""
    if isinstance(shape, dict):
        for key, one in shape.items():
            if key == "\x00?":
                return str(next(iter(found)))
            if "\\u0000?" in json.dumps(one):
                return _within(one, found[key])
    if isinstance(shape, list):
        return _within(shape[0], found[0])
    return str(found)


# --------------------------------------------------------------------------------------- gold


def _coded(folder, text):
    files = GoldFiles(folder)
    row = dict.fromkeys(CODED_COLUMNS, "") | {"item": "a", "coder": "c", "label": "yes", "note": text}
    coded = pl.DataFrame([row], schema=CODED_COLUMNS)
    place = dict.fromkeys(DRAW_COLUMNS) | {"item": "a", "probability": 0.5, "drawn": True}
    draw = pl.DataFrame([place], schema=DRAW_COLUMNS)
    design = {
        "seed": 1, "design": "simple", "how": text, "rounds": [], "rule": "adjudicator",
    }  # fmt: skip
    with changing(folder) as change:
        files.put(change, GoldSample(design, draw, coded))


def _labels(folder):
    sample = GoldFiles(folder).sample()
    if not sample.design:
        return []
    notes = sample.coded["note"].to_list()
    assert notes in ([sample.design["how"]], [None]), "files that change together are of one generation"
    return [sample.design["how"]]


# ------------------------------------------------------------------------------------- answers


def _answer(folder, text):
    store = opened(folder, items=100)
    try:
        item = len(answers(store))
        source = store.register("m", "fake", {})
        store.write([receipt((request(item), [Response(text)]), source)])
    finally:
        store.close()


def _spilled(folder, text):
    store = opened(folder, items=100)
    try:
        spill = store.spill()
        source = store.register("m", "fake", {})
        spill.close()
        spill = store.spill()  # whose first line knows the source
        spill.add([receipt((request(len(answers(store))), [Response(text)]), source)])
        spill.close()
    finally:
        store.close()


def _stored(folder):
    if not (folder / "responses.db").exists():
        return []
    store = Store(folder / "responses.db")
    try:
        store.take_in()
        if not store.calls.placed("f"):
            store.close()
            store = opened(folder, items=100)
        return [one.text for _, one in sorted(answers(store).items())]
    finally:
        store.close()


CASES = [
    Case("marks", _mark, _marks, ("marks.jsonl",), adds=True),
    *map(_document, DOCUMENTS),
    Case("gold sample", _coded, _labels, ("gold/*",)),
    Case("answers", _answer, _stored, ("responses.db*",), adds=True),
    Case("spill", _spilled, _stored, ("responses.spill",), adds=True, asked_again=True),
]
