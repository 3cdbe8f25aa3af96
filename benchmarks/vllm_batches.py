"""What Quaver adds to vLLM: short prompts handed to one engine by Quaver and by a bare loop, in turns.

    .venv-vllm/bin/python -m benchmarks.vllm_batches [MODEL] [PROMPTS]

The bare loop gives the engine all prompts at once and steps until it is done, as vLLM's own ``LLM.generate``
does. Without MODEL it is the bundled one, with its weights unpacked.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from tests.local_engines import unpacked_smollm2

from quaver.models.local.vllm_protocol import sampling
from quaver.models.vllm import VLLM
from quaver.testing.requests import request

ROUNDS = 3


def prompts(count: int, where: int) -> list[Any]:
    """Different in every round, so that none is in the cache of prefixes."""
    return [request(f"Round {where}, text number {n}: the bus was late again.") for n in range(count)]


def bare(model: VLLM, asked: list[Any]) -> None:
    engine = model._load()
    for number, one in enumerate(asked):
        tokens = model._tokens(one.prompt.messages)
        engine.submit(str(number), tokens, sampling(one, engine.vocabulary))
    left = len(asked)
    while left:
        left -= sum(1 for _ in engine.step())


def timed(work: Any) -> tuple[float, float]:
    wall, own = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - own


def main(model: str, count: int) -> None:
    made = VLLM(model=model, context=512, mode="fast")
    list(made.answer(prompts(8, -1)))
    totals = {"bare loop": [0.0, 0.0], "Quaver": [0.0, 0.0]}
    for turn in range(2 * ROUNDS):
        asked = prompts(count, turn)
        ways = {"bare loop": lambda: bare(made, asked), "Quaver": lambda: list(made.answer(asked))}  # noqa: B023
        name = ("bare loop", "Quaver")[turn % 2]
        wall, own = timed(ways[name])
        totals[name] = [totals[name][0] + wall, totals[name][1] + own]
        print(f"{name:10} {count / wall:8.1f} calls/s, {own / count * 1000:.2f} ms of processor time a call")
    wall, own = (totals["bare loop"][i] / totals["Quaver"][i] for i in (0, 1))
    print(
        f"Quaver's speed, that of the bare loop being 1: {wall:.2f} by the clock, {own:.2f} by processor time"
    )
    made.close()


if __name__ == "__main__":
    given = sys.argv[1:]
    main(given[0] if given else str(unpacked_smollm2()), int(given[1]) if len(given) > 1 else 64)
