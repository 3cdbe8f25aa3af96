"""A collection's bundle, opened: the studies' bundles in it, and what its manifest says."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from quaver.errors import StoreError
from quaver.many_studies.collection_file import FORM, CollectionSpec, StudyName
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

    Raises:
        StoreError: It is no such bundle.
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
