"""Computes the published figures of every data set here again, and writes docs/published.md.

Usage: python examples/published/run.py DATA [PAGE]

DATA holds the repositories that the recipes name, as ``git clone`` names their folders; what is not there is
left out, and the page says so. Each folder here has a recipe, ``published.yaml``, and ``about.md``: what the
labels are, a line ``---``, and what Quaver adds. In that, ``{3}`` is the recomputed figure of the recipe's
number 3 with its interval, ``{verdict}`` what Quaver says of the labels today, and ``{gold_drawn}`` the
table of ``gold_drawn.py``.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import gold_drawn
from gathered import imported
from recompute import NAME, Replicated, read_published, recomputed

from quaver.core.number_format import count, rounded

HERE = Path(__file__).parent
SETS: Mapping[str, tuple[str, str]] = {
    "media-bias": ("llm-annotations-annomatic", "labels"),
    "promptstability": ("promptstability", "stance"),
    "promptstability-30": ("promptstability_replication", "mii_original"),
    "vaccines": ("llm_crowd_experts_annotation", "gpt"),
    "moves": ("rhetorical-move-step-analysis-study", "steps_100_times"),
    "fluff": ("FluffFinder", "gpt35t_10"),
    "alt-test": ("AltTest", "wax"),
    "judge-bench": ("JUDGE-BENCH", "newsroom_fluency"),
    "relevance": ("prompt-sensitivity-relevance-judgements", "graded"),
}
"""Each set's repository, and the file whose labels the verdict is about."""
HEAD = """# Published labels, read again

This page imports published labels that models gave with many prompts or in many runs, compares the published
figures with those that Quaver computes from the labels, and quotes Quaver's verdict on the labels today. The
recipes, of a few lines each, are in `examples/published/`: each names the files of labels, how they are
imported, and the published figures. The data are not copied here: clone the repositories into a folder, and
`make published DATA=folder` writes this page.

A figure agrees if the recomputed value is within half a unit of the last published decimal. A figure that
differs does not prove a mistake: the publication may count missing labels differently, or use other rows.
Published intervals often treat every answer as independent, although the answers about one text are not; the
last column of each table shows how many times as wide the interval is that resamples texts.

| labels | published figures | agree to the printed digits | differ | undefined |
| --- | --- | --- | --- | --- |
"""


def page(data: Path) -> Iterator[str]:
    """The page: a table of all sets, then a section each."""
    found = {name: section(name, data / folder, file) for name, (folder, file) in SETS.items()}
    yield HEAD
    total = Counter[str]()
    for name, (_, verdicts) in found.items():
        title = (HERE / name / "about.md").read_text(encoding="utf-8").splitlines()[0].removeprefix("## ")
        total.update(verdicts)
        yield f"| {title} | {_cells(verdicts)} |\n"
    share = 100 * total["reproduced"] / max(1, total.total())
    yield f"| all | {_cells(total)} |\n\n{share:.1f}% agree. For each other figure the reason is below.\n"
    for text, _ in found.values():
        yield f"\n{text}"


def _cells(verdicts: Mapping[str, int]) -> str:
    kinds = ("reproduced", "differs", "undefined")
    return " | ".join(str(n) for n in (sum(verdicts.values()), *(verdicts.get(kind, 0) for kind in kinds)))


def section(name: str, folder: Path, file: str) -> tuple[str, Counter[str]]:
    """A set's section, and how many of its figures are what."""
    about = (HERE / name / "about.md").read_text(encoding="utf-8")
    first, _, adds = about.partition("\n---\n")
    if not folder.is_dir():
        return f"{first.strip()}\n\nNot computed: {folder.name} is not in the folder of data.\n", Counter()
    shutil.copy(HERE / name / NAME, folder)
    numbers, absent = recomputed(folder)
    said = {"verdict": verdict(folder, file)} if "{verdict}" in adds else {}
    said |= {str(at): _figure(one) for at, one in enumerate(numbers)}
    if "{gold_drawn}" in adds:
        said["gold_drawn"] = gold_drawn.main(folder.parent)
    text = re.sub(r"\{(\w+)\}", lambda match: said[match[1]], adds.strip())
    left = f"Not computed: {', '.join(f'`{Path(each).name}`' for each in absent)} were not available."
    parts = [first.strip(), *([table(numbers)] if numbers else []), *([left] if absent else []), text]
    return "\n\n".join(parts) + "\n", Counter(one.verdict for one in numbers)


def verdict(folder: Path, file: str) -> str:
    """What Quaver says today of the labels in a file."""
    spec, _ = read_published(folder)
    with tempfile.TemporaryDirectory() as home:
        path = folder / spec.files[file].file
        study = imported(path, Path(home) / "study", spec.files[file].reading, folder)
        return "> " + "\n> ".join(str(study.verdict()).splitlines())


def table(numbers: Sequence[Replicated]) -> str:
    """The published figures by where they stand: how many agree, and by how much the others differ."""
    lines = ["| figure | published | agree | largest difference | Quaver's intervals, times as wide |"]
    lines.append("| --- | --- | --- | --- | --- |")
    for where in dict.fromkeys(_where(one) for one in numbers):
        some = [one for one in numbers if _where(one) == where]
        same = sum(one.verdict == "reproduced" for one in some)
        off = [
            abs(v - one.published)
            for one in some
            if (v := one.estimate.value) is not None and one.verdict == "differs"
        ]
        wide = sorted(one.times_as_wide for one in some if one.times_as_wide is not None)
        widths = f"{rounded(wide[0])} to {rounded(wide[-1])}" if wide else ""
        lines.append(f"| {where} | {len(some)} | {same} | {rounded(max(off)) if off else ''} | {widths} |")
    return "\n".join(lines)


def _where(one: Replicated) -> str:
    """Where a figure stands; the runs of one file are one line."""
    return re.sub(r", iteration \d+$", "", one.where)


def _figure(one: Replicated) -> str:
    found = one.estimate
    if found.value is None or found.low is None or found.high is None:
        return found.reason or "without an interval"
    return f"{found.value:.3f} [{found.low:.3f} to {found.high:.3f}]"


def main(data: Path, to: Path) -> None:
    """Write the page, and say what was computed."""
    to.write_text("".join(page(data)), encoding="utf-8")
    sys.stdout.write(f"Wrote {to}, {count(len(SETS), 'data set')}.\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else Path("docs/published.md"))
