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
from quaver.view.grid_documents import cells, grid, row_documents
from quaver.view.grid_view import GridView
from quaver.view.overview_document import brief, overview
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


def exported(study: ViewedStudy, asked: Asked, form: str, what: str = "matching") -> Path:
    """Write what is shown to a temporary file, piece by piece; the file."""
    if f".{form}" not in _WRITERS:
        raise UnknownName("format", form, [ending.removeprefix(".") for ending in _WRITERS], where="format")
    view = study.view(asked)
    parts = (part for some in view.matches(whole=what == "rows") for part in some.iter_slices(_ANSWERS))
    none = view.frame.head(0).collect()
    with tempfile.NamedTemporaryFile(prefix="quaver-", suffix=f".{form}", delete=False) as made:
        path = Path(made.name)
    _WRITERS[path.suffix](path, (_table(view, part) for part in parts), _table(view, none))
    return path


def _table(view: GridView, part: pl.DataFrame) -> pl.DataFrame:
    """Answers as rows of the table: item, gold label, design, label, text."""
    index, out_of = view.scope.index, Keys().out_of
    items = index.items.with_columns(gold=index.gold.cast(pl.String)).with_row_index("row")
    columns = index.design.columns_frame.with_row_index("column").cast({"column": pl.UInt16})
    columns = columns.drop(items.columns, strict=False)
    texts = index.item_texts({*part["row"]})
    with stored(index) as db:
        answers = [
            out_of("".join(pieces(db, "responses", "text", number))) if db is not None and number else None
            for number in part["response"]
        ]
    frame = part.select("row", "column", "label", "status", "confidence").with_columns(
        pl.Series("text", [out_of(texts[row]) for row in part["row"]], dtype=pl.String),
        pl.Series("answer", answers, dtype=pl.String),
        pl.col("label").cast(pl.String),
        pl.col("confidence").cast(pl.Float64).round(6),
        evaluator=pl.lit(index.design.evaluators[view.scope.evaluator]),
    )
    frame = frame.join(items, on="row", how="left", maintain_order="left")
    frame = frame.join(columns, on="column", how="left", maintain_order="left")
    factors = columns.drop("column", "prompt", "model", "decoding", "repeat").columns
    names = ["item", "text", *index.design.groups, "gold", "model", "prompt", *factors, "decoding"]
    return frame.select(*names, "repeat", "evaluator", "label", "status", "confidence", "answer")


def _jsonl(path: Path, some: Iterator[pl.DataFrame], empty: pl.DataFrame) -> None:
    with path.open("w", encoding="utf-8") as file:
        for frame in some:
            file.write(frame.write_ndjson())


_WRITERS = {**WRITERS, ".jsonl": _jsonl}
"""The writers of calls; here a prompt is a name."""
