"""The routes of the server: each calls a function of a study and of what the request says."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from quaver._secrets import Keys
from quaver.core.input_budget import InputBudget, TooLarge
from quaver.core.media import kept_medium, type_of
from quaver.core.meter import account_name
from quaver.errors import QuaverError, UnknownName
from quaver.view import answer_document, grid_documents, overview_document
from quaver.view.asked import Given, given_in
from quaver.view.snapshot import error_document
from quaver.view.viewed_study import ViewedStudy

PAGE = Path(__file__).parent / "page"
SCREEN = Path(__file__).parents[1] / "report" / "templates" / "screen.css"
"""How the first screen looks, the report's and the viewer's."""
_MOST_BYTES = 64 << 20
"""The largest file of marks that is taken in."""
_MOST_CELLS = 1_000_000
_REPORT_POLICY = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data:; media-src data:; font-src data:"
)
_MISSING = ("study", "item", "column", "mark", "report", "medium")
"""What is not there when one of these is unknown; any other unknown name is a mistake in the request."""

Handler = Callable[[Given], Any]
OfStudy = Callable[[ViewedStudy, Given], Any]


class Viewer:
    """What the server shows.

    Args:
        studies: The open studies by id.
    """

    def __init__(self, studies: Mapping[str, ViewedStudy]) -> None:
        self.studies = studies
        self.reports = {study.ticket: f"/reports/{name}" for name, study in studies.items()}
        self.who = account_name() or "me"

    def app(self) -> Starlette:
        """The application."""
        of_server: dict[tuple[str, str], Handler] = {
            ("GET", "/"): lambda given: FileResponse(PAGE / "index.html"),
            ("GET", "/api/studies"): self.list,
            ("GET", "/api/pulse"): self.pulse,
            ("POST", "/api/who"): self.set_who,
        }
        of_study: dict[tuple[str, str], OfStudy] = {
            ("GET", ""): overview_document.overview,
            ("GET", "/design"): overview_document.design_document,
            ("GET", "/grid"): grid_documents.grid,
            ("GET", "/rows"): grid_documents.rows,
            ("GET", "/cells"): cells,
            ("GET", "/facets"): grid_documents.facets,
            ("GET", "/answers"): grid_documents.answers,
            ("GET", "/answer"): answer_document.answer,
            ("GET", "/media/{name}"): medium,
            ("GET", "/marks"): answer_document.marks,
            ("POST", "/marks"): self.add_mark,
            ("POST", "/marks/gold"): answer_document.to_gold,
            ("DELETE", "/marks/{name}"): answer_document.remove_mark,
        }
        every = dict(of_server)
        every["GET", "/reports/{study}"] = self._of_study(report)
        for (method, path), handler in of_study.items():
            every[method, f"/api/studies/{{study}}{path}"] = self._of_study(handler)
        every["GET", "/page/screen.css"] = lambda given: FileResponse(SCREEN)
        routes: list[BaseRoute] = [
            Route(path, _endpoint(answer), methods=[method]) for (method, path), answer in every.items()
        ]
        return Starlette(routes=[*routes, Mount("/page", StaticFiles(directory=PAGE))])

    def _of_study(self, handler: OfStudy) -> Handler:
        def answered(given: Given) -> Any:
            study = self.study(given.study)
            document = handler(study, replace(given, who=self.who) if given.blind else given)
            return _without_labels(document, study.snapshot.design.hidden) if given.blind else document

        return answered

    def study(self, name: str) -> ViewedStudy:
        """An open study."""
        if name not in self.studies:
            raise UnknownName("study", name, list(self.studies), where="study")
        return self.studies[name]

    def list(self, given: Given) -> dict[str, Any]:
        """The open studies."""
        studies = list(map(overview_document.brief, self.studies.values()))
        return {"quaver": version("quaver"), "who": self.who, "studies": studies}

    def pulse(self, given: Given) -> dict[str, Any]:
        """What changes while studies are looked at."""
        return {"studies": {name: overview_document.pulse(study) for name, study in self.studies.items()}}

    def set_who(self, given: Given) -> dict[str, Any]:
        """Set the name under which marks are made from now on."""
        who = (given.body().who or "").strip()[:200]
        if not who:
            raise QuaverError("a name is missing", where="who")
        self.who = who
        return {"who": who}

    def add_mark(self, study: ViewedStudy, given: Given) -> dict[str, Any]:
        """Add a mark."""
        return answer_document.add_mark(study, given, self.who)


def _endpoint(handler: Handler) -> Callable[[Request], Any]:
    """A route that computes beside the event loop, and whose errors are documents too."""

    async def route(request: Request) -> Response:
        try:
            given = given_in(request.query_params, request.path_params, await _body(request))
            return await run_in_threadpool(lambda: _response(handler(given)))
        except QuaverError as error:
            return _response({"error": error_document(error)}, _status(error))

    return route


async def _body(request: Request) -> bytes:
    """What was sent, however it was sent."""
    pieces, budget = [], InputBudget(_MOST_BYTES, "bytes")
    try:
        async for piece in request.stream():
            budget.spend(len(piece))
            pieces.append(piece)
    except TooLarge as error:
        raise QuaverError("too much was sent", where="body", found=str(error)) from None
    return b"".join(pieces)


def _status(error: QuaverError) -> int:
    if isinstance(error, UnknownName) and error.where in _MISSING:
        return 404
    return 409 if error.where == "quaver view" else 400


def _response(response: Any, status: int = 200) -> Response:
    """A response as it is; a document as JSON, without the value of any key."""
    if isinstance(response, Response):
        return response
    text = Keys().out_of(json.dumps(response, separators=(",", ":"), default=str))
    return Response(text.encode(), status, media_type="application/json")


_WITHHELD: dict[str, Any] = {
    **dict.fromkeys(("gold", "modal", "agreement", "instability", "accuracy", "labels", "label", "status")),
    **dict.fromkeys(("confidence", "flip", "response", "reading", "probabilities", "tokens", "is", "quote")),
    **dict.fromkeys(("counts", "readings", "siblings", "follow_ups"), ()),
    "tokens_total": 0,
}
"""What takes the place of all that shows the models' labels to somebody who judges blind."""


