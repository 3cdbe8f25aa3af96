"""What is made of a study's answers, kept in its folder for as long as all that it rests on stays the same.

The annotation frame, what was measured, a paper's tables and pictures: each is kept with a mark. What has the
mark of the study as it is now is read as it was kept, and its items and prompts are not made anew for it.
Wherever it is in doubt whether something could have changed a number, the mark is another one.
"""

from __future__ import annotations

import json
import platform
import secrets
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache, partial, wraps
from hashlib import blake2b
from importlib.metadata import EntryPoint, distributions
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import numpy as np

from quaver._secrets import texts_in
from quaver.collect.store.response_store import Store
from quaver.core.records import Estimate, IntervalWarning
from quaver.core.replaced_file import document_in, replace_document
from quaver.errors import StoreError
from quaver.study.sources.study_folder import StudyFolder
from quaver.study.sources.study_source import StudySource

Measured = TypeVar("Measured", bound=Callable[..., list[Estimate]])

_STARTED: Final = time.time()
"""When this process began: code that has changed since is not the code that it runs."""
_HOME: Final = Path(__file__).parents[2]
_LARGE: Final = 4 * 2**20
"""Bytes of a file that is known by its size and times rather than by its content."""


# ------------------------------------------------------------------------------------ what it rests on


@cache
def quaver_code() -> str:
    """A digest of Quaver's own files: between two releases, its version says nothing of them."""
    return _mark([*map(file_mark, _inside(_HOME))])


@cache
def _foreign() -> tuple[EntryPoint, ...]:
    """The plug-ins of other packages."""
    every = (entry for package in distributions() for entry in package.entry_points)
    others = (one for one in every if not one.value.startswith("quaver."))
    return tuple(one for one in others if one.group.startswith("quaver."))


@cache
def _code() -> str:
    """Changes with the code of Quaver and of plug-ins, with the packages there are, and with the machine.

    Code that has changed since this process began may be in use or not: nothing is kept under its mark.
    """
    files = _inside(_HOME)
    for entry in _foreign():
        found = find_spec(entry.module.partition(".")[0])
        for home in (found.submodule_search_locations or [found.origin or ""]) if found else ():
            files += _inside(Path(home))
    packages = [path for place in sys.path for path in sorted(Path(place).glob("*.*-info"))]
    if any(path.stat().st_ctime > _STARTED for path in (*files, *packages)):
        return secrets.token_hex()
    names = [path.name for path in packages]
    return _mark([*map(file_mark, files), names, sys.version, platform.platform()])


def _inside(home: Path) -> list[Path]:
    """The files in a folder, or the one."""
    paths = sorted(home.rglob("*")) or [home]
    return [path for path in paths if path.suffix != ".pyc" and path.is_file()]


def inputs_of(study: StudySource) -> str:
    """Changes with what a study resolves to: its file, the files that it names, its models, all code."""
    document = study.decided.model_dump(mode="json")
    named = {text for loc, text in texts_in(document) if text and loc[:1] != ("models",)}
    parts = [document, study.identified, _code()]
    parts += [file_mark(study.positions.path_of(name)) for name in sorted(named)]
    return _mark([*parts, file_mark(study.files.paraphrases)])


def file_mark(path: Path) -> Any:
    """Changes with a file's content, or with the files in a folder; nothing where there is neither."""
    try:
        if path.is_dir():
            return [file_mark(one) for one in sorted(path.iterdir()) if one.suffix in (".txt", ".ann")]
        if not path.is_file():
            return None
        known = path.stat()
        if known.st_size > _LARGE:
            return [known.st_size, known.st_mtime_ns, known.st_ctime_ns, known.st_ino]
        return blake2b(path.read_bytes(), digest_size=16).hexdigest(), path.name
    except (OSError, ValueError):  # a text that can be no path, or what cannot be read
        return None


def _mark(of: Any) -> str:
    """A digest of what JSON can hold; of anything else, another one each time."""
    text = json.dumps(of, default=lambda _: secrets.token_hex())
    return blake2b(text.encode(), digest_size=16).hexdigest()


