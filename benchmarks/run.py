"""Every figure that the docs claim, each as a ratio measured in this run or beside its limit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SLOW = ("coverage.py", "engines_agree.py", "evaluators.py", "faults.py", "spread.py")
"""Those that take longer than a bench should, or need a heavy extra; run them by name."""


def main() -> None:
    here = Path(__file__).parent
    for path in sorted(here.glob("*.py")):
        if path.name not in ("run.py", "machine.py", "large_study.py", *SLOW):
            print(f"\n== {path.name}", flush=True)
            subprocess.run([sys.executable, str(path)], check=True)


if __name__ == "__main__":
    main()
