"""vLLM in process: how requests are handed over, with an engine of a few lines; and vLLM itself (heavy)."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.extras import needs

from quaver.collect.run.model_answers import engine_noise, probes
from quaver.core.records import Message, Prompt, Request
from quaver.errors import ModelError, Unavailable, UnknownName
from quaver.models import vllm
from quaver.models.local.checkpoint import Checkpoint
from quaver.models.local.vllm_protocol import MORE_ARGUMENTS, Device
from quaver.models.vllm import VLLM
from quaver.testing.requests import TEXTS, ask, one, request

H200, T4 = Device("cuda", "H200", (9, 0)), Device("cuda", "T4", (7, 5))


class PlayedEngine:
    """Writes one answer a step, the last that it was given, and notes what is done with it."""

    made: list[PlayedEngine]
    longest, vocabulary = 100, 1000

    def __init__(self, name: str, arguments: dict[str, Any], *, invariant: bool) -> None:
        self.name, self.arguments, self.invariant = name, arguments, invariant
        self.open: dict[str, dict[str, Any]] = {}
        self.aborted: list[str] = []
        self.closed, self.most = False, 0
        self.made.append(self)

    def submit(self, name: str, tokens: list[int], asked: dict[str, Any]) -> None:
        assert not self.closed
        self.open[name] = asked
        self.most = max(self.most, sum(one["n"] for one in self.open.values()))

    def step(self) -> Iterator[tuple[str, Any]]:
        name, asked = self.open.popitem()
        if asked["max_tokens"] == 13:
            raise ModelError("out of memory")
        outputs = [
            SimpleNamespace(index=n, text=f"{n}", finish_reason="stop", token_ids=[1], logprobs=None)
            for n in range(asked["n"])
        ]
        yield name, SimpleNamespace(outputs=outputs, prompt_token_ids=[1, 2], num_cached_tokens=0)

    def abort(self, names: list[str]) -> None:
        self.aborted += names
        self.open.clear()

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[PlayedEngine]]:
    PlayedEngine.made = []
    monkeypatch.setattr(vllm, "Engine", PlayedEngine)
    monkeypatch.setattr(vllm, "require", lambda *_: None)
    monkeypatch.setattr(vllm, "vllm_device", lambda: H200)
    monkeypatch.setattr(
        Checkpoint, "tokens", lambda _, messages: list(range(len(messages[0].content.partition("\n")[0])))
    )
    yield PlayedEngine.made
    monkeypatch.setattr(VLLM, "_holder", None)


def played(tmp_path: Path, name: str = "one", **options: Any) -> VLLM:
    folder = tmp_path / name
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps({"name": name}))
    return VLLM(model=str(folder), **options)


def test_the_engine_is_given_more_the_more_it_answers(tmp_path: Path, engines: list[PlayedEngine]) -> None:
    drawn = 0

    def source() -> Iterator[Request]:
        nonlocal drawn
        for _ in range(3000):
            drawn += 1
            yield request()

    answers = played(tmp_path, batch=100).answer(source())
    next(answers)
    assert drawn <= 9
    ahead = []
    for number, _ in enumerate(answers, 2):
        ahead.append(drawn - number)
        assert drawn <= 2 * number + 8, "twice what was answered, at most"
    assert max(ahead) <= engines[0].most == 200, "twice as many as it writes at once"
    assert drawn == 3000


def test_samples_count_as_answers(tmp_path: Path, engines: list[PlayedEngine]) -> None:
    asked = [request(repeats=range(4), temperature=1.0) for _ in range(20)]
    answers = ask(played(tmp_path), *asked)
    assert all([response.text for response in found] == ["0", "1", "2", "3"] for found in answers)
    first = played(tmp_path, "other").answer(iter(asked))
    next(first)
    assert engines[1].most == 8, "two requests of four samples"
    first.close()  # type: ignore[attr-defined]


def test_what_was_in_flight_is_given_up_when_the_answers_are(
    tmp_path: Path, engines: list[PlayedEngine]
) -> None:
    model = played(tmp_path)
    answers = model.answer(request() for _ in range(100))
    next(answers)
    answers.close()  # type: ignore[attr-defined]
    assert len(engines[0].aborted) == 7
    assert one(model, request()).text == "0", "it can be asked again"
    assert len(engines) == 1


def test_a_prompt_that_is_too_long_never_reaches_the_engine(
    tmp_path: Path, engines: list[PlayedEngine]
) -> None:
    (before,), failed, (after,) = ask(
        played(tmp_path), request(), request("x" * 100, repeats=(0, 1)), request()
    )
    assert [response.error for response in failed] == [
        "context overflow: the prompt has 100 tokens, the context 100"
    ] * 2
    assert before.text == after.text == "0"


def test_a_process_has_one_engine(tmp_path: Path, engines: list[PlayedEngine]) -> None:
    first, second = played(tmp_path, "first"), played(tmp_path, "second")
    one(first, request())
    one(second, request())
    assert [engine.closed for engine in engines] == [True, False]
    one(first, request())
    assert [engine.closed for engine in engines] == [True, True, False]
    second.close()
    first.close()
    first.close()
    assert all(engine.closed for engine in engines)


def test_an_engine_that_failed_is_loaded_anew(tmp_path: Path, engines: list[PlayedEngine]) -> None:
    model = played(tmp_path)
    with pytest.raises(ModelError, match="memory"):
        one(model, request(max_tokens=13))
    assert engines[0].closed
    assert one(model, request()).text == "0"
    assert len(engines) == 2


def test_the_mode_decides_the_kernels(tmp_path: Path, engines: list[PlayedEngine]) -> None:
    one(played(tmp_path), request())
    one(played(tmp_path, mode="fast"), request())
    assert [engine.invariant for engine in engines] == [True, False]


def test_a_gpu_without_such_kernels_is_one_error_that_names_it(
    tmp_path: Path, engines: list[PlayedEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vllm, "vllm_device", lambda: T4)
    with pytest.raises(ModelError) as caught:
        one(played(tmp_path), request())
    assert caught.value.where == "mode: repeatable"
    assert "T4" in str(caught.value.found)
    assert "7.5" in str(caught.value.found)
    assert "mode: fast" in str(caught.value.fix)
    assert one(played(tmp_path, mode="fast"), request()).text == "0"


def test_identity_is_of_what_changes_answers(tmp_path: Path, engines: list[PlayedEngine]) -> None:
    plain = played(tmp_path).identity()
    assert played(tmp_path, batch=4, context=50, memory=0.5, parallel=2).identity() == plain
    others = [
        played(tmp_path, mode="fast"),
        played(tmp_path, dtype="float32"),
        played(tmp_path, engine={"quantization": "fp8"}),
        played(tmp_path, "other"),
    ]
    assert len({plain, *(other.identity() for other in others)}) == 5


def test_a_subclass_may_allow_more_than_a_study(tmp_path: Path, engines: list[PlayedEngine]) -> None:
    class Trusting(VLLM):
        allowed = (*VLLM.allowed, "trust_remote_code")

    folder = played(tmp_path)._checkpoint.name
    one(Trusting(model=folder, engine={"trust_remote_code": True}), request())
    assert engines[0].arguments["trust_remote_code"] is True
    with pytest.raises(UnknownName):
        VLLM(model=folder, engine={"trust_remote_code": True})


def test_a_gguf_file_is_refused_when_it_is_named(tmp_path: Path, engines: list[PlayedEngine]) -> None:
    (tmp_path / "a.gguf").write_bytes(b"")
    with pytest.raises(ModelError, match="GGUF") as caught:
        VLLM(model=str(tmp_path / "a.gguf"))
    assert "llamacpp" in str(caught.value.fix)


def test_without_the_extra_it_says_how_to_get_it_and_imports_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quaver.models.local.extras.find_spec", lambda _: None)
    with pytest.raises(Unavailable) as caught:
        VLLM(model="org/name")
    assert caught.value.fix == 'pip install "quaver[vllm]"'
    loaded = "import sys, quaver.models.vllm; print({'torch', 'transformers', 'vllm'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


# ---------------------------------------------------------------------------- vLLM itself

SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"label": {"type": "string", "enum": ["yes", "no"]}},
        "required": ["label"],
        "additionalProperties": False,
    }
)


@pytest.fixture(scope="module")
def fast() -> Iterator[VLLM]:
    from tests.local_engines import unpacked_smollm2

    made = VLLM(model=str(unpacked_smollm2()), context=512, dtype="float32", mode="fast")
    yield made
    made.close()


def heavy(test: Any) -> Any:
    for mark in needs("vllm"):
        test = mark(test)
    return test


@heavy
def test_what_it_says_is_what_llama_cpp_says(fast: VLLM) -> None:
    from quaver.models.llamacpp import LlamaCpp

    asked = [request(text, max_tokens=1, logprobs=20) for text in TEXTS]
    plain = asked[0]._replace(prompt=Prompt((Message("plain", "The capital of France is"),), "", ""))
    here = ask(fast, *asked, plain)
    there = ask(LlamaCpp(model="smollm2-135m-instruct", context=256), *asked, plain)
    assert here[-1][0].text == there[-1][0].text == " Paris"
    for (found,), (expected,) in zip(here, there, strict=True):
        assert found.prompt_tokens == expected.prompt_tokens
        known = dict(expected.tokens[0].top)
        shared = [(logprob, known[text]) for text, logprob in found.tokens[0].top if text in known]
        assert len(shared) >= 15
        assert sum(abs(one - other) for one, other in shared) / len(shared) < 0.15


@heavy
def test_the_arguments_that_a_study_may_give_are_the_engines() -> None:
    from vllm.engine.arg_utils import EngineArgs

    assert {*MORE_ARGUMENTS} <= {field.name for field in fields(EngineArgs)}


@heavy
def test_constraints_hold_beside_each_other(fast: VLLM) -> None:
    choosing = request(choices=("1", "10", "2"), constraint="labels", max_tokens=8, logprobs=4)
    shaped = request(max_tokens=60)._replace(schema=SCHEMA)
    (choice,), (free,), (form,) = ask(fast, choosing, request(max_tokens=3), shaped)
    assert choice.text in ("1", "10", "2")
    assert sum(math.exp(logprob) for _, logprob in choice.tokens[0].top) == pytest.approx(1, abs=1e-4)
    assert json.loads(form.text)["label"] in ("yes", "no")
    assert free.completion_tokens == 3


@heavy
def test_repeats_have_seeds_of_their_own_wherever_they_are_asked(fast: VLLM) -> None:
    drawn: dict[str, Any] = {"temperature": 1.3, "max_tokens": 6, "seed": 7}
    (together,) = ask(fast, request(repeats=range(6), **drawn))
    alone = ask(fast, *(request(repeats=(repeat,), **drawn) for repeat in range(6)))
    assert len({response.text for response in together}) > 1
    assert [response.text for response in together] == [found.text for (found,) in alone]


@heavy
def test_more_seeded_prompts_than_are_read_at_once(fast: VLLM) -> None:
    asked = [
        request("It was late again. " * 40 + text, temperature=1.0, repeats=(0, 1)) for text in TEXTS * 8
    ]
    for responses in ask(fast, *asked):
        assert {response.finish for response in responses} <= {"stop", "length"}


@heavy
def test_an_answer_ends_before_a_stop_and_within_the_context(fast: VLLM) -> None:
    whole = one(fast, request(max_tokens=8)).text
    stopped = one(fast, request(max_tokens=8, stop=(whole[3:5],)))
    assert (stopped.text, stopped.finish) == (whole.partition(whole[3:5])[0], "stop")
    assert one(fast, request(max_tokens=8, repeat_penalty=50.0)).text != whole


@heavy
def test_a_shared_beginning_is_read_once(fast: VLLM) -> None:
    long = "The council met again and nothing was decided. " * 30
    first, second = one(fast, request(long)), one(fast, request(long))
    assert (first.cached_tokens or 0) < 128 <= (second.cached_tokens or 0)


@heavy
def test_the_repeatable_mode_gives_the_same_bits_whatever_is_beside_it(fast: VLLM) -> None:
    alone = VLLM(model=fast._checkpoint.name, context=512, dtype="float32")
    for row in engine_noise(alone, probes(2)):
        assert row.other_text == 0
        assert row.identical == row.answers
