"""A study's store, put in order: shards made into one (``quaver merge``), damage repaired."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from quaver.study.sources.shards import FOLDER, ShardStatus
from quaver.study.sources.study_file_source import asking

if TYPE_CHECKING:
    from quaver.study.sources.labels_source import Answers
    from quaver.study.sources.study_file_source import StudyFile


@dataclass(frozen=True, slots=True)
class Merged:
    """What came of a merge.

    Attributes:
        answered: Calls of the study that are answered.
        total: All of its calls.
        shards: Every shard, and how far it is.
    """

    answered: int
    total: int
    shards: Sequence[ShardStatus]

    @property
    def missing(self) -> int:
        """Calls that nobody has answered, though all of them may belong to shards that are finished."""
        return self.total - self.answered

    @property
    def unfinished(self) -> list[ShardStatus]:
        """The shards that are missing, running or stopped."""
        return [shard for shard in self.shards if shard.state != "finished"]


@guarded
def merge(study: Study) -> Merged:
    """Make one store of a study's shards.

    Reading a study does the same. You can merge as often as you like, also while shards run, and kill it at
    any moment: what was copied stays, and counts once. The shards' folders stay, too.

    Args:
        study: The study.

    Returns:
        How much of the study is answered, and how far each shard is.

    Raises:
        StoreError: There are no shards; they do not belong together; or another process holds the study.
    """
    source = asking(study.source)
    source.take_in_shards(at_once=True)
    now = study.status()
    if not now.shards:
        raise StoreError(
            "there are no shards to merge",
            where=str(study.folder / FOLDER),
            expected="the folder of at least one shard",
            found="no shards" if source.share is None else f"shard {source.share} itself",
            fix="quaver run --shard 1/8",
        )
    return Merged(now.answered, now.total, now.shards)


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
