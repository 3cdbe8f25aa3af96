"""Providers' replies are untrusted: their sizes, types, ids and addresses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.batches.cases import CASES, world
from tests.batches.farm import DAY
from tests.batches.reaching import Answer, Asked, Broken
from tests.local_engines import JsonServer

from quaver.errors import ModelError
from quaver.models.served import batch_http

Change = Callable[[bytes], bytes]

CHANGES: dict[str, Change] = {
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


def is_result(request: Asked) -> bool:
    path = request.path
    return path.endswith(("/content", "/results")) or "/download/" in path


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("change", CHANGES)
def test_odd_lines_change_no_answer(name: str, change: str, tmp_path: Path) -> None:
    with world(name, tmp_path / "s") as one:

        def wire(request: Asked) -> Answer | None:
            if not is_result(request):
                return None
            return Answer(200, CHANGES[change](one.provider(request).content))

        one.wire = wire
        done = one.to_the_end()
        assert (done.ended, done.done, done.errors, one.paid) == ("finished", 12, 0, [1] * 12)


@pytest.mark.parametrize("name", CASES)
def test_results_that_break_off_are_fetched_again(name: str, tmp_path: Path) -> None:
    with world(name, tmp_path / "s") as one:
        cut: list[int] = []

        def wire(request: Asked) -> Answer | None:
            if not is_result(request) or len(cut) == 2:
                return None
            cut.append(1)
            whole = one.provider(request).content
            return Answer(200, whole[: len(whole) // 2])

        one.wire = wire
        assert one.to_the_end().ended == "finished"
        assert one.paid == [1] * 12


@pytest.mark.parametrize("name", CASES)
def test_results_that_never_end_are_given_up(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
def test_the_key_goes_nowhere_else(name: str, tmp_path: Path) -> None:
    with world(name, tmp_path / "s") as one:
        asked: list[str] = []
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
def test_a_reply_that_is_no_list_is_not_an_empty_one(name: str, content: bytes, tmp_path: Path) -> None:
    with world(name, tmp_path / "s") as one:
        starts: list[int] = []

        def wire(request: Asked) -> Answer | None:
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
