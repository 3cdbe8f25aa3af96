"""A study's store, put in order: shards made into one (``quaver merge``), damage repaired."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from quaver.core.arguments import guarded
from quaver.errors import StoreError
from quaver.study.collection import store_repair
from quaver.study.collection.store_repair import Repaired
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
        return [one for one in self.shards if one.state != "finished"]


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
    return store_repair.repair(cast("StudyFile | Answers", study.source))
