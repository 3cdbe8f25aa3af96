"""The study files and bundles that a path names: those of a collection, or a study itself."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from quaver.core.replaced_file import replacing
from quaver.many_studies.collection_file import collection_at, is_packed, read_collection
from quaver.many_studies.opened_studies import Unpacked


def study_files(path: Path) -> list[Path]:
    """The studies behind a path.

    Returns:
        The files of the collection's studies, or the path itself. The bundles in a collection's bundle are
        kept in the user's cache, so that what is made of them is found again.
    """
    if (file := collection_at(path)) is not None:
        return list(read_collection(file)[1].values())
    if not is_packed(path):
        return [path]
    unpacked = Unpacked(path)
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "quaver" / "collections"
    kept = home / unpacked.opened.digest[:20]
    kept.mkdir(parents=True, exist_ok=True)
    paths = []
    for file in unpacked.files.values():
        target = kept / file.name
        if not target.exists() or target.stat().st_size != file.stat().st_size:
            with replacing(target) as part:
                shutil.copyfile(file, part)
        paths.append(target)
    return paths
