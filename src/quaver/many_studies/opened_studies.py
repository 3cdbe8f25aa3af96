"""Several studies that are open or packed: what is known of them together."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

from quaver.core.arguments import guarded
from quaver.core.rows import Estimates, Rows
from quaver.errors import StoreError
from quaver.many_studies.collection_file import FORM, CollectionSpec, StudyName
from quaver.many_studies.pooled_effects import pooled
from quaver.study.collection.study_status import StudyStatus
from quaver.study.forecasts.forecast import Forecast
from quaver.study.session import Study
from quaver.study.sources.archive import Opened, extract
from quaver.study.sources.study_folder import shaped


class _Manifest(TypedDict):
    collection: str
    description: str
    studies: Annotated[list[StudyName], Field(min_length=1)]


def file_of(study: str) -> str:
    """What a study's bundle is called in the collection's."""
    return f"{study}.quaver.zip"


class Unpacked:
    """A collection's bundle, opened in a temporary folder.

    Attributes:
        spec: What is known of the collection.
        files: Each study's bundle.
        opened: The manifest.

    Raises:
        StoreError: It is no such bundle, or not as it was packed.
    """

    def __init__(self, path: Path) -> None:
        self._home = tempfile.TemporaryDirectory(prefix="quaver-", ignore_cleanup_errors=True)
        self.folder = Path(self._home.name)
        self.opened, manifest = extracted(path, self.folder)
        if self.opened.changed:
            raise StoreError(
                "the bundle has changed since it was packed",
                where=str(path),
                found=f"changed: {', '.join(self.opened.changed)}",
                fix="download it again",
            )
        files = {name: file_of(name) for name in manifest["studies"]}
        self.spec = CollectionSpec(
            name=manifest["collection"], description=manifest["description"], studies=files
        )
        self.files = {name: self.folder / file for name, file in files.items()}


def extracted(path: Path, folder: Path) -> tuple[Opened, _Manifest]:
    """Extract a collection's bundle.

    Returns:
        What was found, and what its manifest says of the collection.
    """
    opened = extract(path, folder, FORM)
    try:
        manifest: _Manifest = shaped(_Manifest, {**opened})
    except ValueError as error:
        raise StoreError(
            "the bundle's manifest is of another shape",
            where=str(path),
            found=str(error),
            fix="download the bundle again",
        ) from None
    for name in manifest["studies"]:
        if file_of(name) not in opened["files"]:
            raise StoreError("the bundle lacks a study", where=str(path), expected=file_of(name))
    return opened, manifest


@dataclass(frozen=True, slots=True)
class Plans(Rows):
    """What each study will take.

    Attributes:
        studies: The forecasts, by study.
    """

    studies: Mapping[str, Forecast]

    @property
    def calls(self) -> int:
        """All calls."""
        return sum(forecast.calls for forecast in self.studies.values())

    @property
    def stored(self) -> int:
        """Calls that are answered already."""
        return sum(forecast.stored for forecast in self.studies.values())

    @property
    def seconds(self) -> float | None:
        """What is left, one study after the other; None where a study's pace is not known."""
        each = [forecast.seconds for forecast in self.studies.values() if forecast.stored < forecast.calls]
        known = [one for one in each if one is not None]
        return sum(known) if len(known) == len(each) else None

    def rows(self) -> list[dict[str, Any]]:
        """A row for each study and model."""
        return [
            {"study": name, "items": forecast.items, "variants": forecast.variants, "model": model.model}
            | {"calls": model.calls, "answered": model.stored, "seconds": model.seconds}
            | {"least": model.cost and model.cost.low, "most": model.cost and model.cost.high}
            for name, forecast in self.studies.items()
            for model in forecast.models
        ]


@dataclass(frozen=True, slots=True)
class Statuses(Rows):
    """How far each study is.

    Attributes:
        studies: Each one's status.
    """

    studies: Mapping[str, StudyStatus]

    @property
    def answered(self) -> int:
        """Calls that have a response."""
        return sum(status.answered for status in self.studies.values())

    @property
    def total(self) -> int:
        """All calls."""
        return sum(status.total for status in self.studies.values())

    @property
    def money(self) -> float | None:
        """US dollars spent; None where a price is not known."""
        spent = [status.money for status in self.studies.values()]
        return None if None in spent else sum(one for one in spent if one is not None)

    def rows(self) -> list[dict[str, Any]]:
        """A row for each study."""
        return [
            {"study": name, "answered": status.answered, "calls": status.total, "errors": status.errors}
            | {"tokens": status.tokens, "money": status.money}
            for name, status in self.studies.items()
        ]


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
        estimates = [
            replace(estimate, cell={"study": name, **estimate.cell})
            for name, study in self.studies.items()
            for estimate in study.estimates(names)
        ]
        return Estimates([*estimates, *pooled(estimates)])
