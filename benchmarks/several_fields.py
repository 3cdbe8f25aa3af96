"""One study of five fields beside five studies of one field, and beside one of a label in words.

    python benchmarks/several_fields.py [--answers N] [--folder FOLDER] [--studies NAMES]

N is 200,000 by default: N/20 texts, 10 prompts, 2 repeats. Every answer is an object with a label, a set, a
scale, a number, and a yes or no. Each study is scored, measured and reported by a process of its own. Prints
the calls, seconds an annotation, the seconds of the measures, the page, and the peak memory.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
from machine import machine
from scoring import Place, answered, fake

PROMPTS, REPEATS = 10, 2
TOPICS = ("tax", "war", "health", "schools")
FIELDS = {
    "tone": "labels: [positive, negative, neutral]",
    "topics": f"labels: [{', '.join(TOPICS)}], several: true",
    "stance": 'labels: ["1", "2", "3", "4", "5"], level: ordinal',
    "amount": "level: ratio",
    "local": "labels: ['yes', 'no']",
}
STUDY = """\
name: fields
task: {task}
items: {{source: ../items.parquet, id: id, text: "{{{{ text }}}}"{gold}}}
prompt: {{instruction: Code this speech.}}
variants:
  - use: instructions
    texts: {{{texts}}}
models: [{{name: fake, use: function}}]
repeats: {repeats}
measures: [accuracy, inter_pss, intra_pss]
"""
WORDS = "{labels: [positive, negative, neutral]}"


def record(draw: random.Random) -> dict[str, Any]:
    """What is true of a text."""
    return {
        "tone": draw.choice(("positive", "negative", "neutral")),
        "topics": [one for one in TOPICS if draw.random() < 0.4],
        "stance": draw.choice("12345"),
        "amount": round(draw.lognormvariate(3, 1)),
        "local": draw.choice(("yes", "no")),
    }


def truth(items: int) -> list[dict[str, Any]]:
    """What is true of every text."""
    draw = random.Random(3)
    return [record(draw) for _ in range(items)]


def write(home: Path, name: str, items: int) -> None:
    """Write a study and an answer to each of its calls, of which one field in seven is of another text."""
    import quaver

    true, draw, folder = truth(items), random.Random(5), home / name
    folder.mkdir(exist_ok=True)
    gold = [one | {"topics": ";".join(one["topics"]) or "[]"} for one in true]
    texts = pl.DataFrame({"id": range(items), "text": [f"Speech {at}" for at in range(items)]})
    pl.concat([texts, pl.DataFrame(gold)], how="horizontal").write_parquet(home / "items.parquet")
    asked = [name] if name in FIELDS else list(FIELDS)
    fields = ", ".join(f"{one}: {{{FIELDS[one]}, gold: {one}}}" for one in asked)
    task = WORDS if name == "words" else f"{{held: false, fields: {{{fields}}}}}"
    prompts = ", ".join(f"p{at}: Code speech in manner {at}." for at in range(1, PROMPTS))
    column = ", gold: tone" if name == "words" else ""
    said = STUDY.format(task=task, texts=prompts, repeats=REPEATS, gold=column)
    (folder / "study.yaml").write_text(said, encoding="utf-8")

    def answers(places: list[Place]) -> Iterator[str]:
        for _, item, _ in places:
            one = {
                key: value if draw.random() < 6 / 7 else draw.choice(true)[key]
                for key, value in true[item].items()
            }
            yield one["tone"] if name == "words" else json.dumps({key: one[key] for key in asked})

    answered(folder, quaver.Study.open(folder / "study.yaml", functions={"fake": fake}), answers)


def measure(folder: Path) -> None:
    """Score, measure and report a study in this process, and print what each took."""
    import quaver

    study = quaver.Study.open(folder / "study.yaml", functions={"fake": fake})
    took: dict[str, float] = {"calls": study.status().answered}
    begun = time.perf_counter()
    rows = study.annotations(lazy=True).select(pl.len()).collect().item()
    took |= {"rows": rows, "scored": time.perf_counter() - begun}
    begun = time.perf_counter()
    took |= {"estimates": len(study.estimates()), "measured": time.perf_counter() - begun}
    begun = time.perf_counter()
    page = study.report()
    took |= {"reported": time.perf_counter() - begun, "page": page.stat().st_size / 1e6}
    memory = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    print(json.dumps(took | {"memory": max(memory) / 1e6}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=200_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--studies", default=",".join(("words", *FIELDS, "all")))
    parser.add_argument("--measure", type=Path)
    asked = parser.parse_args()
    if asked.measure:
        measure(asked.measure)
        return
    print(f"{machine()}; {asked.answers:,} answers")
    with tempfile.TemporaryDirectory() as temporary:
        home, found = asked.folder or Path(temporary), {}
        for name in asked.studies.split(","):
            write(home, name, asked.answers // PROMPTS // REPEATS)
            command = [sys.executable, __file__, "--measure", str(home / name)]
            said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            found[name] = one = json.loads(said.splitlines()[-1])
            print(
                f"{name:>8}: {one['calls']:,} calls, {one['rows']:,} annotations, "
                f"scored in {one['scored']:.1f} s "
                f"({one['scored'] / one['rows'] * 1e6:.1f} µs each), {one['estimates']} estimates in "
                f"{one['measured']:.1f} s, reported in {one['reported']:.1f} s ({one['page']:.1f} MB), "
                f"{one['memory']:.1f} GB",
                flush=True,
            )
    if {"words", *FIELDS, "all"} <= {*found}:
        _compare(found)


def _compare(found: dict[str, dict[str, float]]) -> None:
    """The ratios that the docs claim."""

    def each(name: str) -> float:
        return found[name]["scored"] / found[name]["rows"]

    alone = {what: sum(found[one][what] for one in FIELDS) for what in ("scored", "measured", "reported")}
    print(f"an annotation of five fields is scored in {each('all') / each('words'):.2f} times one in words")
    for what, seconds in alone.items():
        print(f"{what}: {found['all'][what] / seconds:.2f} times as long as five studies")


if __name__ == "__main__":
    main()
