"""The small version of each kind of study, from ``quaver init`` to the report: how long it takes.

    python benchmarks/kinds.py [KIND …]

Each runs in an empty folder, as a newcomer would run it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time

from quaver.design.study_kinds import KINDS


def main(kinds: list[str]) -> None:
    for kind in kinds or KINDS:
        with tempfile.TemporaryDirectory() as folder:
            seconds = []
            for arguments in (
                ["init", kind],
                ["run", f"{kind}.yaml", "--small"],
                ["measure", f"{kind}.small.yaml"],
                ["report", f"{kind}.small.yaml"],
            ):
                begun = time.perf_counter()
                command = [sys.executable, "-m", "quaver", *arguments]
                subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
                seconds.append(f"{arguments[0]} {time.perf_counter() - begun:.0f} s")
            print(f"{kind:12} {', '.join(seconds)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
