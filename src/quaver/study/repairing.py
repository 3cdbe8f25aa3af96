"""What is left of a study's damaged store, saved."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from quaver.core.arguments import guarded
from quaver.study.collection import store_repair
from quaver.study.collection.store_repair import Repaired
from quaver.study.session import Study

if TYPE_CHECKING:
    from quaver.study.sources.answers_source import Answers
    from quaver.study.sources.study_file_source import StudyFile


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
