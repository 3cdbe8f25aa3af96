"""A collection in one archive: a bundle of each study, and what was estimated over all of them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from quaver.bundles.derived_files import Checked, check_derived, write_json
from quaver.bundles.packing import bundle, refuse_texts, texts_of
from quaver.bundles.verification import Verification, check_estimates, unpublished, verify
from quaver.core.arguments import guarded
from quaver.core.records import Estimate
from quaver.errors import StoreError
from quaver.many_studies.collection_file import FORM, CollectionSpec, is_packed
from quaver.many_studies.opened_studies import OpenedStudies, extracted, file_of
from quaver.report.tables.written_tables import write_estimates
from quaver.study.session import Study
from quaver.study.sources.archive import is_archive, pack
from quaver.study.sources.bundle_source import open_bundle
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
        compared: What else was made again and compared.
        not_compared: What was not, and why.
    """

    digest: str
    changed: Sequence[str]
    studies: Mapping[str, Verification]
    differing: Sequence[str] = ()
    pooled: int = 0
    compared: Sequence[str] = ()
    not_compared: Sequence[str] = ()

    @property
    def holds(self) -> bool:
        """Whether everything is as it was packed, and comes out as it stands there."""
        return (
            not self.changed
            and not self.differing
            and all(verification.holds for verification in self.studies.values())
        )


def pack_collection(of: OpenedStudies, path: Path | None, **asked: bool) -> tuple[Path, str]:
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
            bundle(study, folder / file_of(name), **asked)
        shutil.copyfile(of.path, folder / of.path.name)
        bundles = {name: Study.open(folder / file_of(name)) for name in of.studies}
        _write_derived(OpenedStudies(of.spec, of.path, bundles), folder)
        for study in () if asked.get("texts", True) else of.studies.values():
            found = texts_of(study)
            if (own := folder / of.path.name).exists() and found.in_markup(own.read_text(encoding="utf-8")):
                own.unlink()
            refuse_texts(folder, found)
        about = {
            "form": FORM,
            "collection": of.spec.name,
            "description": of.spec.description,
            "studies": list(of.studies),
            "texts": asked.get("texts", True),
        }
        plain = {one.name: one for one in folder.iterdir() if one.is_file()}
        check_outgoing([one for one in plain.values() if one.suffix != ".zip"], own=True)
        return target, pack(target, plain, about)


def _write_derived(of: OpenedStudies, folder: Path) -> list[Estimate]:
    """Write the estimates of all studies of a collection, and the page over them; the estimates."""
    from quaver.many_studies.collection_page import write_collection_page  # for reports only

    estimates = list(of.estimates())
    (folder / "page").mkdir()
    page = write_collection_page(of, estimates, folder / "page", linked=False)
    shutil.move(page, folder / "report.html")
    shutil.rmtree(folder / "page")
    write_estimates(estimates, folder / "estimates.csv")
    write_json(folder / "estimates.json", [estimate.document() for estimate in estimates])
    return estimates


@guarded
def verify_collection(path: str | Path, *, digest: str | None = None) -> CollectionVerification:
    """Make everything of a collection's bundle anew: each study's, and what is pooled over them.

    Args:
        path: The archive.
        digest: The archive's SHA-256 as the authors published it.

    Raises:
        StoreError: It is no collection's bundle.
    """
    with tempfile.TemporaryDirectory(prefix="quaver-", ignore_cleanup_errors=True) as home:
        folder = Path(home) / "packed"
        opened, manifest = extracted(Path(path), folder)
        changed = [*opened.changed, *unpublished(opened.digest, digest)]
        if opened.changed:
            return CollectionVerification(opened.digest, changed, {})
        files = {name: file_of(name) for name in manifest["studies"]}
        each = {name: verify(folder / file) for name, file in files.items()}
        if any(verification.changed for verification in each.values()):
            return CollectionVerification(opened.digest, changed, each)
        spec = CollectionSpec(name=manifest["collection"], description=manifest["description"], studies=files)
        sources = {name: open_bundle(folder / file) for name, file in files.items()}
        studies = {name: Study(source) for name, source in sources.items()}
        again, check = Path(home) / "again", Checked()
        again.mkdir()
        estimates = _write_derived(OpenedStudies(spec, folder / "collection", studies), again)
        check_estimates(folder, again, estimates, check)
        maker = next(iter(sources.values())).facts.get("made_with", {})
        check_derived(folder, again, maker, check)
        pooled = sum(estimate.cell["study"] == "pooled" for estimate in estimates)
        parts = (check.differing, pooled, check.compared, check.not_compared)
        return CollectionVerification(opened.digest, changed, each, *parts)
