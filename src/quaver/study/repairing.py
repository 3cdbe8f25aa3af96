"""A damaged store of a study is repaired (``quaver repair``)."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from quaver.collect.store.read_only import journal
from quaver.collect.store.response_store import Store
from quaver.collect.store.salvage import is_whole, salvaged
from quaver.collect.store.store_lock import sole_writer
from quaver.core.arguments import guarded
from quaver.core.replaced_file import put_in_place, writing
from quaver.errors import StoreError
from quaver.study.session import Study


@dataclass(frozen=True, slots=True)
class Repaired:
    """What came of a repair.

    Attributes:
        saved: Responses that are intact.
        lost: Responses that are not; the next run asks for them again.
        without_prompt: Responses that are intact and whose prompt is not.
        kept: Where the damaged file is kept; None where nothing was damaged and nothing was changed.
    """

    saved: int
    lost: int = 0
    without_prompt: int = 0
    kept: Path | None = None


@guarded
def repair(study: Study) -> Repaired:
    """Repair a damaged store; the next run asks again for what cannot be read any more.

    Args:
        study: The study.

    Returns:
        What was saved and lost, and where the damaged file is kept.

    Raises:
        StoreError: Nothing is stored, nothing of it can be read, or another process collects; or this is a
            bundle.
    """
    study.source.require("has_answers")
    study.source.require("owns_folder")
    path = study.source.files.responses
    if not path.is_file():
        raise StoreError("there is nothing to repair", where=str(path), fix="quaver run")
    with sole_writer(study.folder):
        if not is_whole(path):
            return _replaced(path)
        with closing(Store(path)) as store:
            return Repaired(store.value("SELECT count(*) FROM responses"))


def _replaced(path: Path) -> Repaired:
    """Put a new store in the place of a damaged one."""
    part = path.with_name("responses.repaired.db")
    with writing(path.parent):
        for file in (part, journal(part)):
            file.unlink(missing_ok=True)
        found = salvaged(path, part)
        if not found.responses and not found.batches:
            part.unlink()
            raise StoreError(
                "no stored response is intact",
                where=str(path),
                found=f"{path.stat().st_size:,} bytes, and no row of responses that SQLite can read",
                fix="put back a backup of the file, or move it away and run the study again",
            )
        names = (path.with_name(f"responses.damaged-{number}.db") for number in count(1))
        kept = next(name for name in names if not name.exists())
        for end in ("-wal", "-shm"):
            beside = path.with_name(path.name + end)
            if beside.exists():
                beside.replace(kept.with_name(kept.name + end))
        path.replace(kept)
        put_in_place(part, path)
    return Repaired(found.responses, found.lost, found.without_prompt, kept)
