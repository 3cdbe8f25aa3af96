"""The routes of the server; each answers with a document that another module makes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from quaver._secrets import Keys
from quaver.core.meter import account_name
from quaver.errors import QuaverError, UnknownName
from quaver.view import answer_document, file_answers, grid_documents, overview_document
from quaver.view.compare_document import comparison
from quaver.view.gold_marks import to_gold
from quaver.view.guard import Parameters
from quaver.view.index_keeper import IndexProcess
from quaver.view.mark_import import taken_in
from quaver.view.query_completion import completions
from quaver.view.query_language import QueryError
from quaver.view.viewed_study import ViewedStudy

_MOST_BYTES = 64 << 20
"""The largest file of marks that is taken in."""


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
        self.reports = {study.ticket: f"/reports/{name}" for name, study in studies.items()}
        self.who = account_name() or "me"

    def study(self, name: str) -> ViewedStudy:
        """An open study."""
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
        files = {
            "marks/export": file_answers.export_marks,
            "export": file_answers.export,
            "cells": file_answers.cells,
            "raw": file_answers.raw,
            "charts/{chart}": file_answers.chart,
        }
        routes = [Route(path, _document(made), methods=["GET"]) for path, made in documents.items()]
        routes += [Route(path, _document(made), methods=["POST"]) for path, made in changes.items()]
        routes += [
            Route(f"{study}/marks/{{mark}}", _document(self.remove_mark), methods=["DELETE"]),
            *(Route(f"{study}/{name}", _guarded(self._with(made))) for name, made in files.items()),
            Route("/reports/{study}", _guarded(self._with(file_answers.report))),
            Route("/page/{name:path}", _guarded(file_answers.page)),
            Route("/", _guarded(file_answers.page)),
        ]
        return Starlette(routes=routes)

    def _with(self, made: Callable[[ViewedStudy, Parameters], Response]) -> Callable[[Parameters], Response]:
        return lambda given: made(self._of(given), given)

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
        column = given.whole_number("column") if body.get("column") is not None else None
        _, place = answer_document.place_of(study, str(body.get("item", "")), column or 0)
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
        preview, replace = body.get("preview") is not False, body.get("replace") is True
        return to_gold(self._of(given), who, preview=preview, replace=replace)

    def import_marks(self, given: Parameters) -> dict[str, Any]:
        """Take in a file of marks."""
        who = given.text("who") or self.who
        return taken_in(self._of(given), given.text("format"), given.content, who)

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
        name = given.text("a")
        other = next((one for one in self.studies if one != name), name)
        first = self.study(name), given.text("e"), given.text("A")
        second = self.study(given.text("b") or other), given.text("eb"), given.text("B")
        window = given.number("from", 0), given.number("count", 50, most=500)
        return comparison(first, second, given.text("q"), given.text("change") or "flip", window)


def _document(made: Callable[[Parameters], Any]) -> Callable[[Request], Any]:
    """A route that answers with a JSON document."""
    return _guarded(lambda given: _json(made(given)))


def _guarded(made: Callable[[Parameters], Response]) -> Callable[[Request], Any]:
    """A route whose errors are documents too, computed beside the event loop."""

    async def route(request: Request) -> Response:
        try:
            given = Parameters(request.query_params, request.path_params, await _body(request))
            return await run_in_threadpool(made, given)
        except QuaverError as error:
            document = overview_document.error_document(error)
            if isinstance(error, QueryError):
                document["at"] = list(error.at)
            return _json({"error": document}, _status(error))

    return route


async def _body(request: Request) -> bytes:
    """What was sent, however it was sent."""
    pieces, size = [], 0
    async for piece in request.stream():
        pieces.append(piece)
        size += len(piece)
        if size > _MOST_BYTES:
            raise QuaverError("too much was sent", where="body", expected=f"{_MOST_BYTES:,} bytes at most")
    return b"".join(pieces)


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
