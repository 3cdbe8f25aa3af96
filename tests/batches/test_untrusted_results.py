"""Providers' replies are untrusted: their sizes, types, ids and addresses."""

import json

import pytest
from tests.batches.cases import CASES, world
from tests.batches.farm import DAY
from tests.batches.gemini_provider import through_lines
from tests.batches.reaching import Answer, Broken
from tests.local_engines import JsonServer

from quaver.errors import ModelError
from quaver.models.served import batch_http

CHANGES = {
    "twice": lambda text: text + text,
    "unknown": lambda text: (
        text.replace(b'_id": "', b'_id": "../', 1).replace(b'"key": "', b'"key": "../', 1) + text
    ),
    "not JSON": lambda text: b"<html>\n[1]\n7\nnull\n" + text,
    "types": lambda text: (
        json.dumps({"custom_id": 1, "key": {}, "response": [], "result": "x"}).encode() + b"\n" + text
    ),
    "deep": lambda text: b"[" * 5000 + b"\n" + text,
}


def is_result(request):
    path = request.path
    is_gemini = path.startswith("/v1beta/batches/") and request.method == "GET"
    return path.endswith(("/content", "/results")) or is_gemini


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("change", CHANGES)
def test_odd_lines_change_no_answer(name, change, tmp_path):
    with world(name, tmp_path / "s") as one:

        def wire(request):
            if not is_result(request):
                return None
            reply, changed = one.provider(request).content, CHANGES[change]
            return Answer(200, through_lines(reply, changed) if name == "gemini" else changed(reply))

        one.wire = wire
        done = one.to_the_end()
        assert (done.ended, done.done, done.errors, one.paid) == ("finished", 12, 0, [1] * 12)


@pytest.mark.parametrize("name", CASES)
def test_results_that_break_off_are_fetched_again(name, tmp_path):
    with world(name, tmp_path / "s") as one:
        cut = []

        def wire(request):
            if not is_result(request) or len(cut) == 2:
                return None
            cut.append(1)
            whole = one.provider(request).content
            return Answer(200, whole[: len(whole) // 2])

        one.wire = wire
        assert one.to_the_end().ended == "finished"
        assert one.paid == [1] * 12


@pytest.mark.parametrize("name", CASES)
def test_results_that_never_end_are_given_up(name, tmp_path, monkeypatch):
    monkeypatch.setattr(batch_http, "MOST_LINE", 1000)
    with world(name, tmp_path / "s") as one:
        one.run()
        one.clock.now += DAY / 2
        one.wire = lambda request: Answer(200, b"x" * 5000) if is_result(request) else None
        assert one.run().ended == "batches"
        one.wire = lambda request: None
        monkeypatch.setattr(batch_http, "MOST_LINE", 2**24)
        assert one.run().done == 12


@pytest.mark.parametrize("name", CASES)
def test_the_key_goes_nowhere_else(name, tmp_path):
    with world(name, tmp_path / "s") as one:
        asked = []
        elsewhere = JsonServer(lambda path, _: asked.append(path))
        sent = [Answer(307, b"", {"location": f"{elsewhere.url}/x"})]
        one.wire = lambda request: sent.pop() if request.method == "POST" and sent else None
        with pytest.raises(ModelError, match="redirects"):
            one.run()
        assert one.to_the_end().ended == "finished"
        elsewhere.close()
        assert asked == []


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"<html>", b'{"data": null}'])
@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_a_reply_that_is_no_list_is_not_an_empty_one(name, content, tmp_path):
    with world(name, tmp_path / "s") as one:
        starts = []

        def wire(request):
            if request.path.endswith("/batches") and request.method == "POST" and not starts:
                starts.append(1)
                one.provider(request)
                raise Broken
            is_list = request.path.endswith("/batches") and request.method == "GET"
            return Answer(200, content) if is_list and len(starts) < 2 else None

        one.wire = wire
        one.run()
        one.clock.now += DAY / 2
        assert one.run().ended == "batches"
        starts.append(1)
        assert one.to_the_end().ended == "finished"
        assert (len(one.farm.jobs), one.paid) == (1, [1] * 12)
