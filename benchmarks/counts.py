"""All measures of a study's annotations, taken of one `Gathered`, against an older commit in the same run.

``python benchmarks/counts.py [ANNOTATIONS] [--older PATHS]``: with the ``PYTHONPATH`` of another commit's
worktree (its ``src``, and a folder with its entry points), that commit's processor time too. Both take the
same annotations, one after the other.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

CHILD = "--child"
"""Asks for the figures of the package that is on the path, and nothing else."""


def measured(annotations: int) -> None:
    """Print each measure's processor time, and their sum."""
    from large_study import study

    try:
        from quaver.core import registry
    except ImportError:  # the older commit
        from quaver import registry  # type: ignore[attr-defined,no-redef]
    frame = study(paraphrases=max(1, annotations // 12_000))
    try:
        from quaver.estimation.gathered import Gathered
    except ImportError:
        shared = frame
    else:
        shared = Gathered(frame)
    total = 0.0
    for seed, name in enumerate(registry.names("measures"), start=1):
        measure = registry.load("measures", name)
        start = time.process_time()
        try:
            count = f"{len(measure(shared, by=['model'], seed=seed))} estimates"
        except Exception as error:  # of one that needs an option or a column
            count = type(error).__name__
        total += time.process_time() - start
        print(f"  {name}: {time.process_time() - start:.2f} s, {count}", flush=True)
    print(f"together {total:.1f} s of processor time of {frame.height:,} annotations", flush=True)


def main() -> None:
    given = [one for one in sys.argv[1:] if one.isdigit()]
    annotations = int(given[0]) if given else 300_000
    if CHILD in sys.argv:
        measured(annotations)
        return
    own = Path(__file__).parent.parent / "src"
    paths = [str(own)]
    if "--older" in sys.argv:
        paths.append(sys.argv[sys.argv.index("--older") + 1])
    for path in paths:
        print(f"== {path}", flush=True)
        command = [sys.executable, __file__, CHILD, str(annotations)]
        subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, check=True)


if __name__ == "__main__":
    main()
