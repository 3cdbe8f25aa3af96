"""Answers of the server that are no JSON documents: files, cells, long texts, charts and the page itself."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from starlette.background import BackgroundTask
from starlette.responses import FileResponse, Response, StreamingResponse

from quaver.errors import QuaverError, UnknownName
from quaver.view import grid_documents, overview_document
from quaver.view.answer_document import place_of
from quaver.view.answer_reading import number_of, pieces, stored
from quaver.view.guard import Parameters
from quaver.view.mark_import import exported_marks
from quaver.view.static_export import MOST_ITEMS, exported, write_file
from quaver.view.viewed_study import ViewedStudy

PAGE = Path(__file__).parent / "page"
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "text/plain; charset=utf-8",  # a drawing is put into the page as text, and is no document
    ".woff2": "font/woff2",
}
_MOST_CELLS = 1_000_000
_REPORT_POLICY = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data:; font-src data:"
)


def export(study: ViewedStudy, given: Parameters) -> Response:
    """What is shown, as a file that is removed once it is sent."""
    form = given.text("format") or "csv"
    if form == "html":
        with tempfile.NamedTemporaryFile(prefix="quaver-", suffix=".html", delete=False) as made:
            path = Path(made.name)
        write_file(study, given.asked(), path, PAGE, given.number("items", MOST_ITEMS))
    else:
        path = exported(study, given.asked(), form, given.text("what") or "matching")
    headers = _as_file(f"{study.id}.{form}")
    kind = "application/octet-stream"
    return FileResponse(path, media_type=kind, headers=headers, background=BackgroundTask(path.unlink))


def export_marks(study: ViewedStudy, given: Parameters) -> Response:
    """The marks as a file, or the items as tasks."""
    blind = given.flag("blind")
    body, name = exported_marks(study, given.asked(), given.text("format"), blind=blind)
    return StreamingResponse(
        (piece.encode("utf-8", "backslashreplace") for piece in body),
        media_type="application/octet-stream",
        headers=_as_file(name),
    )


def cells(study: ViewedStudy, given: Parameters) -> Response:
    """A window of cells."""
    first, left = given.number("from", 0), given.number("left", 0)
    rows, width = given.number("count", 0, most=100_000), given.number("width", 0, most=100_000)
    step = max(1, given.number("step", 1))
    if rows * width > _MOST_CELLS:
        raise QuaverError("the window is too large", where="cells", expected=f"{_MOST_CELLS:,} cells at most")
    planes = given.flag("match"), given.flag("confidence")
    body, rows, width = grid_documents.cells(
        study, given.asked(), (first, rows, left, width), step, planes=planes, blind=given.flag("blind")
    )
    about = {"X-Rows": str(rows), "X-Width": str(width), "X-Version": study.version}
    return Response(body, media_type="application/octet-stream", headers=about)


def raw(study: ViewedStudy, given: Parameters) -> Response:
    """A long text in pieces."""
    part = given.text("part") or "text"
    if part not in ("text", "thinking", "raw", "prompt"):
        raise UnknownName("part", part, ["text", "thinking", "raw", "prompt"], where="part")
    at, _ = place_of(study, given.text("item"), given.number("column", 0))
    whole = given.flag("download")
    start, count = given.number("from", 0), given.number("count", 1_000_000, most=1_000_000)
    number = number_of(study.index, at, given.number("column", 0))
    body = _pieces(study, number, part, 0 if whole else start, None if whole else count)
    about = _as_file("answer.txt") if whole else {}
    return StreamingResponse(body, media_type="text/plain; charset=utf-8", headers=about)


def chart(study: ViewedStudy, given: Parameters) -> Response:
    """A chart as SVG."""
    folder = study.index.folder / "charts"
    return _file(folder, given.path("chart"), (".svg",))


def report(study: ViewedStudy, given: Parameters) -> Response:
    """The study's report, in a page that can reach nothing."""
    found = overview_document.report_of(study)
    if found is None:
        raise UnknownName("report", "report.html", [], where="report")
    return FileResponse(
        found, media_type="text/html; charset=utf-8", headers={"Content-Security-Policy": _REPORT_POLICY}
    )


def page(given: Parameters) -> Response:
    """A file of the page."""
    return _file(PAGE, given.path("name") or "index.html", tuple(_KINDS))


def _as_file(name: str) -> dict[str, str]:
    """The header that has a browser keep a body as a file."""
    plain = "".join(one if one.isascii() and (one.isalnum() or one in "._-") else "-" for one in name)
    return {"Content-Disposition": f'attachment; filename="{plain}"'}


def _pieces(study: ViewedStudy, number: int, part: str, start: int, count: int | None) -> Any:
    with stored(study.index) as db:
        if db is None or not number:
            return
        table, column, row = "responses", part, number
        if part == "prompt":
            table, column = "prompts", "messages"
            row = db.execute("SELECT prompt FROM responses WHERE id = ?", (number,)).fetchone()[0]
        yield from pieces(db, table, column, row, start, count)


def _file(folder: Path, name: str, endings: tuple[str, ...]) -> Response:
    try:
        path = (folder / name).resolve()
        known = path.is_relative_to(folder.resolve()) and path.suffix in endings and path.is_file()
    except (OSError, ValueError):  # no file can have this name
        known = False
    if not known:
        raise UnknownName("page", name[:80], [], where="page")
    return Response(path.read_bytes(), media_type=_KINDS[path.suffix])
