"""A damaged store of a study is repaired (``quaver repair``)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, cast

from quaver.collect.store.read_only import journal
from quaver.collect.store.response_store import Store
from quaver.collect.store.response_tables import written_prompt
from quaver.collect.store.salvage import (
    Salvage,
    is_whole,
    lacking_prompts,
    leave_prompts_empty,
    put_prompts,
    salvaged,
)
from quaver.collect.store.store_lock import sole_writer
from quaver.core.arguments import guarded
from quaver.core.replaced_file import put_in_place, writing
from quaver.errors import StoreError
from quaver.study.session import Study

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
    source = cast("StudyFile | Answers", study.source)
    path = source.files.responses
    if not path.is_file():
        raise StoreError("there is nothing to repair", where=str(path), fix="quaver run")
    with sole_writer(source.folder):
        if is_whole(path):
            with source.files.store() as store:
                counts = store.calls.counts()
            return Repaired(counts.answered + counts.unplaced)
        salvage, kept = _replaced(path)
        with closing(Store(path)) as store:
            source.place(store)
            written = put_prompts(store, _prompts(source, store))
            left = leave_prompts_empty(store)
    return Repaired(salvage.responses, salvage.lost, written, left, kept)


def _replaced(path: Path) -> tuple[Salvage, Path]:
    """Put a new store in the place of a damaged one; what was found, and where the damaged one is now."""
    part = path.with_name("responses.repaired.db")
    with writing(path.parent):
        for file in (part, journal(part)):
            file.unlink(missing_ok=True)
        salvage = salvaged(path, part)
        if not salvage.responses and not salvage.batches:
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
    return salvage, kept


def _prompts(study: StudyFile | Answers, store: Store) -> Iterator[tuple[bytes, str]]:
    """By key, the prompts of responses that have lost theirs, as the study's plan writes them."""
    lacking = lacking_prompts(store)
    if not lacking:
        return
    for model in study.served:
        for request in study.requests(model):
            for call in request.calls:
                if call.key in lacking:
                    yield call.key, written_prompt(request.prompt.messages)
