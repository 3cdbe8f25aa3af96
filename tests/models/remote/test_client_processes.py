"""Several processes ask one server: as one client, whatever becomes of them."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.models.serving import serving
from tests.models.test_served_faults import check, study

from quaver.core.model import Model
from quaver.errors import MissingKey, ModelError, SpecError
from quaver.models.openai_compatible import OpenAICompatible
from quaver.models.remote.client_processes import ClientProcesses
from quaver.models.remote.remote_model import RemoteModel
from quaver.models.remote.remote_worker import Setup
from quaver.study.session import Study
from quaver.testing import test_models as contract
from quaver.testing.requests import request

# The contract of models, kept from two processes as from one.
test_requests_of_several_calls = contract.test_requests_of_several_calls_get_a_response_for_each
test_more_calls = contract.test_more_calls_than_were_announced_are_answered
test_a_response = contract.test_a_response_says_how_it_ended_and_how_long_it_took
test_requests_are_drawn = contract.test_requests_are_drawn_as_they_are_worked_on
test_no_request = contract.test_no_request_is_no_answer
test_a_closed_model = contract.test_a_closed_model_can_be_used_again
test_a_greedy_answer = contract.test_a_greedy_answer_repeats_itself
test_provenance = contract.test_provenance_can_be_written_down


class Maker:
    """Makes the client; a process gets it as a plain value."""

    def __init__(self, url: str) -> None:
        self.options: dict[str, Any] = {"model": "m", "base_url": url, "processes": 2, "concurrency": 4}

    def __call__(self) -> Model:
        return OpenAICompatible(**self.options)


@pytest.fixture(scope="module")
def model() -> Iterator[Model]:
    with serving() as (url, _):
        make = Maker(url)
        spread = RemoteModel(make(), Setup(make), ClientProcesses(2))
        yield spread  # type: ignore[misc]
        spread.close()


def children() -> list[int]:
    """The client processes of this one."""
    found = subprocess.run(["pgrep", "-P", str(os.getpid()), "-f", "client_process"], capture_output=True)
    return [int(line) for line in found.stdout.split()]


def test_every_call_ends_in_one_stored_answer(tmp_path: Path) -> None:
    before = children()
    with serving(faults=0.2, latency=0.02, stall=1.0) as (url, _):
        asked = study(tmp_path, url, items=150, timeout=0.5, retries=12, processes=2)
        asked.run()
    check(tmp_path, 300)
    (provenance,) = sqlite3.connect(tmp_path / "study" / "responses.db").execute(
        "SELECT provenance FROM sources"
    )
    assert "2 client processes" in provenance[0]
    assert children() == before


def test_a_killed_process_costs_what_it_had_in_flight(tmp_path: Path) -> None:
    killed: list[int] = []
    before = children()

    def kill(watched: Any) -> None:
        if watched.done > 40 * (len(killed) + 1) and len(killed) < 3:  # it may look twice a second only
            victim = next(one for one in children() if one not in before)
            os.kill(victim, signal.SIGKILL)
            killed.append(victim)

    with serving(latency=0.1) as (url, server):
        outcome = study(tmp_path, url, items=200, processes=2, concurrency=8).run(watch=kill)
        assert outcome.done == 400
        assert len(killed) == 3
        assert server.seen <= 400 + 1 + 3 * 8  # a probe, and twice what a process has in flight
    check(tmp_path, 400)


def test_the_rate_holds_for_all_of_them(tmp_path: Path) -> None:
    with serving() as (url, server):
        study(tmp_path, url, items=40, processes=3, requests_per_minute=1200).run()
        answered = sorted(server.good)[-80:]
    assert 80 / (answered[-1] - answered[0]) <= 20 * 1.1


def test_calls_in_flight_are_shared_out(tmp_path: Path) -> None:
    with serving(latency=0.05) as (url, server):
        study(tmp_path, url, items=60, processes=2, concurrency=5).run()
        assert 2 <= server.most_at_once <= 5


def test_the_budget_holds(tmp_path: Path) -> None:
    with serving(latency=0.02) as (url, server):
        asked = study(tmp_path, url, items=100, processes=2)
        asked = Study.open({**document(asked), "budget": {"calls": 51}}, folder=tmp_path / "study")
        outcome = asked.run()
        assert (outcome.ended, outcome.done) == ("calls", 50)  # two repeats each
        assert server.seen <= 50 + 1
    check(tmp_path, 50)


def document(study: Study) -> dict[str, Any]:
    text: dict[str, Any] = study.spec.model_dump(mode="json", exclude_unset=True)
    return text


def test_an_error_of_the_server_ends_the_work_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_API_KEY", "sk-right-0123456789")
    before = children()
    with serving(key="sk-right-0123456789", latency=0.02) as (url, server):
        asked = study(tmp_path, url, items=300, processes=2, key="OTHER_API_KEY")

        def revoke(watched: Any) -> None:
            if watched.done:
                server.key = "sk-other-0123456789"

        with pytest.raises(ModelError, match="the server rejects the key") as caught:
            asked.run(watch=revoke)
        assert "sk-right" not in str(caught.value)
        known = len(server.good)
    with sqlite3.connect(tmp_path / "study" / "responses.db") as db:
        assert db.execute("SELECT count(*) FROM responses").fetchone()[0] == known
    assert children() == before


def test_ctrl_c_waits_for_what_is_in_flight(tmp_path: Path) -> None:
    with serving(latency=0.05) as (url, server):
        asked = study(tmp_path, url, items=200, processes=2, concurrency=8)
        stopped = threading.Event()

        def once(watched: Any) -> None:
            if not stopped.is_set() and watched.done > 20:
                stopped.set()
                os.kill(os.getpid(), signal.SIGINT)

        outcome = asked.run(watch=once)
        assert outcome.ended == "interrupted"
        assert server.seen <= outcome.done + 1
        time.sleep(0.2)
        assert asked.run().ended == "finished"
        assert server.seen <= 400 + 2
    check(tmp_path, 400)


def test_nothing_is_started_for_a_finished_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as (url, _):
        study(tmp_path, url, items=5).run()
        monkeypatch.setattr(ClientProcesses, "start", None)
        assert study(tmp_path, url, items=5, processes=2).run().done == 0


def test_a_run_may_say_how_many(tmp_path: Path) -> None:
    with serving() as (url, _):
        study(tmp_path, url, items=5).run(where={"processes": 2})
    (provenance,) = sqlite3.connect(tmp_path / "study" / "responses.db").execute(
        "SELECT provenance FROM sources"
    )
    assert "2 client processes" in provenance[0]


def test_processes_that_cannot_be_asked_are_one_error(tmp_path: Path) -> None:
    make = Maker("http://127.0.0.1:1/v1")
    spread = RemoteModel(make(), Setup(make, identity="another model"), ClientProcesses(2))
    with pytest.raises(ModelError, match="another model"):
        list(spread.answer(iter([request()])))
    spread.close()


def test_a_missing_key_is_said_as_ever() -> None:
    make = Maker("https://api.openai.com/v1")
    make.options |= {"preset": "openai", "key": "NO_SUCH_API_KEY"}
    spread = RemoteModel(make(), Setup(make), ClientProcesses(2))
    with pytest.raises(MissingKey):
        spread.check_key()


def test_one_call_at_a_time_needs_one_process() -> None:
    with pytest.raises(SpecError, match="one call at a time"):
        OpenAICompatible(model="m", preset="llamacpp_server", mode="repeatable", processes=2)
    assert OpenAICompatible(model="m", base_url="http://h/v1", processes=4, concurrency=3).clients(None) == 3
