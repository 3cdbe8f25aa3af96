"""The journal: what a log and events say, and what they keep to themselves."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from tests.collect.fakes import fake, opened, request, run

from quaver.collect.run.progress import kind_of, to_do_about
from quaver.collect.run.writer import Journal
from quaver.core.records import Call, Condition, Request, Response
from quaver.errors import ModelError


def failing(asked: Request, call: Call) -> Response:
    return Response(
        "", finish="error", error=f"HTTP 500: broken \x1b[31m\nby {call.item} with hunter2hunter2"
    )


def test_errors_of_a_kind_are_told_a_few_times_in_the_log_and_always_as_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "hunter2hunter2")
    events = io.StringIO()
    items = [f"item {n}" for n in range(12)]
    conditions = [Condition("m", "v", "greedy", 1)]
    journal = Journal(tmp_path / "run.log", events, conditions=conditions, items=items)
    store = opened(tmp_path, items=12)
    outcome = run(store, fake(failing), map(request, range(12)), total=12, journal=journal)
    journal.ended(outcome)
    log = (tmp_path / "run.log").read_text()
    assert log.count("error (model m") == 5
    assert re.search(r"\b12 errors\b.*HTTP 500", log)
    assert "\x1b" not in log
    found = [json.loads(line) for line in events.getvalue().splitlines()]
    errors = [one for one in found if one["event"] == "error"]
    assert [one["item"] for one in errors] == items
    assert {one["kind"] for one in errors} == {"HTTP 500"}
    assert "hunter2" not in log + events.getvalue()
    assert b"hunter2" not in (tmp_path / "responses.db").read_bytes()
    assert "[SOME_API_KEY]" in log


def test_a_model_that_is_given_up_is_told(tmp_path: Path) -> None:
    def breaks(asked: Request, call: Call) -> Response:
        raise ModelError("the server is gone")

    events = io.StringIO()
    with pytest.raises(ModelError):
        run(opened(tmp_path), fake(breaks), [request(0)], total=1, journal=Journal(None, events))
    assert json.loads(events.getvalue().splitlines()[0])["model"] == "m"


def test_a_log_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "no" / "folder" / "run.log")
    assert run(opened(tmp_path), fake(failing), [request(0)], total=1, journal=journal).errors == 1


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (None, "unknown"),
        ("", "unknown"),
        ("HTTP 429: slow down", "HTTP 429"),
        ("timed out after 30.5 s", "timed out after # s"),
        ("x" * 500, "x" * 60),
        ("first\nsecond", "first"),
    ],
)
def test_kinds_of_errors(error: str | None, kind: str) -> None:
    assert kind_of(error) == kind


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("HTTP 429: slow down", "fewer"),
        ("HTTP 503: upstream gone", "server runs"),
        ("ConnectError: [Errno 111]", "server runs"),
        ("context overflow: 5000 tokens", "shorten"),
        ("the reply is not JSON: 'x'", "log"),
        ("ValueError: bad", "repair"),
        (None, "ask again"),
    ],
)
def test_each_kind_of_failure_says_what_to_do(error: str | None, told: str) -> None:
    assert told in to_do_about(kind_of(error))
