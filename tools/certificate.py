"""The certificate of Quaver's measures: ``make certify`` works through the grid and writes it to the docs.

It takes every measure of simulated studies whose truth is known (`tools.certifying.gate`), goes on where
it was stopped (``.certification/``, a folder for each commit), and writes ``docs/certification.json``, the
pictures and the summary in ``docs/certification.md``. The exit status is 1 where a line of the certificate
fails. ``--draw`` judges the file's numbers again, and draws them. A certificate is made by one commit:
nothing is written where tracked files differ from it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from quaver.report.charts.forms import forest
from quaver.report.charts.specification import finished
from quaver.report.charts.svg import svg_text
from tools.certifying import gate
from tools.certifying.coverage import (
    COVERED,
    NOMINAL,
    REJECTED,
    WIDTH,
    covers_of,
    judged,
    verdicts,
    verdicts_in_words,
)

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / ".certification"
FILE = ROOT / "docs" / "certification.json"
PAGE = ROOT / "docs" / "certification.md"
IMAGES = ROOT / "docs" / "images"
MARKS = ("<!-- the certificate, by tools/certificate.py -->", "<!-- the certificate ends -->")

_LIBRARIES = ("quaver", "numpy", "scipy", "polars")
_VERDICTS = ("pass", "wide", "warned", "fail", "open")
_WIDE = 720

Line = Mapping[str, Any]


def document(lines: Sequence[Line], *, commit: str, seed: int, resamples: int, whole: bool) -> dict[str, Any]:
    """What the file says: when and of what it was made, and a row for each line."""
    columns = list(lines[0]) if lines else []
    return {
        "made": datetime.now(UTC).date().isoformat(),
        "commit": commit,
        "versions": {name: version(name) for name in _LIBRARIES},
        "replications": max((one["replications"] for one in lines), default=0),
        "resamples": resamples,
        "seed": seed,
        "grid": "whole" if whole else "every pair of levels",
        "verdicts": verdicts(lines),
        "columns": columns,
        "rows": [[one[name] for name in columns] for one in lines],
    }


def written(made: Mapping[str, Any]) -> str:
    """The file's text, a row a line, so that a change is a change of few lines."""
    head = json.dumps({k: v for k, v in made.items() if k != "rows"}, ensure_ascii=False)
    rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in made["rows"])
    return f'{head[:-1]}, "rows": [\n{rows}\n]}}\n'


