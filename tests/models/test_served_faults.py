"""A server that faults on purpose: every call ends in one stored answer, and none is asked twice for it."""

import json
import sqlite3
import threading
import time

import pytest
from tests.models.faulty_server import answer_to
from tests.models.serving import Process, free_port, serving

from quaver.errors import ModelError
from quaver.study.session import Study

ITEMS = 300
"""With 600 calls, three in ten of which meet one of fifteen faults, each fault comes about a dozen times."""


def study(folder, url, items=ITEMS, **options):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "items.csv").write_text("id,text\n" + "".join(f"{n},Text {n}.\n" for n in range(items)))
    model = {"name": "s", "use": "openai_compatible", "model": "m", "base_url": url}
    document = {
        "task": {"labels": ["yes", "no"]},
        "items": {"source": str(folder / "items.csv"), "id": "id", "text": "{{ text }}"},
        "prompt": {"instruction": "Is it so?"},
        "models": [model | {"supports": {"seed": True}, "price": 0} | options],
        "decoding": {"d": {"temperature": 1.0}},
        "repeats": 2,
    }
    return Study.open(document, folder=folder / "study")


def stored(folder):
    """Prompt, seed, text, finish and time of every stored response."""
    with sqlite3.connect(folder / "study" / "responses.db") as db:
        rows = db.execute(
            "SELECT p.messages, r.seed, r.text, r.finish, r.received FROM responses r "
            "JOIN prompts p ON p.id = r.prompt"
        ).fetchall()
    return [(json.loads(messages)[-1][1], *rest) for messages, *rest in rows]


def check(folder, calls):
    """Every call has exactly one response, and the right one."""
    rows = stored(folder)
    assert len(rows) == calls
    assert len({(prompt, seed) for prompt, seed, *_ in rows}) == calls
    assert [row for row in rows if row[3] != "stop" or row[2] != answer_to(row[0], row[1])] == []


@pytest.mark.long
def test_every_call_ends_in_one_stored_answer(tmp_path):
    supports = {"seed": True}
    with serving(faults=0.3, latency=0.02, stall=2.0) as (url, server):
        options = {"timeout": 0.4, "retries": 12, "supports": supports}
        outcome = study(tmp_path, url, **options).run()
        assert (outcome.done, outcome.errors) == (2 * ITEMS, 0)
        assert server.seen > len(server.good), "it did fault"
    check(tmp_path, 2 * ITEMS)


def test_what_was_answered_of_a_request_is_kept_when_the_server_rejects_the_rest(tmp_path, monkeypatch):
    monkeypatch.setenv("OTHER_API_KEY", "sk-right-0123456789")
    with serving(key="sk-right-0123456789") as (url, server):
        asked = study(tmp_path, url, items=50, key="OTHER_API_KEY", concurrency=1)

        def revoke_between_two_repeats():
            while len(server.good) < 21:  # ten requests of two calls, and half of one
                time.sleep(0)
            server.key = "sk-other-0123456789"

        server.latency = 0.02
        threading.Thread(target=revoke_between_two_repeats, daemon=True).start()
        with pytest.raises(ModelError, match="the server rejects the key"):
            asked.run()
        kept = len(stored(tmp_path))
        assert kept == len(server.good)
        server.key = "sk-right-0123456789"
        asked.run()
        assert len(server.good) == 100
    check(tmp_path, 100)


@pytest.mark.long
def test_a_server_that_dies_and_comes_back_loses_nothing(tmp_path):
    log = tmp_path / "log"
    server = Process(log, faults=0.1, kinds=["500", "reset"], latency=0.01)
    server.start()

    def dying():
        while not log.exists() or log.stat().st_size < 2000:  # until some calls were answered
            time.sleep(0.02)
        for _ in range(3):
            time.sleep(0.7)
            server.kill()
            time.sleep(0.7)
            server.start()

    chaos = threading.Thread(target=dying, daemon=True)
    chaos.start()
    try:
        options = {"timeout": 2, "retries": 12, "patience": 60, "concurrency": 4}
        outcome = study(tmp_path, server.url, items=500, **options).run()
    finally:
        chaos.join()
        server.kill()
    assert (outcome.done, outcome.errors) == (1000, 0)
    check(tmp_path, 1000)


def test_one_model_that_is_given_up_leaves_the_others_to_finish(tmp_path):
    from quaver.errors import ModelError

    broken = (500, {"error": {"message": "broken"}})
    with serving() as (good, _), serving(always=broken) as (bad, _):
        whole = study(tmp_path, good, items=100)
        document = whole.spec.model_dump(mode="json", exclude_unset=True)
        options = {"model": "m", "patience": 1.0, "retries": 50, "price": 0}
        document["models"].append({"name": "bad", "use": "openai_compatible", "base_url": bad, **options})
        with pytest.raises(ModelError, match="does not answer") as caught:
            Study.open(document, folder=tmp_path / "study").run()
    check(tmp_path, 200)
    assert "200 of 400" in (caught.value.fix or "")
    assert "ended with" in (tmp_path / "study" / "run.log").read_text()


def test_servers_may_run_one_after_another(tmp_path):
    """As on a machine with room for one model at a time."""
    from quaver.errors import Unavailable

    def of_both(first, second):
        document = study(tmp_path, first, items=20, preset="vllm").spec.model_dump(
            mode="json", exclude_unset=True
        )
        document["models"].append(
            {
                "name": "t",
                "use": "openai_compatible",
                "model": "n",
                "preset": "vllm",
                "base_url": second,
                "price": 0,
            }
        )
        return Study.open(document, folder=tmp_path / "study")

    nowhere = f"http://127.0.0.1:{free_port()}/v1"
    with serving() as (url, first):
        seen = []
        with pytest.raises(Unavailable, match="does not answer") as caught:
            of_both(url, nowhere).run(watch=seen.append)
    assert "vllm serve n" in str(caught.value)
    assert "40 of 80" in (caught.value.fix or "")
    assert seen[0].given_up.keys() == {"t"}, "it is told while the other is asked"
    assert "t is given up" in (tmp_path / "study" / "run.log").read_text()
    with serving() as (url, _):
        assert of_both(nowhere, url).run().done == 40, "the first has nothing left to answer"
    assert len(first.good) == 40
    assert of_both(nowhere, nowhere).run().missing == 0
