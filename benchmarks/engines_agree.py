"""Whether the engines give the same answers with the same weights, and how far apart their numbers are.

    .venv-heavy/bin/python benchmarks/engines_agree.py [items] [word | letter | why] [vLLM's address]

``word`` and ``letter`` ask for a label, as an annotation study does, and only ``letter`` for one that is one
token, whose probability can be compared; ``why`` lets the model write eight tokens of its own, where many
continuations are about as likely and engines part sooner.

One GGUF file is asked about voters of 1996 by llama.cpp in process, by llama.cpp's HTTP server, and by vLLM's
server, which has the file unpacked to float32. llama.cpp does not unpack: it rounds the activations to eight
bits too, to multiply them with the packed weights. So a last engine is llama.cpp with the file unpacked:
what then remains between it and vLLM is not that rounding.

vLLM's server takes part where its address is given; ``benchmarks/checkpoint.py`` writes the weights as it
reads them, and says how to start it. It gives 20 log-probabilities, not 500, so its labels' probabilities are
compared over those.
"""

from __future__ import annotations

import math
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from machine import machine

from quaver.core.calls import Request, Response, Token
from quaver.core.model import Model
from quaver.design.calls.call_plan import Plan
from quaver.design.calls.experiment import resolve
from quaver.design.spec.study_file import read_study
from quaver.models.llamacpp import LlamaCpp
from quaver.models.local.weights import find_weights
from quaver.models.openai_compatible import OpenAICompatible
from quaver.score.evaluators.stated_confidence import label_masses

MODEL = "smollm2-135m-instruct"
LABELS = {"a": ("clinton",), "b": ("dole",)}
QUESTIONS = {
    "word": {
        "system": "You are a survey. You answer with one word.",
        "layout": "Voter: {{ text }}\nQuestion: {{ question }}\nAnswer:",
        "instruction": "Does this voter choose Bill Clinton or Bob Dole?",
        "postfix": "Answer with one word, Clinton or Dole.",
    },
    "letter": {
        "system": "You are a survey. You answer with one letter.",
        "layout": "Voter: {{ text }}\nQuestion: {{ question }}\nAnswer:",
        "instruction": "Does this voter choose Bill Clinton or Bob Dole?",
        "postfix": "Answer with one letter, A for Clinton or B for Dole.",
        "answers": {"clinton": "A", "dole": "B"},
    },
    "why": {
        "instruction": "Does this voter choose Bill Clinton or Bob Dole?",
        "postfix": "Name one of the two and say in a few words why.",
    },
}
STUDY = {
    "task": {"labels": [{"code": "clinton", "name": "Clinton"}, {"code": "dole", "name": "Dole"}]},
    "items": {
        "source": "anes96",
        "text": "I am {{ age }} years old and live in {{ place }}. I {{ education }}. I watch the news on TV "
        "{{ news }}. I call myself {{ party }}, and my views are {{ ideology }}.",
    },
    "decoding": {"greedy": {"temperature": 0, "max_tokens": 8, "logprobs": 500}},
    "models": [{"name": "m", "use": "function"}],
}


@dataclass(frozen=True)
class Agreement:
    """How far one engine's answers are from another's.

    Attributes:
        items: How many were asked about.
        same: How many greedy answers are the same to the last character.
        first: How many have the same first token.
        label: Differences of the probability of A, over that of A and B, an item each (``letter``).
        token: Differences of the log-probability of the first token that either found likeliest.
        margins: Where answers part: the lead of the token that was taken over the other engine's, in
            natural logarithms, on the first engine.
    """

    items: int
    same: int
    first: int
    label: list[float]
    token: list[float]
    margins: list[float]


def requests(items: int, question: str = "word") -> list[Request]:
    """One question about each of some voters."""
    study = STUDY | {"items": {**STUDY["items"], "sample": items}, "prompt": QUESTIONS[question]}  # type: ignore[dict-item]
    experiment = resolve(*read_study(study))
    return list(Plan(experiment, {"m": "any"}).requests("m"))


def answers(model: Model, asked: Iterable[Request]) -> list[Response]:
    """Each request's response, in order."""
    found = {id(request): responses[0] for request, responses in model.answer(asked)}
    return [found[id(request)] for request in asked]


def served(model: LlamaCpp, asked: Iterable[Request], mode: Literal["repeatable", "fast"]) -> list[Response]:
    """The same through the HTTP server that llama.cpp has: several at once, or so that it repeats itself."""
    model._load()
    url = f"{model._server.listening_address}/v1"
    outside = OpenAICompatible(model=MODEL, preset="llamacpp_server", base_url=url, mode=mode)
    return answers(outside, asked)


