"""The routes of the server; each answers with a document that another module makes."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Route

from quaver._secrets import Keys
from quaver.core.account import account_name
from quaver.errors import QuaverError, UnknownName
from quaver.view import answer_document, grid_documents, overview_document
from quaver.view.answer_reading import number_of, pieces, stored
from quaver.view.asked_parameters import Parameters
from quaver.view.compare_document import comparison
from quaver.view.gold_marks import to_gold
from quaver.view.index_process import IndexProcess
from quaver.view.mark_export import exported_marks
from quaver.view.mark_import import taken_in
from quaver.view.query_completion import completions
from quaver.view.query_language import QueryError
from quaver.view.shown_export import exported
from quaver.view.static_export import MOST_ITEMS, write_file
from quaver.view.viewed_study import ViewedStudy

PAGE = Path(__file__).parent / "page"
_KINDS = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}
_MOST_CELLS = 1_000_000
_REPORT_POLICY = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data:; font-src data:"
)


class Viewer:
    """What the server shows.

    Args:
        studies: The open studies by id.
        processes: What keeps their indexes, by id.
    """

    def __init__(
        self, studies: Mapping[str, ViewedStudy], processes: Mapping[str, IndexProcess] | None = None
    ) -> None:
        self.studies, self.processes = studies, dict(processes or {})
        self.who = account_name() or "me"

    def study(self, name: str) -> ViewedStudy:
        """An open study.

        Raises:
            UnknownName: There is none of that name.
        """
        if name not in self.studies:
            raise UnknownName("study", name, list(self.studies), where="study")
        return self.studies[name]

    def app(self) -> Starlette:
        """The application."""
        study = "/api/studies/{study}"
        documents: dict[str, Callable[[Parameters], Any]] = {
            "/api/studies": self.list,
            "/api/pulse": self.pulse,
            study: lambda p: overview_document.overview(self._of(p)),
            f"{study}/design": lambda p: overview_document.design_document(self._of(p)),
            f"{study}/grid": lambda p: grid_documents.grid(self._of(p), p.asked(), blind=p.flag("blind")),
            f"{study}/rows": self.rows,
            f"{study}/answers": self.answers,
            f"{study}/answer": self.answer,
            f"{study}/item": self.item,
            f"{study}/complete": self.complete,
            f"{study}/facets": lambda p: grid_documents.facets(self._of(p), p.asked()),
            f"{study}/marks": self.marks,
            "/api/compare": self.compare,
        }
        changes: dict[str, Callable[[Parameters], Any]] = {
            "/api/who": self.set_who,
            f"{study}/look": self.look,
            f"{study}/verdict": self.verdict,
            f"{study}/marks": self.add_mark,
            f"{study}/marks/gold": self.marks_to_gold,
            f"{study}/marks/import": self.import_marks,
        }
        routes = [Route(path, _document(made), methods=["GET"]) for path, made in documents.items()]
        routes += [Route(path, _document(made), methods=["POST"]) for path, made in changes.items()]
        routes += [
            Route(f"{study}/marks/{{mark}}", _document(self.remove_mark), methods=["DELETE"]),
            Route(f"{study}/marks/export", _guarded(self.export_marks)),
            Route(f"{study}/export", _guarded(self.export)),
            Route(f"{study}/cells", _guarded(self.cells)),
            Route(f"{study}/raw", _guarded(self.raw)),
            Route(f"{study}/charts/{{chart}}", _guarded(self.chart)),
            Route(f"{study}/report", _guarded(self.report)),
            Route("/page/{name:path}", _guarded(_page)),
            Route("/", _guarded(_page)),
        ]
        return Starlette(routes=routes)

    def _of(self, given: Parameters) -> ViewedStudy:
        return self.study(given.path("study"))

    # --------------------------------------------------------------------- documents

    def list(self, given: Parameters) -> dict[str, Any]:
        """The open studies."""
        studies = [overview_document.brief(one) for one in self.studies.values()]
        return {"quaver": version("quaver"), "who": self.who, "studies": studies}

    def pulse(self, given: Parameters) -> dict[str, Any]:
        """What changes while studies are looked at."""
        return {"studies": {name: overview_document.pulse(one) for name, one in self.studies.items()}}

    def rows(self, given: Parameters) -> dict[str, Any]:
        """Some rows of a grid."""
        window = given.number("from", 0), given.number("count", 100, most=1000)
        blind = given.flag("blind")
        return grid_documents.rows(self._of(given), given.asked(), *window, given.text("find"), blind=blind)

    def answers(self, given: Parameters) -> dict[str, Any]:
        """Some of the matching answers."""
        window = given.number("from", 0), given.number("count", 50, most=500)
        excerpt, blind = given.number("excerpt", 200, most=5000), given.flag("blind")
        return grid_documents.answers(self._of(given), given.asked(), *window, excerpt, blind=blind)

    def answer(self, given: Parameters) -> dict[str, Any]:
        """One answer in full."""
        against = given.number("against", 0) if given.text("against") else None
        beside = self.study(given.text("against_study")) if given.text("against_study") else None
        return answer_document.answer(
            self._of(given),
            given.asked(),
            given.text("item"),
            given.number("column", 0),
            against,
            beside,
            blind=given.flag("blind"),
        )

    def item(self, given: Parameters) -> dict[str, Any]:
        """One item under every prompt."""
        window = given.number("from", 0), given.number("count", 50, most=500)
        excerpt, blind = given.number("excerpt", 300, most=5000), given.flag("blind")
        name = given.text("item")
        return answer_document.item(self._of(given), given.asked(), name, *window, excerpt, blind=blind)

    def complete(self, given: Parameters) -> dict[str, Any]:
        """How a query line may go on."""
        line = given.text("q")
        return completions(self._of(given), line, given.number("at", len(line)))

    # ------------------------------------------------------------------------- marks

    def marks(self, given: Parameters) -> dict[str, Any]:
        """The marks of a study."""
        study, item, who = self._of(given), given.text("item"), given.text("who")
        every = study.book.marks()
        some = [one for one in every if item in ("", one.item) and who in ("", one.who)]
        start, count = given.number("from", 0), given.number("count", 200, most=5000)
        names = dict.fromkeys(one.who for one in every)
        counted = [{"who": name, "marks": sum(one.who == name for one in every)} for name in names]
        shown = [answer_document.mark_document(study, one) for one in some[start : start + count]]
        return {"marks": shown, "total": len(some), "who": counted}

    def add_mark(self, given: Parameters) -> dict[str, Any]:
        """Add a mark; of an answer, the place is that of its column."""
        study, body = self._of(given), given.body()
        about: dict[str, Any] = {}
        column = body.get("column")
        _, place = answer_document.place_of(study, str(body.get("item", "")), int(column or 0))
        if column is not None:
            about = {name: getattr(place, name) for name in ("model", "prompt", "decoding", "repeat")}
        made = study.book.add({**body, **about}, self.who)
        return answer_document.mark_document(study, made)

    def remove_mark(self, given: Parameters) -> dict[str, Any]:
        """Take a mark back."""
        if self._of(given).book.remove(given.path("mark")) is None:
            raise UnknownName("mark", given.path("mark"), [], where="mark")
        return {}

    def marks_to_gold(self, given: Parameters) -> dict[str, Any]:
        """Have labels in marks become gold labels, or say what that would do."""
        body = given.body()
        who = str(body["who"]) if body.get("who") else None
        return to_gold(self._of(given), who, preview=bool(body.get("preview", True)))

    def import_marks(self, given: Parameters) -> dict[str, Any]:
        """Take in a file of marks."""
        who = given.text("who") or self.who
        return taken_in(self._of(given), given.text("format"), given.content, who)

    def export_marks(self, given: Parameters) -> Response:
        """The marks as a file, or the items as tasks."""
        blind = given.flag("blind")
        body, name = exported_marks(self._of(given), given.asked(), given.text("format"), blind=blind)
        return StreamingResponse(
            (piece.encode("utf-8", "backslashreplace") for piece in body),
            media_type="application/octet-stream",
            headers=_as_file(name),
        )

    def set_who(self, given: Parameters) -> dict[str, Any]:
        """Whose marks are made from now on."""
        who = str(given.body().get("who", "")).strip()[:200]
        if not who:
            raise QuaverError("a name is missing", where="who")
        self.who = who
        return {"who": who}

    def look(self, given: Parameters) -> dict[str, Any]:
        """Note what the study is like now."""
        study = self._of(given)
        study.looks.note(overview_document.look_numbers(study), study.statistics(0).modal)
        return {}

    def verdict(self, given: Parameters) -> dict[str, Any]:
        """Have the verdict made anew."""
        if process := self.processes.get(self._of(given).id):
            process.make_verdict()
        return {}

    def compare(self, given: Parameters) -> dict[str, Any]:
        """Two studies, or two sides of one."""
        first = self.study(given.text("a")), given.text("e"), given.text("A")
        second = self.study(given.text("b") or given.text("a")), given.text("eb"), given.text("B")
        window = given.number("from", 0), given.number("count", 50, most=500)
        return comparison(first, second, given.text("q"), given.text("change") or "flip", window)

    # ------------------------------------------------------------------ other than JSON

    def export(self, given: Parameters) -> Response:
        """What is shown, as a file that is removed once it is sent."""
        study, form = self._of(given), given.text("format") or "csv"
        if form == "html":
            with tempfile.NamedTemporaryFile(prefix="quaver-", suffix=".html", delete=False) as made:
                path = Path(made.name)
            write_file(study, given.asked(), path, PAGE, given.number("items", MOST_ITEMS))
        else:
            path = exported(study, given.asked(), form, given.text("what") or "matching")
        headers = _as_file(f"{study.id}.{form}")
        kind = "application/octet-stream"
        return FileResponse(path, media_type=kind, headers=headers, background=BackgroundTask(path.unlink))

    def cells(self, given: Parameters) -> Response:
        """A window of cells."""
        study = self._of(given)
        first, left = given.number("from", 0), given.number("left", 0)
        rows, width = given.number("count", 0, most=100_000), given.number("width", 0, most=100_000)
        step = max(1, given.number("step", 1))
        if rows * width > _MOST_CELLS:
            raise QuaverError(
                "the window is too large", where="cells", expected=f"{_MOST_CELLS:,} cells at most"
            )
        planes = given.flag("match"), given.flag("confidence")
        body, rows, width = grid_documents.cells(
            study, given.asked(), (first, rows, left, width), step, planes=planes, blind=given.flag("blind")
        )
        about = {"X-Rows": str(rows), "X-Width": str(width), "X-Version": study.version}
        return Response(body, media_type="application/octet-stream", headers=about)

    def raw(self, given: Parameters) -> Response:
        """A long text in pieces."""
        study, part = self._of(given), given.text("part") or "text"
        if part not in ("text", "thinking", "raw", "prompt"):
            raise UnknownName("part", part, ["text", "thinking", "raw", "prompt"], where="part")
        at, _ = answer_document.place_of(study, given.text("item"), given.number("column", 0))
        whole = given.flag("download")
        start, count = given.number("from", 0), given.number("count", 1_000_000, most=1_000_000)
        number = number_of(study.index, at, given.number("column", 0))
        body = _pieces(study, number, part, 0 if whole else start, None if whole else count)
        about = _as_file("answer.txt") if whole else {}
        return StreamingResponse(body, media_type="text/plain; charset=utf-8", headers=about)

    def chart(self, given: Parameters) -> Response:
        """A chart as SVG."""
        folder = self._of(given).index.folder / "charts"
        return _file(folder, given.path("chart"), (".svg",))

    def report(self, given: Parameters) -> Response:
        """The study's report, in a page that can reach nothing."""
        found = overview_document.report_of(self._of(given))
        if found is None:
            raise UnknownName("report", "report.html", [], where="report")
        return FileResponse(
            found, media_type="text/html; charset=utf-8", headers={"Content-Security-Policy": _REPORT_POLICY}
        )


