"""Is the verdict on a model that thinks aloud that on the same labels alone?

    python benchmarks/thinking_aloud.py [--studies N]

A model answers 60 texts under four prompts, twice. In a share of its answers the label stands behind a
sentence that names another one, in one of five shapes. Each study is judged beside the same one whose
answers are labels alone. Prints how many verdicts differ, by shape and share.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter
from hashlib import blake2b
from pathlib import Path

import polars as pl

import quaver

LABELS = ("favor", "against", "none")
SHAPES = {
    "a bold field": "At first sight one could read this as {other}. But the author turns it around.\n\n"
    "**Label:** {label}",
    "steps, then an answer": "Let me think step by step. Some would call that {other}. What follows says "
    "something else.\n\nAnswer: {label}",
    "JSON": '{{"reasoning": "It could be {other} at first, but the end decides.", "label": "{label}"}}',
    "therefore": "The first half sounds like {other}. The second does not. Therefore, the answer is {label}.",
    "marked thinking": "<think>Is this {other}? It seems so, but the end decides.</think>\n{label}",
}
SHARES = (0.1, 0.3, 0.6, 1.0)
RIGHT = (0.98, 0.9, 0.8)
"""How often the model is right, in turn: models to use, to doubt and to leave."""


def chance(*parts: object) -> float:
    """A number from 0 to 1 that depends on the parts alone."""
    return int.from_bytes(blake2b(repr(parts).encode(), digest_size=8).digest(), "big") / 2**64


def verdict(seed: int, shape: str, share: float) -> str:
    """The verdict on one study."""
    draw = random.Random(seed)
    truth = {f"this is text {n} of study {seed}": draw.choice(LABELS) for n in range(60)}

    def model(text: str, prompt: str) -> str:
        label = truth[text]
        if chance(seed, text) > RIGHT[seed % 3]:
            label = LABELS[(LABELS.index(label) + 1) % 3]
        if chance(seed, text, prompt) < 0.02:
            label = LABELS[(LABELS.index(label) + 2) % 3]
        other = LABELS[(LABELS.index(label) + 1 + int(2 * chance(text))) % 3]
        aloud = chance(seed, text, prompt, "aloud") < share
        return SHAPES[shape].format(label=label, other=other) if aloud else label

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "texts.csv"
        pl.DataFrame({"text": [*truth], "stance": [*truth.values()]}).write_csv(path)
        options = {"gold": "stance", "labels": LABELS, "prompts": 4, "repeats": 2}
        return quaver.check(path, model=model, yes=True, **options).verdict.kind


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--studies", type=int, default=20, help="of each shape and share")
    studies = parser.parse_args().studies
    alone = [verdict(seed, "JSON", 0) for seed in range(studies)]
    print(f"the labels alone: {dict(Counter(alone))}")
    for shape in SHAPES:
        for share in SHARES:
            differ = sum(verdict(seed, shape, share) != alone[seed] for seed in range(studies))
            print(
                f"{shape:22} in {share:4.0%} of the answers: {differ} of {studies} verdicts differ",
                flush=True,
            )


if __name__ == "__main__":
    main()