def by_vllm(url: str, asked: Iterable[Request]) -> list[Response]:
    """The same by vLLM's server, which gives fewer log-probabilities."""
    fewer = [one._replace(decoding=replace(one.decoding, logprobs=20)) for one in asked]
    return answers(OpenAICompatible(model=MODEL, preset="vllm", base_url=url), fewer)


def agreement(ones: list[Response], others: list[Response], question: str) -> Agreement:
    """Compare two engines item by item."""
    label, token, margins, first = [], [], [], 0
    for one, other in zip(ones, others, strict=True):
        here, there = one.tokens[0], other.tokens[0]
        first += here.text == there.text
        if question == "letter":
            label.append(abs(_share(here) - _share(there)))
        known = dict(there.top)
        token.append(abs(here.top[0][1] - known.get(here.top[0][0], -math.inf)))
        if one.text != other.text:
            margins.append(_margin(one, other))
    same = sum(one.text == other.text for one, other in zip(ones, others, strict=True))
    return Agreement(len(ones), same, first, label, token, margins)


def _share(token: Token) -> float:
    masses, _ = label_masses(token, LABELS)
    return masses.get("clinton", 0.0) / sum(masses.values())


def _margin(one: Response, other: Response) -> float:
    """By how much the first engine preferred its own token to the other's, where they part."""
    for here, there in zip(one.tokens, other.tokens, strict=False):
        if here.text != there.text:
            return here.logprob - dict(here.top).get(there.text, -math.inf)
    return 0.0


def unpacked(folder: Path) -> Path:
    """The same weights as float32 numbers in a GGUF file."""
    import gguf

    reader = gguf.GGUFReader(find_weights(MODEL))
    path = folder / "float32.gguf"
    writer = gguf.GGUFWriter(path, reader.fields["general.architecture"].contents())
    for field in reader.fields.values():
        if field.name not in ("general.architecture", "general.file_type") and "." in field.name:
            if field.name.startswith("GGUF."):
                continue
            inner = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(field.name, field.contents(), field.types[0], sub_type=inner)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, gguf.dequantize(tensor.data, tensor.tensor_type))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def compare(items: int, question: str, vllm: str = "") -> Mapping[str, Agreement]:
    """Every engine against llama.cpp in process, and those that unpack against the unpacked file."""
    asked = requests(items, question)
    found: dict[str, list[Response]] = {}
    with tempfile.TemporaryDirectory() as folder:
        whole = str(unpacked(Path(folder)))
        engines = {
            "llamacpp": LlamaCpp(model=MODEL, context=512),
            "llamacpp, unpacked": LlamaCpp(model=whole, context=512),
        }
        for name, model in engines.items():
            started = time.perf_counter()
            found[name] = answers(model, asked)
            print(f"{name}: {time.perf_counter() - started:.0f} s, loading included", flush=True)
            model.close()
        server = LlamaCpp(model=MODEL, context=512)
        found["llama.cpp's server"] = served(server, asked, "fast")
        found["llama.cpp's server, repeatable"] = served(server, asked, "repeatable")
        server.close()
    pairs = [("llamacpp", name) for name in found if name != "llamacpp"]
    if vllm:
        found["vLLM's server"] = by_vllm(vllm, asked)
        pairs += [("llamacpp", "vLLM's server"), ("llamacpp, unpacked", "vLLM's server")]
    return {f"{one} and {other}": agreement(found[one], found[other], question) for one, other in pairs}


def main() -> None:
    """Print the table of docs/engines.md."""
    items = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    question = sys.argv[2] if len(sys.argv) > 2 else "word"
    vllm = sys.argv[3] if len(sys.argv) > 3 else ""
    print(f"{machine()}; {MODEL}, {items} voters, question {question!r}, greedy answers of up to 8 tokens")
    print(
        "| engines | same answer | same first token | label probability, mean (largest) difference |", end=""
    )
    print(" likeliest token's log-probability, mean | margins where answers part |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, one in compare(items, question, vllm).items():
        label = f"{statistics.mean(one.label):.4f} ({max(one.label):.4f})" if one.label else "–"
        margins = ", ".join(f"{margin:.3f}" for margin in sorted(one.margins)) or "–"
        print(
            f"| {name} | {one.same} of {one.items} | {one.first} | {label} | "
            f"{statistics.mean(one.token):.4f} | {margins} |"
        )


if __name__ == "__main__":
    main()
