"""A damaged store, put right: what can be read is kept, what cannot is asked again by the next run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from quaver.collect.store.disk_reserve import sole_writer
from quaver.collect.store.read_only import journal
from quaver.collect.store.response_tables import written_prompt
from quaver.collect.store.salvage import Rebuilt, Salvage, is_whole, salvaged
from quaver.core.replaced_file import put_in_place, writing
from quaver.errors import StoreError

if TYPE_CHECKING:
    from quaver.study.sources.labels_source import Answers
    from quaver.study.sources.study_file_source import StudyFile


@dataclass(frozen=True, slots=True)
class Repaired:
    """What came of a repair.

    Attributes:
        saved: Responses that are intact.
        lost: Responses that are not; the next run asks for them again.
        prompts: Prompts that could not be read and were written anew by the study's plan.
        without_prompt: Responses whose prompt could not be read, and that the plan does not have either.
        kept: Where the damaged file is kept; None where nothing was damaged and nothing was changed.
    """

    saved: int
    lost: int = 0
    prompts: int = 0
    without_prompt: int = 0
    kept: Path | None = None


def repair(study: StudyFile | Answers) -> Repaired:
    """Make a new store of what can be read of a damaged one, which is kept beside it."""
    path = study.files.responses
    if not path.is_file():
        raise StoreError("there is nothing to repair", where=str(path), fix="quaver run")
    with sole_writer(study.folder):
        if is_whole(path):
            with study.files.store() as store:
                counts = store.counts()
            return Repaired(counts.answered + counts.unplaced)
        found, kept = _replaced(path)
        with closing(Rebuilt(path)) as store:
            study.place(store)
            written = store.put_prompts(_prompts(study, store))
            left = store.leave_prompts_empty()
    return Repaired(len(found.responses), found.lost, written, left, kept)


def _replaced(path: Path) -> tuple[Salvage, Path]:
    """Put a new store in the place of a damaged one; what was found, and where the damaged one is now."""
    part = path.with_name("responses.repaired.db")
    with writing(path.parent):
        for file in (part, journal(part)):
            file.unlink(missing_ok=True)
        found = salvaged(path, part)
        if not found.responses and not found.others.get("batches"):
            part.unlink()
            raise StoreError(
                "no stored response is intact",
                where=str(path),
                found=f"{path.stat().st_size:,} bytes, and no row of responses among them",
                fix="put back a copy of the file, or move it away and run the study again",
            )
        names = (path.with_name(f"responses.damaged-{number}.db") for number in count(1))
        kept = next(name for name in names if not name.exists())
        for end in ("-wal", "-shm"):
            beside = path.with_name(path.name + end)
            if beside.exists():
                beside.replace(kept.with_name(kept.name + end))
        path.replace(kept)
        put_in_place(part, path)
    return found, kept


def _prompts(study: StudyFile | Answers, store: Rebuilt) -> Iterator[tuple[bytes, str]]:
    """By key, the prompts of responses that have lost theirs, as the study's plan writes them."""
    lacking = store.lacking_prompts()
    if not lacking:
        return
    for model in study.served:
        for request in study.requests(model):
            for call in request.calls:
                if call.key in lacking:
                    yield call.key, written_prompt(request.prompt.messages)
