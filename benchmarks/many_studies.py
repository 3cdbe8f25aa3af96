"""Five tasks × three models × 16 prompts × 200 items on function models: run, measured, reported.

    python benchmarks/many_studies.py [ITEMS]

The same 48,000 calls are run as one collection and, in folders of their own, study by study; the ratio of
their speeds is what the collection costs. The limits: no slower than a study, and 60 s for the report.
"""

from __future__ import annotations

import csv
import json
import sys
import tempfile
import time
from hashlib import blake2b
from pathlib import Path

import quaver
from quaver.study.session import Study

TASKS, MODELS, PROMPTS, ITEMS = 5, {"small": 0.5, "middle": 7.0, "large": 70.0}, 16, 200
LABELS = ("positive", "negative", "neutral")


def annotator(size: float):
    """Errs the more rarely the larger it is, on other items with each prompt."""
    share = 0.35 / size**0.25

    def annotate(text: str, prompt: str) -> str:
        right = LABELS.index(text.split()[-1])
        seen = int.from_bytes(blake2b(prompt.encode(), digest_size=4).digest()) / 2**32
        return LABELS[(right + 1) % 3] if seen < share else LABELS[right]

    return annotate


FUNCTIONS = {name: annotator(size) for name, size in MODELS.items()}


def written(folder: Path, items: int) -> Path:
    folder.mkdir(parents=True)
    for task in range(TASKS):
        with (folder / f"task{task}.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(("id", "text", "truth"))
            for at in range(items):
                truth = LABELS[(at * (task + 2)) % 3]
                rows.writerow((f"t{task}-{at}", f"Text {at} of task {task} is {truth}", truth))
    tones = [f"tone{n}" for n in range(4)]
    document = {
        "name": "five tasks",
        "shared": {
            "task": {"labels": list(LABELS)},
            "items": {"id": "id", "text": "{{ text }}", "gold": "truth"},
            "prompt": {"instruction": "Which one is it?"},
            "models": [{"name": name, "use": "function"} for name in MODELS],
            "variants": [
                {
                    "use": "factors",
                    "factors": {"tone": tones, "detail": ["none", "some", "more", "most"]},
                    "parts": {
                        name: {"text": f"Words that say {name}.", "when": {factor: name}}
                        for factor, names in (("tone", tones[1:]), ("detail", ["some", "more", "most"]))
                        for name in names
                    },
                }
            ],
            "measures": [
                {"use": "accuracy", "by": ["model"]},
                {"use": "compliance", "by": ["model"]},
                {"use": "spread", "by": ["model"], "sizes": MODELS},
                {"use": "factor_effects", "by": ["model"]},
            ],
        },
        "studies": {f"task{n}": {"items": {"source": f"task{n}.csv"}} for n in range(TASKS)},
    }
    path = folder / "tasks.yaml"
    path.write_text(json.dumps(document))
    return path


def main() -> None:
    items = int(sys.argv[1]) if len(sys.argv) > 1 else ITEMS
    with tempfile.TemporaryDirectory() as home:
        path = written(Path(home) / "together", items)
        apart = written(Path(home) / "apart", items)
        quaver.Collection.open(apart)  # writes the studies' files
        started = time.perf_counter()
        each = [
            Study.open(apart.with_name(f"tasks.task{n}.yaml"), functions=FUNCTIONS).run()
            for n in range(TASKS)
        ]
        alone = time.perf_counter() - started
        started = time.perf_counter()
        outcomes = quaver.Collection.open(path, functions=FUNCTIONS).run()
        together = time.perf_counter() - started
        calls = sum(one.done for one in outcomes.values())
        assert calls == sum(one.done for one in each) == TASKS * len(MODELS) * PROMPTS * items
        print(f"{calls:,} calls study by study: {calls / alone:,.0f} calls/s")
        print(f"as one collection: {calls / together:,.0f} calls/s, {alone / together:.2f} times a study's")
        collection = quaver.Collection.open(path, functions=FUNCTIONS)
        started, busy = time.perf_counter(), time.process_time()
        page = collection.report()
        wall, busy = time.perf_counter() - started, time.process_time() - busy
        print(f"measured and reported: {wall:.1f} s, {busy:.1f} s of processor time (at most 60 s)")
        print(f"{page.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
