"""``make numerics``: how many digits Quaver's numbers share with other software's and with NIST's.

``python -m tests.numerics.run`` prints the table. Where R is there with the packages that ``reference.R``
loads, its numbers are computed anew; otherwise those in ``data/reference.json`` are taken, which ``--store``
writes. ``--page`` writes ``docs/numerics.md``.
"""

import json
import platform
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import krippendorff
import numpy as np
import polars as pl
from tests.measures.correctness.counted_answers import FOLDER
from tests.numerics.agreement_of_numbers import digits
from tests.numerics.nist import certified
from tests.numerics.quaver_values import DATA, quaver_values

STORED = DATA / "reference.json"
PAGE = Path(__file__).parents[2] / "docs" / "numerics.md"

PUBLISHED = {
    "krippendorff_alpha nominal": (0.743, "Krippendorff (2011), Computing alpha, C"),
    "krippendorff_alpha ordinal": (0.815, "Krippendorff (2011), Computing alpha, D"),
    "krippendorff_alpha interval": (0.849, "Krippendorff (2011), Computing alpha, D"),
    "krippendorff_alpha ratio": (0.797, "Krippendorff (2011), Computing alpha, D"),
}
"""Printed values; they have as many digits as they are printed with."""


def from_r():
    """R's numbers; None where there is no R, or a package is missing."""
    program = shutil.which("Rscript")
    if program is None:
        return None
    script = Path(__file__).with_name("reference.R")
    command = [program, "--vanilla", str(script), str(DATA), str(FOLDER / "mixed_intercepts.csv")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"R could not run: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return None
    rows = [line.split("\t") for line in done.stdout.splitlines() if line.strip()]
    return {name: (float(value), by) for name, value, by, *_ in rows}


def from_python():
    """The numbers of Python packages that are in the development environment."""
    four = pl.read_csv(DATA / "four_observers.csv").to_numpy().astype(float).T
    by = f"krippendorff {version('krippendorff')}"
    return {
        f"krippendorff_alpha {level}, by krippendorff": (
            float(krippendorff.alpha(reliability_data=four, level_of_measurement=level)),
            by,
        )
        for level in ("nominal", "ordinal", "interval", "ratio")
    }


def stored():
    """R's numbers as they were when they were last stored."""
    return {name: (one["value"], one["by"]) for name, one in json.loads(STORED.read_text())["values"].items()}


def rows(reference):
    """Quantity, digits, Quaver's number, the other one, and whose it is."""
    own = quaver_values()
    own |= {f"{name}, by krippendorff": own[name] for name in own if name.startswith("krippendorff_alpha ")}
    every = reference | from_python()
    lost = sorted(own.keys() ^ every.keys())
    assert not lost, f"in one of the two only: {lost}"
    return [(name, digits(own[name], value), own[name], value, by) for name, (value, by) in every.items()]


INTRODUCTION = """\
This page shows to how many digits Quaver's point values agree with those of other software, with NIST's
certified values and with printed values: the log relative error, at most 15. The data, the R script and the
tests that check these digits are in `tests/numerics`."""

OTHERS = """\
If a package has the quantity, the other value is the package's; if none has, R computes it from its formula.
Two optimisers search for the maximum of a mixed model's likelihood: the coefficients agree to about six
digits, and their standard errors, for which the two compute second derivatives differently, to three or
four."""

NIST = """\
The table has means (NumAcc), analyses of variance (as variance components) and linear regressions. The
certified coefficients were checked by least squares in fractions, without rounding. The data of SmLs07 to 09
differ only from the thirteenth digit on: a double near 1000000000000.4 is off by up to 0.00006, which leaves
any method four digits. Filip is a polynomial of degree ten."""


def page(reference, made):
    """``docs/numerics.md``."""
    software = f"Python {platform.python_version()}, NumPy {np.__version__}, Quaver {version('quaver')}"
    compared = rows(reference)
    own = {name: value for name, _, value, *_ in compared}
    parts = [
        "# Certified numerics",
        INTRODUCTION,
        f"Made by `make numerics` on {today()} with {software}; R's numbers were computed on {made}.",
        "## Against other software",
        OTHERS,
        _table(
            ("quantity", "digits", "Quaver", "other", "by"),
            [(a, f"{b:.1f}", f"{c:.15g}", f"{d:.15g}", e) for a, b, c, d, e in compared],
        ),
        "## Against printed values",
        _table(
            ("quantity", "Quaver", "printed", "source"),
            [(name, f"{own[name]:.6g}", f"{value:g}", by) for name, (value, by) in PUBLISHED.items()],
        ),
        "## Against NIST's Statistical Reference Datasets",
        NIST,
        _table(
            ("set and quantity", "digits", "Quaver", "certified", "by"), [_certified(e) for e in certified()]
        ),
    ]
    return "\n\n".join(parts) + "\n"


def today():
    """The date."""
    return f"{datetime.now(UTC):%Y-%m-%d}"


def _certified(one):
    shared = f"{digits(one.quaver, one.value):.1f}"
    found = "undefined" if one.quaver is None else f"{one.quaver:.15g}"
    return one.name, shared, found, f"{one.value:.15g}", one.by


def _table(head, body):
    ends = ["---", *["---:"] * (len(head) - 2), "---"]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ends, *body))


def main(arguments):
    """Print the table, and write what is asked for."""
    document = json.loads(STORED.read_text()) if STORED.exists() else {}
    found = from_r()
    if found is None:
        print(f"R with psych, vcd and lme4 is not here; its numbers of {document['made']} are taken.")
        print("On Debian: apt-get install r-cran-psych r-cran-vcd r-cran-lme4")
    elif "--store" in arguments or not document:
        document = {
            "made": today(),
            "values": {name: {"value": value, "by": by} for name, (value, by) in found.items()},
        }
        STORED.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    made = document["made"] if found is None else today()
    text = page(found or stored(), made)
    print(text)
    if "--page" in arguments:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
