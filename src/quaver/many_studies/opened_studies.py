"""Several studies that are open: what is known of them together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from quaver.core.arguments import guarded
from quaver.core.rows import Estimates
from quaver.many_studies.collection_file import CollectionSpec
from quaver.many_studies.collection_state import Statuses
from quaver.many_studies.pooled_estimates import pooled
from quaver.many_studies.unpacked_collection import Unpacked
from quaver.study.session import Study


class OpenedStudies:
    """The studies of a collection.

    Attributes:
        spec: What the file says.
        path: The file.
        studies: The studies, by name, in the file's order.
    """

    def __init__(
        self, spec: CollectionSpec, path: Path, studies: Mapping[str, Study], unpacked: Unpacked | None = None
    ) -> None:
        self.spec, self.path, self.studies = spec, path, dict(studies)
        self._unpacked = unpacked

    @property
    def folder(self) -> Path:
        """Where what is made of all studies together goes."""
        return self.path.with_suffix("")

    def status(self) -> Statuses:
        """What is answered, spent and failed in each study."""
        return Statuses({name: study.status() for name, study in self.studies.items()})

    @guarded
    def estimates(self, names: str | Sequence[str] | None = None) -> Estimates:
        """The measures of all studies, as each one's file asks for them, and what studies have in common.

        Args:
            names: Only these measures, or this one.

        Returns:
            Each study's estimates, with ``study`` in the cell; then, for each effect of a factor that two
            studies or more have in the same cell, the pooled one (`pooled_effects.pooled_effect`), whose
            ``study`` is ``"pooled"``.

        Raises:
            StoreError: Nothing is stored yet of one of them.
        """
        found = [
            replace(one, cell={"study": name, **one.cell})
            for name, study in self.studies.items()
            for one in study.estimates(names)
        ]
        return Estimates([*found, *pooled(found)])
