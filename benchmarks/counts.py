"""All measures of a study's annotations, taken of one `Gathered`, against an older commit in the same run.

``python benchmarks/counts.py [ANNOTATIONS] [--older PATHS]``: with the ``PYTHONPATH`` of another commit's
worktree (its ``src``, and a folder with its entry points), that commit's processor time too. Both take the
same annotations, one after the other, in memory.

``python benchmarks/counts.py 30000000 --kept FOLDER``: annotations in parts of a Parquet folder, which is
made if it is not there, and read as they are needed. Ten times the annotations are of ten times the items.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

CHILD = "--child"
"""Asks for the figures of the package that is on the path, and nothing else."""

KEPT = "--kept"
"""Goes before the folder of annotations that are read as they are needed."""

_OF_AN_ITEM = 250 * 3 * 8
"""Annotations of an item: paraphrases × repeats × models."""


def memory() -> float:
    """The most memory that this process has taken, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def kept(folder: Path, annotations: int) -> None:
    """Write the annotations, a model a part."""
    import polars as pl
    from large_study import study

    folder.mkdir(parents=True)
    items = annotations // _OF_AN_ITEM
    for model in range(8):
        part = study(items=items, conditions=1, seed=model)
        named = pl.lit(f"m{model:03}", pl.Categorical).alias("model")
        part.with_columns(named).write_parquet(folder / f"part-{model:06}.parquet")


def annotated(annotations: int) -> tuple[Any, int]:
    """The annotations as measures take them, and how many there are."""
    import polars as pl

    try:
        from quaver.estimation.coded_columns import Gathered
    except ImportError:  # the older commit
        from quaver.estimation.gathered import Gathered  # type: ignore[import-not-found,no-redef]

    if KEPT in sys.argv:
        read = pl.scan_parquet(Path(sys.argv[sys.argv.index(KEPT) + 1]) / "*.parquet")
        return Gathered(read), int(read.select(pl.len()).collect().item())
    from large_study import study

    frame = study(paraphrases=max(1, annotations // 12_000))
    return Gathered(frame), frame.height


def measured(annotations: int) -> None:
    """Print each measure's processor time, their sum, and the most memory."""
    from quaver.core import registry

    shared, height = annotated(annotations)
    total, began = 0.0, time.perf_counter()
    for seed, name in enumerate(registry.names("measures"), start=1):
        measure = registry.load("measures", name)
        start = time.process_time()
        try:
            count = f"{len(measure(shared, by=['model'], seed=seed))} estimates"
        except Exception as error:  # of one that needs an option or a column
            count = type(error).__name__
        spent = time.process_time() - start
        total += spent
        print(f"  {name}: {spent:.2f} s, {count}, {memory():.2f} GB", flush=True)
    clock = time.perf_counter() - began
    print(f"together {total:.1f} s of processor time, {clock:.1f} s by the clock, at most {memory():.2f} GB")
    print(f"of {height:,} annotations", flush=True)


def main() -> None:
    """As the arguments say."""
    given = [one for one in sys.argv[1:] if one.isdigit()]
    annotations = int(given[0]) if given else 300_000
    if CHILD in sys.argv:
        measured(annotations)
        return
    own = Path(__file__).parent.parent / "src"
    paths, more = [str(own)], []
    if KEPT in sys.argv:
        folder = Path(sys.argv[sys.argv.index(KEPT) + 1])
        more = [KEPT, str(folder)]
        if not folder.exists():
            kept(folder, annotations)
    elif "--older" in sys.argv:
        paths.append(sys.argv[sys.argv.index("--older") + 1])
    for path in paths:
        print(f"== {path}", flush=True)
        command = [sys.executable, __file__, CHILD, str(annotations), *more]
        subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, check=True)


if __name__ == "__main__":
    main()
