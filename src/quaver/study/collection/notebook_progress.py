"""The progress of a run in a notebook: one line and a bar, updated in place."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from html import escape
from importlib import import_module
from typing import Any

from quaver.collect.run.progress import Progress

_SECONDS = 0.5
"""Between two updates."""


def watching_in_notebook() -> Callable[[Progress], None]:
    """What shows a run's progress: a bar in a notebook, nothing anywhere else."""
    display = _notebook_display()
    return (lambda _: None) if display is None else _Bar(display)


def _notebook_display() -> Callable[..., Any] | None:
    """IPython's ``display`` inside a notebook's kernel; a terminal's IPython has none that is updated."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if getattr(shell, "kernel", None) is None:
        return None
    found: Callable[..., Any] = import_module("IPython.display").display
    return found


class _Bar:
    """Shows progress in the output of a cell."""

    def __init__(self, display: Callable[..., Any]) -> None:
        self._display, self._handle, self._last = display, None, 0.0

    def __call__(self, progress: Progress) -> None:
        answered = progress.before + progress.done
        now = time.monotonic()
        if answered < progress.total and now - self._last < _SECONDS:
            return
        self._last = now
        given_up = [f"{name} is given up: {why}" for name, why in progress.given_up.items()]
        text = "\n".join([str(progress), *given_up])
        bar = f'<progress value="{answered}" max="{max(1, progress.total)}" style="width:20em"></progress>'
        shown = {"text/plain": text, "text/html": f"{bar}<pre>{escape(text)}</pre>"}
        if self._handle is None:
            self._handle = self._display(shown, raw=True, display_id=True)
        else:
            self._handle.update(shown, raw=True)