def rests_on(study: StudySource) -> str:
    """Changes with all that the annotations of a study's stored answers rest on, but for the answers.

    Of items with pictures, pages or recordings, and where another package has plug-ins, what the study
    resolved to counts too: these may read files that the study's file does not name.
    """
    parts = [inputs_of(study), study.gold_files.digest()]
    if study.resolved_from not in (None, parts[0]):
        parts.append(study.resolved_from)  # its files have changed since, which it does not see
    if study.spec.items.media or study.spec.items.reads_pages or _foreign():
        parts += [study.experiment.items_hash, study.fingerprint]
    return _mark(parts)


def mark_in(study: StudySource, store: Store) -> str:
    """Changes with all that the annotations of a study's stored answers rest on."""
    return f"{rests_on(study)} {store.state()};"


def mark_of(study: StudySource) -> str | None:
    """Changes with all that anything made of a study rests on; None where nothing is kept of its source."""
    whole: StudySource = getattr(study, "whole", study)
    if not whole.owns_folder or not (whole.filled is study.filled is None):
        return None
    if not (whole.has_answers and whole.files.responses.exists()):
        return rests_on(whole)
    with whole.files.store() as store:
        mark, noted = mark_in(whole, store), store.noted("annotations") or ""
    return noted if noted.startswith(mark) else mark  # and with the evaluators that it was read by


# ------------------------------------------------------------------------------------------ what is kept


def kept(
    studies: Mapping[str, StudySource],
    name: str,
    asked: Any,
    make: Callable[[], Any],
    mark: str | None = None,
) -> Any:
    """What is made of studies: as it was kept, or made now and kept in the first one's folder.

    Args:
        studies: The studies, by name.
        name: What the file is called.
        asked: All that it is made of beside the studies, as data.
        make: Makes it, of what JSON can hold, of estimates and of tuples; anything else is not kept.
        mark: The mark of the only study, where it is known.
    """
    sources = [*studies.values()]
    marks = [mark or mark_of(study) for study in sources]
    if None in marks:
        return make()
    of = _mark([asked, [*studies], marks])
    folder = StudyFolder(sources[0].folder / "kept")
    path = folder.path / f"{name}.json"
    with suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
        document = document_in(path)
        if document["mark"] == of:
            return _made(document["made"])
    made = make()
    if marks == [*map(mark_of, sources)]:
        with suppress(StoreError, TypeError):  # a folder that cannot be written, what JSON cannot hold
            document = {"mark": of, "made": _written(made)}
            folder.make()
            replace_document(path, document)
    return made


def kept_estimates(measured: Measured) -> Measured:
    """What a method measures of a study is kept, under the mark that its object has; of none, nothing is."""

    @wraps(measured)
    def taken(of: Any, *asked: Any) -> Any:
        make = partial(measured, of, *asked)
        if of.mark is None:
            return make()
        name, beside = measured.__name__.strip("_"), [part for part in asked if part is not None]
        if beside and isinstance(beside[0], str):
            name += f"-{beside[0]}"
        return kept({of.study.gold_field: of.study}, name, beside, make, of.mark)

    return cast(Measured, taken)


def _written(value: Any) -> Any:
    """A value as JSON that says of which kind each part is that JSON has no kind for."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, np.generic):
        return _written(value.item())
    if isinstance(value, list):
        return list(map(_written, value))
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return {"#tuple": [*map(_written, value)]}
    if isinstance(value, IntervalWarning):
        return {"#warning": str(value)}
    if isinstance(value, Estimate) and value.draws is None:
        return {"#estimate": [_written(getattr(value, name)) for name in Estimate.__slots__]}
    if isinstance(value, Mapping):
        return {"#pairs": [[*map(_written, pair)] for pair in value.items()]}
    raise TypeError(f"a {type(value).__name__} is not kept")


def _made(value: Any) -> Any:
    """What was written so."""
    if isinstance(value, list):
        return list(map(_made, value))
    if not isinstance(value, dict):
        return value
    ((kind, parts),) = value.items()
    return _KINDS[kind](_made(parts))


_KINDS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "#tuple": tuple,
    "#warning": IntervalWarning,
    "#estimate": lambda facts: Estimate(*facts),
    "#pairs": dict,
}
