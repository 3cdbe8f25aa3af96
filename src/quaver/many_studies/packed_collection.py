"""A collection in one archive: a bundle of each study, and what was estimated over all of them."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from quaver.bundles.packing import bundle, refuse_texts, texts_of
from quaver.bundles.verification import Verification, alike, verify
from quaver.core.arguments import guarded
from quaver.core.records import Estimate
from quaver.core.replaced_file import replace_text
from quaver.errors import StoreError
from quaver.many_studies.collection_file import FORM, is_packed
from quaver.many_studies.opened_studies import OpenedStudies
from quaver.many_studies.pooled_estimates import pooled
from quaver.many_studies.unpacked_collection import extracted, file_of
from quaver.report.tables.estimates_csv import write_estimates
from quaver.study.sources.archive import extract, is_archive, pack
from quaver.study.sources.bundle_schema import estimates_in
from quaver.study.sources.bundle_source import FORM as STUDY_FORM
from quaver.study.sources.outgoing_check import check_outgoing


@dataclass(frozen=True, slots=True)
class CollectionVerification:
    """What came of computing a collection's bundle anew.

    Attributes:
        digest: SHA-256 of the archive, to be compared with the one that was published.
        changed: Files that are not as they were packed.
        studies: What came of each study's bundle.
        differing: Pooled estimates that come out differently, in words.
        pooled: How many of them were computed anew.
    """

    digest: str
    changed: Sequence[str]
    studies: Mapping[str, Verification]
    differing: Sequence[str] = ()
    pooled: int = 0

    @property
    def holds(self) -> bool:
        """Whether everything is as it was packed, and comes out as it stands there."""
        return not self.changed and not self.differing and all(one.holds for one in self.studies.values())


def pack_collection(of: OpenedStudies, path: Path | None, *, texts: bool) -> tuple[Path, str]:
    """Pack a collection; arguments, result and errors are those of `Collection.bundle`."""
    if is_packed(of.path):
        raise StoreError("this is a bundle already", where=str(of.path), fix="copy the file")
    target = path or of.folder.with_name(f"{of.folder.name}.quaver.zip")
    if target.is_dir() or (target.is_file() and not is_archive(target)):
        raise StoreError(
            "this file exists already and is not a bundle",
            where=str(target),
            expected="a new file, or a bundle to overwrite",
            fix="name another file, or remove this one",
        )
    with tempfile.TemporaryDirectory(prefix="quaver-") as made:
        folder = Path(made)
        for name, study in of.studies.items():
            bundle(study, folder / file_of(name), texts=texts)
        _derived(of, folder, texts=texts)
        about = {
            "form": FORM,
            "collection": of.spec.name,
            "description": of.spec.description,
            "studies": list(of.studies),
            "texts": texts,
        }
        plain = {one.name: one for one in folder.iterdir() if one.is_file()}
        check_outgoing([one for one in plain.values() if one.suffix != ".zip"], own=True)
        return target, pack(target, plain, about)


def _derived(of: OpenedStudies, folder: Path, *, texts: bool) -> None:
    """The collection's own files: its YAML, the estimates of all studies, and the page over them."""
    from quaver.many_studies.collection_page import write_collection_page  # for reports only

    estimates = of.estimates()
    shutil.copyfile(of.path, folder / of.path.name)
    page = write_collection_page(of, estimates, folder / "page", linked=False)
    shutil.move(page, folder / "report.html")
    shutil.rmtree(folder / "page")
    write_estimates(estimates, folder / "estimates.csv")
    documents = [one.document() for one in estimates]
    text = json.dumps(documents, indent=1, ensure_ascii=False, default=str) + "\n"
    replace_text(folder / "estimates.json", text)
    if texts:
        return
    for study in of.studies.values():
        found = texts_of(study)
        if (own := folder / of.path.name).exists() and found.in_markup(own.read_text(encoding="utf-8")):
            own.unlink()
        refuse_texts(folder, found)


@guarded
def verify_collection(path: str | Path) -> CollectionVerification:
    """Compute every number of a collection's bundle anew: those of each study, and what is pooled.

    Args:
        path: The archive.

    Raises:
        StoreError: It is no collection's bundle.
    """
    with tempfile.TemporaryDirectory(prefix="quaver-", ignore_cleanup_errors=True) as home:
        opened, manifest = extracted(Path(path), Path(home))
        if opened.changed:
            return CollectionVerification(opened.digest, opened.changed, {})
        each: dict[str, Verification] = {}
        own: list[Estimate] = []
        for name in manifest["studies"]:
            each[name] = verify(packed_study := Path(home) / file_of(name))
            if not each[name].changed:
                inside = Path(home) / f"{name}.opened"
                extract(packed_study, inside, STUDY_FORM)
                own += [replace(one, cell={"study": name, **one.cell}) for one in estimates_in(inside)]
        packed = estimates_in(Path(home))
        again = [*own, *pooled(own)]
        return CollectionVerification(
            opened.digest, (), each, _differing(packed, again), len(again) - len(own)
        )


def _differing(packed: Sequence[Estimate], again: Sequence[Estimate]) -> list[str]:
    """The collection's estimates that do not follow from the studies' own."""
    if len(packed) != len(again):
        return [f"{len(packed)} estimates stand there, {len(again)} come out"]
    return [
        f"{one} stands there, {other} comes out"
        for one, other in zip(packed, again, strict=True)
        if (one.measure, one.cell, one.n) != (other.measure, other.cell, other.n)
        or not all(alike(*pair) for pair in _numbers(one, other))
    ]


def _numbers(one: Estimate, other: Estimate) -> list[tuple[Any, Any]]:
    return [(one.value, other.value), (one.low, other.low), (one.high, other.high)]