def lines_in(made: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The lines that the file holds."""
    return [dict(zip(made["columns"], row, strict=True)) for row in made["rows"]]


def summary(made: Mapping[str, Any]) -> str:
    """The words and the table of the page."""
    lines = lines_in(made)
    cells = len({one["cell"] for one in lines})
    fine = [one for one in lines if one["coverage"] is not None and 0.93 <= one["coverage"] <= 0.97]
    warned = sum((one["unwarned"] or 0) < 0.5 for one in fine)
    widths = [one["width"] for one in lines if one["width"] is not None]
    width = sum(widths) / max(1, len(widths))
    error = 100 * (0.95 * 0.05 / max(1, made["replications"])) ** 0.5
    versions = ", ".join(f"{name} {number}" for name, number in made["versions"].items())
    text = [
        f"Made on {made['made']} at commit `{made['commit'][:12]}` ({versions}): {cells} populations, up to "
        f"{made['replications']} simulated studies of each (Monte-Carlo error at 95%: {error:.1f} points). "
        f"{verdicts_in_words(lines)} "
        f"Of the {len(fine):,} lines that cover 93 to 97%, {warned:,} carry a warning in most studies. "
        f"Intervals are {width:.2f} times as wide as an oracle's on average.",
        "",
        "Below each verdict: how many lines, and the least that their intervals cover.",
        "",
        f"| measure | estimand | coverage: least, median | width: median | most rejections | "
        f"{' | '.join(_VERDICTS)} |",
        "| --- " * (5 + len(_VERDICTS)) + "|",
    ]
    by: dict[tuple[str, str], list[Line]] = {}
    for one in lines:
        by.setdefault((one["measure"], one["estimand"]), []).append(one)
    for (measure, estimand), some in sorted(by.items()):
        covers = sorted(covers_of(some))
        widths = sorted(one["width"] for one in some if one["width"] is not None)
        errors = [one["rejected"] for one in some if one["rejected"] is not None]
        text.append(
            f"| `{measure}` | {estimand} | "
            + (f"{covers[0]:.0%}, {covers[len(covers) // 2]:.0%}" if covers else "")
            + f" | {f'{widths[len(widths) // 2]:.2f}' if widths else ''}"
            + f" | {f'{max(errors):.1%}' if errors else ''}"
            + f" | {' | '.join(_cell(one) for one in verdicts(some).values())} |"
        )
    return "\n".join(text)


def _cell(found: Mapping[str, Any]) -> str:
    if not found["lines"]:
        return ""
    least = found["coverage_least"]
    return f"{found['lines']}" + ("" if least is None else f": {least:.0%}")


def picture(
    lines: Sequence[Line],
    field: str,
    title: str,
    axis: str,
    rules: Sequence[float],
    ends: tuple[float, float],
) -> str:
    """A dot for each line of the certificate, a row for each measure and estimand, as SVG."""
    rows = [
        {
            "row": f"{one['measure']} · {one['estimand']}",
            "value": min(max(one[field], ends[0]), ends[1]),
            "series": one["verdict"],
        }
        for one in lines
        if one[field] is not None
    ]
    shown = [verdict for verdict in _VERDICTS if any(row["series"] == verdict for row in rows)]
    rows.sort(key=lambda row: (row["row"], shown.index(row["series"])))
    references = [(rule, "", None) for rule in rules]
    high = 21.0 * len({row["row"] for row in rows})
    spec = forest(rows, axis, domain=ends, references=references, high=high, width=_WIDE)
    return svg_text(finished(spec, width=_WIDE, title=title))


def draw(made: Mapping[str, Any]) -> None:
    """Write the pictures, and the summary into the page."""
    lines = lines_in(made)
    pictures = {
        "coverage": ("How often 95% intervals hold the truth", "coverage", (NOMINAL, COVERED), (0.5, 1.0)),
        "width": (
            "How wide they are beside an oracle's",
            "mean width / width of the middle 95% of the estimates",
            (1.0, WIDTH),
            (0.5, 3.0),
        ),
        "rejected": (
            "How often tests at 5% reject a true null hypothesis",
            "share rejected",
            (0.05, REJECTED),
            (0.0, 0.3),
        ),
    }
    for field, (title, axis, rules, ends) in pictures.items():
        svg = picture(lines, field, title, axis, rules, ends)
        (IMAGES / f"certification-{field}.svg").write_text(svg, encoding="utf-8")
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(MARKS[0])
    after = rest.partition(MARKS[1])[2]
    PAGE.write_text(f"{before}{MARKS[0]}\n\n{summary(made)}\n\n{MARKS[1]}{after}", encoding="utf-8")


def judged_again(made: Mapping[str, Any]) -> dict[str, Any]:
    """The file with the verdicts that today's rule gives its numbers."""
    lines = [one | {"verdict": judged(one)} for one in lines_in(made)]
    rows = [[one[name] for name in made["columns"]] for one in lines]
    return {**made, "verdicts": verdicts(lines), "columns": made["columns"], "rows": rows}


def commit() -> str:
    """The commit that is certified."""
    return _git("rev-parse", "HEAD").strip()


def changed() -> list[str]:
    """The tracked files that differ from it, but for the certificate's own."""
    files = _git("diff", "--name-only", "HEAD").splitlines()
    return [one for one in files if not one.startswith("docs/")]


def _git(*words: str) -> str:
    asked = ["git", "-C", str(ROOT), *words]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout


def main(arguments: Sequence[str] | None = None) -> int:
    """Work through the grid, and write the certificate."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--draw", action="store_true", help="only draw again what docs/certification.json says"
    )
    parser.add_argument("--results", type=Path, help="the folder of results; by default one for each commit")
    asked, rest = parser.parse_known_args(arguments)
    if not asked.draw:
        at = commit()
        folder = asked.results or RESULTS / at[:12]
        status = gate.main(["--out", str(folder), *rest])
        given = gate.options(rest)
        found = json.loads((folder / gate.LINES).read_text(encoding="utf-8"))
        if given.measure or given.cells:
            return status  # a part of it is no certificate
        if asked.results or commit() != at or changed():
            sys.stderr.write(f"no certificate is written: it would not be made by {at[:12]} alone\n")
            return 1
        made = document(found, commit=at, seed=given.seed, resamples=given.resamples, whole=given.whole)
        FILE.write_text(written(made), encoding="utf-8")
    else:
        status = 0
        FILE.write_text(written(judged_again(json.loads(FILE.read_text(encoding="utf-8")))), encoding="utf-8")
    draw(json.loads(FILE.read_text(encoding="utf-8")))
    return status


if __name__ == "__main__":
    sys.exit(main())
