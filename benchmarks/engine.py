"""The embedded engine: Quaver's calls a second against plain loops, and prefill against its limit.

    python benchmarks/engine.py           # everything
    python benchmarks/engine.py sorted    # against the sorted loop alone, some five minutes

The plain loop sends the same prompts to the same engine one call at a time with the cache off; the sorted
loop sends them in order of their text with the cache on, to the engine as it comes: with its own number of
threads, which spin, and nothing read alone. The limit of prefill is the number of different prefixes, in
tokens, that the prompts have together.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

from machine import machine

from quaver.core.calls import Message, Request
from quaver.design.calls.call_plan import Plan
from quaver.design.calls.experiment import Experiment, resolve
from quaver.design.spec.study_file import read_study
from quaver.models.llamacpp import LlamaCpp
from quaver.models.local.weights import find_weights

MODEL = "smollm2-135m-instruct"
REPEATS = 30
PROFILE = (
    "I am {{ age }} years old and live in {{ place }}. I {{ education }}. My household earns "
    "{{ earnings }} a year. I watch the news on TV {{ news }}. I call myself {{ party }}."
)
PARAPHRASES = [
    "Does this voter choose Bill Clinton or Bob Dole?",
    "Who gets this voter's vote, Bill Clinton or Bob Dole?",
    "Bill Clinton or Bob Dole: who is this voter's choice for president?",
]
FORMATS = {
    "names": {"postfix": "Answer with one word, Clinton or Dole."},
    "digits": {"postfix": "Answer with one digit, 0 for Clinton or 1 for Dole."},
    "letters": {"postfix": "Answer with one letter, A for Clinton or B for Dole."},
    "swapped": {"postfix": "Answer with one letter, A for Dole or B for Clinton."},
}


class Counted(LlamaCpp):
    """Counts the prompt tokens that the engine reads."""

    read = 0

    def _send(self, messages: tuple[Message, ...], body: dict[str, Any]) -> dict[str, Any]:
        reply = super()._send(messages, body)
        self.read += int(reply["timings"]["prompt_n"])
        return reply


def experiment(items: int, layout: str, decoding: dict[str, Any], paraphrases: Sequence[str]) -> Experiment:
    """Voters of 1996 asked in some paraphrases and four formats."""
    first, *others = paraphrases
    spec, source = read_study(
        {
            "task": {"labels": ["Clinton", "Dole"]},
            "items": {"source": "anes96", "sample": items, "text": PROFILE},
            "prompt": {"instruction": first, "layout": layout},
            "variants": [
                {"use": "instructions", "texts": {str(n): text for n, text in enumerate(others)}},
                {"use": "prompts", "factor": "format", "prompts": FORMATS},
            ],
            "models": [{"name": "m", "use": "llamacpp", "model": MODEL}],
            "decoding": {"d": decoding},
        }
    )
    return resolve(spec, source)


TEXT_FIRST = "Voter: {{ text }}\nQuestion: {{ instruction }}\n{{ postfix }}\nAnswer:"
INSTRUCTION_FIRST = "{{ instruction }} {{ postfix }}\nVoter: {{ text }}\nAnswer:"


def requests_of(made: Experiment, model: LlamaCpp) -> list[Request]:
    return list(Plan(made, {"m": model.identity()}).requests("m"))


def repeats(mode: str) -> None:
    """Thirty one-token samples of each prompt, against the plain loop."""
    model = LlamaCpp(model=MODEL, context=512, mode=mode)  # type: ignore[arg-type]
    made = experiment(3, TEXT_FIRST, {"temperature": 1, "max_tokens": 1, "repeats": REPEATS}, PARAPHRASES[:1])
    requests = requests_of(made, model)
    model.prepare(REPEATS)
    list(model.answer(requests[:1]))
    model._last_read = ()
    started = time.perf_counter()
    calls = sum(len(responses) for _, responses in model.answer(requests[1:]))
    ours = calls / (time.perf_counter() - started)
    model.close()
    plain, each = plain_loop(requests[1:])
    print(f"  {mode:10}  {ours:7.1f} calls/s  plain loop {plain:5.2f} calls/s  ratio {ours / plain:5.1f}")
    print(f"  {'':10}  ({calls} calls of {len(requests) - 1} prompts; {each:.0f} tokens a prompt)")


def plain_loop(requests: Sequence[Request]) -> tuple[float, float]:
    """Single calls with the cache off: calls a second, and tokens a prompt."""
    model = LlamaCpp(model=MODEL, context=512)
    model._load()
    body = {
        "temperature": 1.0,
        "top_p": 1.0,
        "top_k": 0,
        "min_p": 0.0,
        "max_tokens": 1,
        "cache_prompt": False,
    }
    model._send(requests[0].prompt.messages, body)
    started, tokens = time.perf_counter(), 0
    for request in requests:
        for seed in range(2):
            reply = model._send(request.prompt.messages, body | {"seed": seed})
            tokens += reply["usage"]["prompt_tokens"]
    seconds = time.perf_counter() - started
    return 2 * len(requests) / seconds, tokens / 2 / len(requests)


def prefill(name: str, layout: str) -> None:
    """20 items × 12 prompts, greedy, one token: calls a second, and tokens read over distinct prefixes."""
    made = experiment(20, layout, {"max_tokens": 1}, PARAPHRASES)
    model = Counted(model=MODEL, context=512)
    requests = requests_of(made, model)
    model.prepare(1)
    limit = distinct_prefixes(model, requests)
    list(model.answer(requests[-1:]))
    model.read = 0
    started = time.perf_counter()
    calls = sum(len(responses) for _, responses in model.answer(requests))
    seconds = time.perf_counter() - started
    model.close()
    print(
        f"  {name:17}  {calls / seconds:5.1f} calls/s  {model.read:6} tokens read, "
        f"{limit:6} distinct prefixes  ratio {model.read / limit:.3f}"
    )


def sorted_loop() -> None:
    """20 items × 12 prompts, greedy, one token, text first: Quaver and the raw engine in turn."""
    ratios = []
    for _ in range(3):
        # Each in a process of its own: how threads wait is decided when the engine is first loaded.
        quaver, engine = (_alone(which) for which in ("ours", "raw"))
        ratios.append(quaver / engine)
        load = f"  load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
        print(f"  {quaver:5.2f} calls/s  raw engine {engine:5.2f} calls/s  ratio {ratios[-1]:.2f}{load}")
    print(f"  median ratio {statistics.median(ratios):.2f} (at least 0.8 on an idle machine)")


def _alone(which: str) -> float:
    done = subprocess.run([sys.executable, __file__, which], check=True, capture_output=True, text=True)
    return float(done.stdout)


def ours() -> float:
    """Calls a second of Quaver's engine, loading not counted."""
    model = LlamaCpp(model=MODEL, context=512)
    requests = requests_of(experiment(20, TEXT_FIRST, {"max_tokens": 1}, PARAPHRASES), model)
    model.prepare(1)
    list(model.answer(requests[-1:]))
    started = time.perf_counter()
    calls = sum(len(responses) for _, responses in model.answer(requests))
    return calls / (time.perf_counter() - started)


