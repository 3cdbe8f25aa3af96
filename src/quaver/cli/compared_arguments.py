"""What ``quaver compare`` compares: two studies, two collections, or the prompts of one."""

from __future__ import annotations

from collections.abc import Collection as Names
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from quaver.cli.run_display import open_collection
from quaver.cli.study_options import open_both
from quaver.errors import QuaverError

if TYPE_CHECKING:
    from quaver.comparison.comparison_result import Comparison
    from quaver.many_studies.collection import Collection
    from quaver.study.session import Study


class Studies(NamedTuple):
    """Two studies, or one."""

    before: Study
    after: Study | None

    def compare(self, **options: Any) -> Comparison:
        """Compare them (`quaver.compare`)."""
        from quaver.comparison.paired_comparison import compare

        return compare(self.before, self.after, **options)

    def texts(self, wanted: Names[str]) -> dict[str, str]:
        """The texts of some items, by id."""
        from quaver.comparison.flipped_items import item_texts

        return item_texts(self.after or self.before, wanted)


class Collections(NamedTuple):
    """Two collections, or one."""

    before: Collection
    after: Collection | None

    def compare(self, **options: Any) -> Comparison:
        """Compare them (`quaver.Collection.compare`)."""
        if options.pop("in_rounds", False):
            raise QuaverError(
                "a collection is compared as it is; only a single study is asked in rounds",
                where="--in-rounds",
                fix="run the collection and leave this out, or name one of its studies",
            )
        return self.before.compare(self.after, **options)

    def texts(self, wanted: Names[str]) -> dict[str, str]:
        """The texts of some items, by study and id."""
        from quaver.comparison.flipped_items import item_texts

        studies = (self.after or self.before).studies
        return {
            f"{name}/{item}": text
            for name, study in studies.items()
            for item, text in item_texts(study, wanted).items()
        }


def open_sides(before: Path, after: Path | None, functions: Sequence[str] | None) -> Studies | Collections:
    """What the arguments name, each side with the functions of its own models."""
    from quaver.many_studies.collection_file import is_collection

    many = [is_collection(path) for path in (before, *([after] if after else []))]
    if not any(many):
        return Studies(*open_both(before, after, functions))
    if not all(many):
        raise QuaverError(
            "a collection can only be compared with another collection",
            where="AFTER" if many[0] else "BEFORE",
            found=f"{before} and {after}",
            fix="name two collections, or a study of each",
        )
    first = open_collection(before, functions)
    assert first is not None  # as seen above
    return Collections(first, None if after is None else open_collection(after, functions))