def _without_labels(document: Any, hidden: int) -> Any:
    """A document without the labels of the models; marks say what people did."""
    if isinstance(document, list):
        return [_without_labels(part, hidden) for part in document]
    if not isinstance(document, dict):
        return document
    result = {}
    for name, value in document.items():
        if name == "legend":
            result[name] = hidden
        elif name == "marks":
            result[name] = value
        else:
            result[name] = _WITHHELD[name] if name in _WITHHELD else _without_labels(value, hidden)
    return result


# --------------------------------------------------------------------------- what is no document


def cells(study: ViewedStudy, given: Given) -> Response:
    """A window of cells."""
    window = given.window(0, 100_000)
    if (window.stop - window.start) * min(given.width, 100_000) > _MOST_CELLS:
        raise QuaverError("the window is too large", where="cells", expected=f"{_MOST_CELLS:,} cells at most")
    body, rows, width = grid_documents.cells(study, given)
    about = {"X-Rows": str(rows), "X-Width": str(width), "X-Version": study.version}
    return Response(body, media_type="application/octet-stream", headers=about)


def medium(study: ViewedStudy, given: Given) -> Response:
    """A picture or a recording as it was sent to the models, its type by its first bytes alone."""
    content = kept_medium(Path(study.snapshot.design.store).with_name("media.db"), given.name)
    media_type = type_of(content)
    if not media_type:
        raise UnknownName("medium", given.name, [], where="medium")
    return Response(content, media_type=media_type)


def report(study: ViewedStudy, given: Given) -> Response:
    """The study's report, in a page that can reach nothing."""
    path = overview_document.report_of(study)
    if path is None:
        raise UnknownName("report", "report.html", [], where="report")
    return FileResponse(
        path, media_type="text/html; charset=utf-8", headers={"Content-Security-Policy": _REPORT_POLICY}
    )