def _document(made: Callable[[Parameters], Any]) -> Callable[[Request], Any]:
    """A route that answers with a JSON document."""

    def answered(given: Parameters) -> Response:
        begun = time.perf_counter()
        document = made(given)
        if isinstance(document, dict):
            document["took_ms"] = round(1000 * (time.perf_counter() - begun), 2)
        return _json(document)

    return _guarded(answered)


def _guarded(made: Callable[[Parameters], Response]) -> Callable[[Request], Any]:
    """A route whose errors are documents too, computed beside the event loop."""

    async def route(request: Request) -> Response:
        body = await request.body() if request.method == "POST" else b""
        given = Parameters(request.query_params, request.path_params, body)
        try:
            return await run_in_threadpool(made, given)
        except QuaverError as error:
            document = overview_document.error_document(error)
            if isinstance(error, QueryError):
                document["at"] = list(error.at)
            return _json({"error": document}, _status(error))

    return route


def _status(error: QuaverError) -> int:
    if isinstance(error, UnknownName) and error.where in (
        "study",
        "item",
        "column",
        "mark",
        "report",
        "page",
    ):
        return 404
    return 409 if error.where == "quaver view" else 400


def _json(document: Any, status: int = 200) -> Response:
    """A document, without the value of any key."""
    text = Keys().out_of(json.dumps(document, separators=(",", ":"), default=str))
    return Response(text.encode(), status, media_type="application/json")


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


def _page(given: Parameters) -> Response:
    """A file of the page."""
    return _file(PAGE, given.path("name") or "index.html", tuple(_KINDS))


def _file(folder: Path, name: str, endings: tuple[str, ...]) -> Response:
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()) or path.suffix not in endings or not path.is_file():
        raise UnknownName("page", name, [], where="page")
    return Response(path.read_bytes(), media_type=_KINDS[path.suffix])
