"""How fast stored answers are read: 3,000,000 responses of 20 tokens through one evaluator.

    python benchmarks/scoring.py [--responses N] [--evaluator NAME]

Prints seconds (on the clock and of the processor) and the process's peak memory, for a tenth of the
responses and for all of them: memory is flat where the two peaks are level. No two answers are alike,
which is the worst case for an evaluator (an answer that was read before is remembered).
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from quaver.core import registry
from quaver.core.records import Condition, Item, Label, LabelSet, Response, Variant
from quaver.score.annotation import Annotator, Row, annotate

TEXT = """
the this text voter seems rather mostly to of in about economy government balanced clear tone view because
opinion sentiment strong weak mixed writer reader states says argues claims that is was it and or with from
policy party debate question answer topic however also very much some
"""
LABELS = LabelSet((Label("pos", "positive"), Label("neg", "negative"), Label("neu", "neutral")))
ANSWERS = {"pos": "positive", "neg": "negative", "neu": "neutral"}
OPTIONS = {"pattern": {"pattern": r"(?:is|was) (\w+)"}}
TOKENS, ITEMS, CHUNK = 20, 10_000, 20_000


def chunks(responses: int) -> Iterator[list[Row]]:
    """Answers of twenty words, of which most hold one label somewhere."""
    draw = random.Random(1)
    pool = TEXT.split() * 3 + [label.name for label in LABELS.labels]
    for start in range(0, responses, CHUNK):
        rows = range(start, min(start + CHUNK, responses))
        yield [
            (0, row % ITEMS, row // ITEMS, Response(" ".join(draw.choices(pool, k=TOKENS))), None)
            for row in rows
        ]


def measure(responses: int, evaluator: str, folder: Path) -> tuple[float, float, float]:
    """Seconds on the clock and of the processor, without the making of the answers; peak memory in MB."""
    annotator = Annotator(
        conditions=[Condition("model", "variant", "greedy", responses)],
        items=[Item(str(number), {}) for number in range(ITEMS)],
        variants={"variant": Variant("variant", {}, "", "", "", "", "", ANSWERS)},
        labels=LABELS,
        evaluators={evaluator: registry.load("evaluators", evaluator)(**OPTIONS.get(evaluator, {}))},
    )
    start = seconds()
    for _ in chunks(responses):
        pass
    made = seconds() - start
    start = seconds()
    annotate(chunks(responses), annotator, folder / "annotations.parquet")
    clock, processor = seconds() - start - made
    return clock, processor, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def seconds() -> np.ndarray:
    return np.array([time.perf_counter(), time.process_time()])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--responses", type=int, default=3_000_000)
    parser.add_argument("--evaluator", default="first_label")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for responses in (asked.responses // 10, asked.responses):
            clock, processor, memory = measure(responses, asked.evaluator, Path(folder))
            sys.stdout.write(
                f"{asked.evaluator}: {responses:,} responses in {clock:.1f} s "
                f"({processor:.1f} s of the processor), peak memory {memory:.0f} MB\n"
            )


if __name__ == "__main__":
    main()
