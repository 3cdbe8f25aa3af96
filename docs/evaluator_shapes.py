"""The tables in docs/evaluators.md that are made from data: shapes of answers by evaluator, and languages.

python docs/evaluator_shapes.py     writes them into the page
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "evaluators.md"
sys.path.insert(0, str(ROOT))

from tests.score.shapes import shapes  # noqa: E402

from quaver.core import registry  # noqa: E402
from quaver.score.annotation import read  # noqa: E402
from quaver.score.parsing.languages import languages  # noqa: E402

EVALUATORS = ("marked_label", "label_match", "answer_markers", "first_label", "exact")


def shapes_table() -> Iterator[str]:
    """By shape: how many of its answers each evaluator reads wrong, and how many labels it loses."""
    counts: dict[str, Counter[str]] = {}
    sizes: Counter[str] = Counter()
    for shape in shapes():
        sizes[shape.name] += 1
        for name in EVALUATORS:
            reading = read(shape.response, registry.load("evaluators", name)(), shape.labels, shape.variant)
            counts.setdefault(name, Counter())[shape.name, shape.outcome(reading)] += 1
    yield "| shape of the answer | answers | " + " | ".join(f"`{name}`" for name in EVALUATORS) + " |"
    yield "| --- " * (2 + len(EVALUATORS)) + "|"
    for shape_name in (*sizes, "all"):
        names = [shape_name] if shape_name != "all" else [*sizes]
        cells = [
            " · ".join(str(sum(counts[name][one, kind] for one in names)) for kind in ("wrong", "lost"))
            for name in EVALUATORS
        ]
        yield f"| {shape_name} | {sum(sizes[one] for one in names)} | " + " | ".join(cells) + " |"


def languages_table() -> Iterator[str]:
    """A row a language: its negations, its words for an answer, how it declines."""
    yield "| language | negations | behind the label | the answer is announced by | declines |"
    yield "| --- | --- | --- | --- | --- |"
    for entry in languages().values():
        cells = (
            ", ".join(entry.get(kind, "").split(", ")[:5]) for kind in ("not", "after", "answer", "sorry")
        )
        yield f"| {entry['name']} | " + " | ".join(cells) + " |"


def written(page: str) -> str:
    """The page with its tables as they are now."""
    for name, rows in (("shapes", shapes_table), ("languages", languages_table)):
        table = "\n".join(rows())
        page = re.sub(
            rf"(<!-- {name} -->\n).*?(<!-- end -->)",
            lambda match, table=table: f"{match[1]}{table}\n{match[2]}",
            page,
            flags=re.DOTALL,
        )
    return page


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
