"""What the commands that live through histories share: ``--seeds 1000``, ``--first 5``, or ``--seed 17``."""

import argparse
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Protocol, TypeVar


class Told(Protocol):
    """A history: printed, it says what happened."""

    def go(self) -> object:
        """Live through it."""


H = TypeVar("H", bound=Told)


def lived_through(kind, seed, tally=None):
    """Live through one history; what went wrong, and the way there, or an empty text."""
    shm = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shm if shm.is_dir() else None) as folder:
        history = kind(seed, Path(folder))
        try:
            history.go()
        except Exception:
            return f"seed {seed}\n{history}\n{traceback.format_exc()}"
        if tally is not None:
            tally(history)
    return ""


def live(lived, about, *, seeds):
    """Live through as many histories as the command line says.

    Args:
        lived: Lives through the one with a seed and adds to the counts; what went wrong, or an empty text.
        about: What the command does.
        seeds: How many, unless the command line says it.

    Returns:
        The exit status: 1 if one went wrong.
    """
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--seeds", type=int, default=seeds, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--seed", type=int, help="only this one, with all that happened")
    given, counts = parser.parse_args(), Counter[str]()
    if given.seed is not None:
        wrong = lived(given.seed, counts)
        print(wrong or "nothing went wrong")
        return bool(wrong)
    began, failed = time.monotonic(), []
    for seed in range(given.first, given.first + given.seeds):
        if wrong := lived(seed, counts):
            failed.append(seed)
            print(wrong, flush=True)
    seconds, seen = time.monotonic() - began, f"{dict(counts)}, " if counts else ""
    print(f"{given.seeds:,} histories in {seconds:,.0f} s, {seen}{len(failed)} went wrong: {failed}")
    return bool(failed)
