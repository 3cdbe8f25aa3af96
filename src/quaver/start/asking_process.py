"""A study that is asked in a process of its own, which neither a closed browser nor a busy page disturbs."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Final

from quaver._secrets import without_keys
from quaver.collect.store.store_lock import ask_to_stop, who_collects
from quaver.study.session import Study

_MOST: Final = 2000
"""Characters of what a process said last."""


class AskingProcesses:
    """The processes that this program began, by the study's path."""

    def __init__(self) -> None:
        self._begun: dict[Path, tuple[subprocess.Popen[bytes], IO[bytes]]] = {}

    def begin(self, path: Path, study: Study, *, retry_errors: bool = False) -> None:
        """Ask what is left of a study, unless that is being done, by whomever."""
        if self.runs(path) or who_collects(study.folder) is not None:
            return
        command = [sys.executable, "-m", "quaver", "run", str(path), *["--retry-errors"] * retry_errors]
        said = tempfile.TemporaryFile()  # noqa: SIM115 - open for as long as the process runs
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT)
        self._begun[path] = (child, said)

    def runs(self, path: Path) -> bool:
        """Whether a process that this program began is at work."""
        return path in self._begun and self._begun[path][0].poll() is None

    def pause(self, path: Path, study: Study) -> None:
        """Have whoever asks stop as Ctrl-C does: what is in flight is stored, and nothing is lost."""
        if self.runs(path) or who_collects(study.folder) is not None:
            ask_to_stop(study.folder)

    def failure(self, path: Path) -> str:
        """What the last process of a study said when it ended with an error; else empty."""
        if path not in self._begun or self._begun[path][0].poll() in (None, 0, 130):
            return ""
        said = self._begun[path][1]
        said.seek(0)
        text = without_keys(said.read()[-_MOST:].decode(errors="replace"))
        return text.rpartition("Error: ")[2].strip() or "The process ended."
