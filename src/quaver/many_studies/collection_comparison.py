"""Two collections, or the prompts of one: each study compared with its counterpart, judged together."""

from __future__ import annotations

from collections.abc import Sequence

from quaver.comparison.bounds import Bound
from quaver.comparison.compared_sides import Task, levels_of_one, together, two_studies
from quaver.comparison.comparison_result import Comparison
from quaver.comparison.paired_comparison import Judging, both_asked, compared, one_alone
from quaver.errors import MeasureError
from quaver.many_studies.opened_studies import OpenedStudies
from quaver.study.sources.study_folder import StudyFolder


def compare_collections(
    before: OpenedStudies,
    after: OpenedStudies | None,
    judging: Judging,
    measures: Sequence[str] | None,
    *,
    by: str | None,
    reference: str | None,
    looks: int | None,
) -> Comparison:
    """Compare collections; arguments and errors are those of `Collection.compare`."""
    bounds = judging.bounds
    if after is None:
        if looks is not None:
            raise one_alone()
        tasks = {
            name: levels_of_one(study, by or "variant", reference, measures, bounds, {"study": name})
            for name, study in before.studies.items()
        }
        return compared(together(tasks, None), judging)
    if by is not None or reference is not None:
        raise both_asked(*_names(before, after), by)
    tasks, left_out = _in_both(before, after, measures, bounds)
    kept = None if looks is None else (StudyFolder(after.folder), looks)
    task = together(tasks, _names(before, after), left_out)
    return compared(task, judging, kept)


def _in_both(
    before: OpenedStudies, after: OpenedStudies, measures: Sequence[str] | None, bounds: Sequence[Bound]
) -> tuple[dict[str, Task], list[str]]:
    """The studies that both have."""
    common = [name for name in before.studies if name in after.studies]
    if not common:
        raise MeasureError(
            "the collections have no study in common",
            where=f"{before.path} and {after.path}",
            expected="studies of the same name",
            found=f"{', '.join(before.studies)}; {', '.join(after.studies)}",
        )
    tasks = {
        name: two_studies(before.studies[name], after.studies[name], measures, bounds, place={"study": name})
        for name in common
    }
    sides = zip(_names(before, after), (before, after), strict=True)
    left_out = [
        f"study {name}, which only {called} has"
        for called, one in sides
        for name in one.studies
        if name not in common
    ]
    return tasks, left_out


def _names(before: OpenedStudies, after: OpenedStudies) -> tuple[str, str]:
    if before.spec.name != after.spec.name:
        return before.spec.name, after.spec.name
    return str(before.path), str(after.path)