def raw() -> float:
    """Calls a second of the engine as it comes, with the same prompts in order of their text."""
    import xllamacpp

    named = LlamaCpp(model=MODEL, context=512)
    requests = requests_of(experiment(20, TEXT_FIRST, {"max_tokens": 1}, PARAPHRASES), named)
    prompts = [[message._asdict() for message in one.prompt.messages] for one in requests]
    prompts.sort(key=lambda messages: [message["content"] for message in messages])
    params = xllamacpp.CommonParams()
    params.model.path, params.n_ctx, params.n_parallel = str(find_weights(MODEL)), 512, 1
    params.warmup, params.verbosity = False, -1
    server = xllamacpp.Server(params)
    body = {"temperature": 0, "max_tokens": 1, "cache_prompt": True, "id_slot": 0, "stream": False}
    server.handle_chat_completions(body | {"messages": prompts[-1]})
    started = time.perf_counter()
    for messages in prompts:
        server.handle_chat_completions(body | {"messages": messages})
    return len(prompts) / (time.perf_counter() - started)


def distinct_prefixes(model: LlamaCpp, requests: Sequence[Request]) -> int:
    """Nodes of the tree of all prompts' tokens."""
    seen: set[int] = set()
    for request in requests:
        messages = [message._asdict() for message in request.prompt.messages]
        text = model._http("/apply-template", {"messages": messages})["prompt"]
        body = {"content": text, "add_special": True, "parse_special": True}
        state = 0
        for token in model._http("/tokenize", body)["tokens"]:
            state = hash((state, token))
            seen.add(state)
    return len(seen)


def main(only: str) -> None:
    if only in ("ours", "raw"):
        print({"ours": ours, "raw": raw}[only]())
        return
    print(f"Embedded engine, {MODEL} on {machine()}")
    print("20 items × 12 prompts, one greedy token, text first, against a sorted loop of the raw engine:")
    sorted_loop()
    if only == "sorted":
        return
    print(f"{REPEATS} repeats of one-token answers:")
    repeats("repeatable")
    repeats("fast")
    print("20 items × 12 prompts, one greedy token, repeatable:")
    prefill("text first", TEXT_FIRST)
    prefill("instruction first", INSTRUCTION_FIRST)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
