"""A part of a study as one file that opens from disk, with what the page would ask the server for."""

from __future__ import annotations

import json
import re
import tempfile
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any

import polars as pl

from quaver._secrets import Keys
from quaver.core.replaced_file import replace_text
from quaver.errors import UnknownName
from quaver.study.analysis.call_export import WRITERS
from quaver.view.answer_document import Seen, item_document, said
from quaver.view.answer_reading import pieces, stored
from quaver.view.asked import Asked, Given
from quaver.view.grid_documents import cells, documents_of, grid, groups_of, row_documents
from quaver.view.grid_view import GridView
from quaver.view.overview_document import brief, overview
from quaver.view.study_index import Index
from quaver.view.viewed_study import ViewedStudy

MOST_ITEMS = 5_000
_MOST_ANSWERS = 50_000
_LONGEST = 20_000


def write_file(study: ViewedStudy, asked: Asked, path: Path, page: Path, count: int = MOST_ITEMS) -> int:
    """Write a part of a study as one HTML file.

    Returns:
        How many items were written.
    """
    data, written = document(study, asked, min(count, MOST_ITEMS))
    replace_text(path, one_file(page, data, study.index.design.name))
    return written


def document(study: ViewedStudy, asked: Asked, count: int) -> tuple[dict[str, Any], int]:
    """The data of the file, and how many items it has."""
    view, index = study.view(asked), study.index
    width = max(1, len(view.groups))
    count = min(count, len(view.rows), max(1, _MOST_ANSWERS // width))
    name = study.id
    given = Given(asked, count=count, width=width)
    rows, columns = [int(row) for row in view.rows[:count]], view.columns()
    held = index.cells(rows, (column.at for column in columns)).rows_by_key(
        ("row", "column"), named=True, include_key=True
    )
    head = grid(study, given)
    first = row_documents(study, view, slice(0, count))
    codes, _, _ = cells(study, given)
    both, _, _ = cells(study, replace(given, match=True))
    prompts: dict[str, int] = {}
    known: list[Any] = []
    answers = {}
    with stored(index) as db:
        for row in rows:
            for column in columns:
                seen = Seen(study, db, row, column, held.get((row, column.at), ()))
                one = _answer(seen, view)
                one["prompt"] = _shared(seen, prompts, known)
                answers[f"{index.ids[row]}\0{column.at}"] = one
    items = {index.ids[row]: item_document(study, view, row) for row in rows}
    found = overview(study) | {"report": None, "since": None}
    charts = _charts(study, found["charts"])
    about = brief(study) | {"answers": len(answers)}
    studies = {"studies": [about], "who": "", "quaver": ""}
    place = f"api/studies/{name}"
    responses = {"api/studies": studies, place: found, f"{place}/design": found["design"]} | charts
    shown = head | {"rows": count, "items": head["items"], "part": count < len(view.rows)}
    grids = {"query": asked.query, "grid": shown, "rows": first}
    grids |= {"cells": _text(codes), "match": _text(both[len(codes) :])}
    data = {"studies": [about], "responses": responses, "grids": {name: grids}}
    return data | {"answers": {name: answers}, "items": {name: items}, "prompts": {name: known}}, count


def _text(content: bytes) -> str:
    return b64encode(content).decode()


def _answer(seen: Seen, view: GridView) -> dict[str, Any]:
    """An answer whose texts are not too long for a file."""
    one = said(seen, view) | {"against": None, "prompt": []}
    if one["response"]:
        text, thinking = one["response"]["text"], one["response"]["thinking"]
        one["response"] |= {"text": text[:_LONGEST], "shown": min(len(text), _LONGEST), "rest": None}
        one["response"]["thinking"] = thinking[:_LONGEST] if thinking else None
    return one


def _shared(seen: Seen, prompts: dict[str, int], known: list[Any]) -> int | list[Any]:
    """The number of a prompt among those of the file."""
    messages = seen.prompt(_LONGEST)
    if not messages:
        return []
    index = prompts.setdefault(repr(messages), len(known))
    if index == len(known):
        known.append(messages)
    return index


def _charts(study: ViewedStudy, charts: list[dict[str, Any]]) -> dict[str, str]:
    """The charts by their addresses."""
    result = {}
    for chart in charts:
        for name in ("href", "narrow"):
            path = study.index.folder / "charts" / chart[name].rpartition("/")[2]
            result[chart[name]] = path.read_text(encoding="utf-8") if path.is_file() else ""
    return result


_IMPORT = re.compile(
    r'^import (?:\{(?P<names>[^}]*)\}|\* as (?P<whole>\w+)) from "\./(?P<file>[\w.-]+)";$', re.MULTILINE
)
_EXPORT = re.compile(
    r"^export (?P<kind>(?:async )?function\*?|const|let|class) (?P<name>[\w$]+)", re.MULTILINE
)
_START = "start.js"


def one_file(page: Path, data: Any, title: str) -> str:
    """The page with its data."""
    style = (page / "look.css").read_text(encoding="utf-8").replace("</style", "<\\/style")
    script = bundled(page)
    html = (page / "index.html").read_text(encoding="utf-8")
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; img-src data:; "
        "form-action 'none'; base-uri 'none'"
    )
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    html = html.replace('<meta charset="utf-8">', f'<meta charset="utf-8">\n{head}', 1)
    html = re.sub(r"<title>.*?</title>", lambda _: f"<title>{escape(title)}</title>", html, count=1)
    html = html.replace('<link rel="stylesheet" href="page/look.css">', f"<style>{style}</style>", 1)
    parts = (
        f'<script type="application/json" id="quaver-data">{inert(data)}</script>\n<script>{script}</script>'
    )
    return html.replace('<script type="module" src="page/start.js"></script>', parts, 1)


def inert(data: Any) -> str:
    r"""JSON in plain ASCII that cannot end the element it stands in, without the value of any key.

    >>> inert({"a": "</script>é"})
    '{"a":"\\u003c/script\\u003e\\u00e9"}'
    """
    text = Keys().out_of(json.dumps(data, separators=(",", ":"), default=str))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def bundled(page: Path) -> str:
    """All modules as one script; each is a function that is called once and returns what it exports."""
    parts = [_wrapped(name, text) for name, text in _in_order(page)]
    return '"use strict";\nconst modules = {};\n' + "\n".join(parts).replace("</script", "<\\/script")


def _in_order(page: Path) -> Iterator[tuple[str, str]]:
    """The modules, each after those that it imports."""
    done: set[str] = set()

    def visited(name: str) -> Iterator[tuple[str, str]]:
        if name in done:
            return
        done.add(name)
        text = (page / name).read_text(encoding="utf-8")
        for match in _IMPORT.finditer(text):
            yield from visited(match["file"])
        yield name, text

    yield from visited(_START)


def _wrapped(name: str, text: str) -> str:
    exports = [match["name"] for match in _EXPORT.finditer(text)]
    body = _EXPORT.sub(lambda match: f"{match['kind']} {match['name']}", _IMPORT.sub(_taken, text))
    return f"modules[{json.dumps(name)}] = (() => {{\n{body}\nreturn {{ {', '.join(exports)} }};\n}})();"


def _taken(match: re.Match[str]) -> str:
    what = match["whole"] or "{" + re.sub(r"\bas\b", ":", match["names"]) + "}"
    return f"const {what} = modules[{json.dumps(match['file'])}];"


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


_ANSWERS = 1_000
_OF_ANSWER = ("model", "prompt", "decoding", "repeat", "label", "status", "confidence")


def exported(study: ViewedStudy, asked: Asked, form: str, what: str = "matching") -> Path:
    """Write what is shown to a temporary file, piece by piece; the file."""
    if f".{form}" not in _WRITERS:
        raise UnknownName("format", form, [ending.removeprefix(".") for ending in _WRITERS], where="format")
    schema = pl.Schema(_schema(study.index))
    with tempfile.NamedTemporaryFile(prefix="quaver-", suffix=f".{form}", delete=False) as made:
        path = Path(made.name)
    _WRITERS[path.suffix](path, frames(study, asked, whole=what == "rows"), pl.DataFrame(schema=schema))
    return path


def frames(study: ViewedStudy, asked: Asked, *, whole: bool) -> Iterator[pl.DataFrame]:
    """The answers in the order of rows and columns, some hundreds a frame."""
    schema = _schema(study.index)
    for some in study.view(asked).matches(whole=whole):
        for part in some.iter_slices(_ANSWERS):
            yield pl.DataFrame(_rows(study, asked, part), schema=schema)


def _schema(index: Index) -> dict[str, Any]:
    factors = dict.fromkeys(name for variant in index.design.variants for name in variant.factors)
    names = ("item", "text", *index.design.groups, "gold", "model", "prompt", *factors, "decoding")
    schema: dict[str, Any] = dict.fromkeys(names, pl.String)
    schema["repeat"] = pl.Int32
    schema |= dict.fromkeys(("evaluator", "label", "status"), pl.String)
    return schema | {"confidence": pl.Float64, "answer": pl.String}


def _rows(study: ViewedStudy, asked: Asked, part: pl.DataFrame) -> list[dict[str, Any]]:
    """Answers as rows of the table, which has nothing where a row does not name a column."""
    index, view, out_of = study.index, study.view(asked), Keys().out_of
    evaluator = index.design.evaluators[view.scope.evaluator]
    texts = index.item_texts({*part["row"]})
    items = {
        row: {"item": index.ids[row], "text": out_of(text), "gold": index.gold[row], **groups_of(study, row)}
        for row, text in texts.items()
    }
    result = []
    with stored(index) as db:
        for place, known in zip(part.iter_rows(named=True), documents_of(study, part), strict=True):
            variant = index.design.variants_by_id.get(known["prompt"])
            number = place["response"] if db is not None else None
            answer = "".join(pieces(db, "responses", "text", number)) if db is not None and number else None
            row: dict[str, Any] = dict(variant.factors) if variant else {}
            row |= items[place["row"]]
            row |= {name: known[name] for name in _OF_ANSWER}
            row |= {"evaluator": evaluator, "answer": None if answer is None else out_of(answer)}
            result.append(row)
    return result


def _jsonl(path: Path, some: Iterator[pl.DataFrame], empty: pl.DataFrame) -> None:
    with path.open("w", encoding="utf-8", errors="backslashreplace") as file:
        for frame in some:
            for row in frame.iter_rows(named=True):
                file.write(json.dumps(row, ensure_ascii=False) + "\n")


_WRITERS = {**WRITERS, ".jsonl": _jsonl}
"""The writers of calls; here a prompt is a name."""
