"""The journal: what a log says, and what it keeps to itself."""

import re

import pytest
from tests.collect.fakes import fake, opened, request, run

from quaver.collect.run.progress import kind_of, to_do_about
from quaver.collect.run.writer import Journal
from quaver.core.calls import Response
from quaver.core.records import Condition
from quaver.errors import ModelError


def failing(asked, call):
    return Response(
        "", finish="error", error=f"HTTP 500: broken \x1b[31m\nby {call.item} with hunter2hunter2"
    )


def test_errors_of_a_kind_are_told_a_few_times_in_the_log(tmp_path, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "hunter2hunter2")
    items = [f"item {n}" for n in range(12)]
    conditions = [Condition("m", "v", "greedy", 1)]
    journal = Journal(tmp_path / "run.log", conditions, items)
    store = opened(tmp_path, items=12)
    outcome = run(store, fake(failing), map(request, range(12)), total=12, journal=journal)
    journal.ended(outcome)
    log = (tmp_path / "run.log").read_text()
    assert log.count("error (model m") == 5
    assert re.search(r"\b12 errors\b.*HTTP 500", log)
    assert "\x1b" not in log
    assert [f"item {n}" in log for n in range(12)] == [True] * 5 + [False] * 7
    assert "hunter2" not in log
    assert b"hunter2" not in (tmp_path / "responses.db").read_bytes()
    assert "[SOME_API_KEY]" in log


def test_a_model_that_is_given_up_is_told(tmp_path):
    def breaks(asked, call):
        raise ModelError("the server is gone")

    with pytest.raises(ModelError):
        run(opened(tmp_path), fake(breaks), [request(0)], total=1, journal=Journal(tmp_path / "run.log"))
    assert "m is given up: the server is gone" in (tmp_path / "run.log").read_text()


def test_a_log_that_cannot_be_written_stops_nothing(tmp_path):
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
def test_kinds_of_errors(error, kind):
    assert kind_of(error) == kind


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("HTTP 429: slow down", "fewer"),
        ("HTTP 503: upstream gone", "server is running"),
        ("ConnectError: [Errno 111]", "server is running"),
        ("context overflow: 5000 tokens", "shorten"),
        ("the reply is not JSON: 'x'", "log"),
        ("ValueError: bad", "fix the function"),
        (None, "ask again"),
    ],
)
def test_each_kind_of_failure_says_what_to_do(error, told):
    assert told in to_do_about(kind_of(error))
