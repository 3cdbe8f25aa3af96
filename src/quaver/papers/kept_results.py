"""Tables and pictures that were made of stored answers, kept beside them until what they rest on changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import Any

import quaver
from quaver.core.replaced_file import document_in, replace_document
from quaver.errors import StoreError
from quaver.score.annotation import hash_of
from quaver.study.analysis.annotation_frame import mark_of
from quaver.study.session import Study
from quaver.study.sources.study_folder import StudyFolder

_LIBRARIES = ("polars", "numpy", "scipy", "vl-convert-python", "genai-prices")


def kept(studies: Mapping[str, Study], name: str, asked: Any, make: Callable[[], Any]) -> Any:
    """What is made of the studies' answers: as it was kept, or made now and kept in the first one's folder.

    Args:
        studies: The studies, by name.
        name: What the file is called.
        asked: All that it is made of beside the studies, as data.
        make: Makes it, as a JSON document.
    """
    sources = [study.source for study in studies.values()]
    if any(source.annotations is not None or not source.owns_folder for source in sources):
        return make()
    of = [asked, _code(), {name: _state(study) for name, study in studies.items()}]
    mark = blake2b(json.dumps(of, default=repr).encode(), digest_size=16).hexdigest()
    folder = StudyFolder(sources[0].folder / "kept")
    path = folder.path / f"{name}.json"
    with suppress(OSError, ValueError, TypeError, KeyError):
        document = document_in(path)
        if document["mark"] == mark:
            return document["made"]
    made = make()
    with suppress(StoreError):  # nothing is kept in a folder that cannot be written
        folder.make()
        replace_document(path, {"mark": mark, "made": made})
    return made


def _state(study: Study) -> list[Any]:
    """Changes with a study's answers, and with all else that is measured of them."""
    state = [study.spec.model_dump(), study.experiment.labels, study.experiment.items]
    with suppress(StoreError):  # nothing is stored yet
        state.append(mark_of(study.source))
    return state


@cache
def _code() -> str:
    """Changes with Quaver and with the libraries that compute and draw."""
    files = Path(quaver.__file__).parent.rglob("*.*")
    own = hash_of(tuple(sorted(file for file in files if file.suffix in (".py", ".toml", ".json"))))
    return " ".join([own, *map(version, _LIBRARIES)])
