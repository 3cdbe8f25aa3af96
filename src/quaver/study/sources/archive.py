"""One archive with checksums: written the same every time, read with suspicion.

A ZIP file whose comment is the SHA-256 of everything before it, and whose first member,
``manifest.json``, has the SHA-256 of every other. Nothing is signed: whoever wants to know that an archive
is the one that was published compares its digest with the published one.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any

from quaver.core.replaced_file import put_in_place
from quaver.errors import StoreError

MANIFEST = "manifest.json"
_NAME = re.compile(r"[^\W.][^/\\:*?\"<>|]*|\.[^\W.][^/\\:*?\"<>|]*")
"""A file's or folder's own name on any system: nothing that a shell or Windows takes for more."""
_LONGEST_AGO = (1980, 1, 1, 0, 0, 0)
_MEMBERS = 256
_CHUNK = 2**20
_MOST_BYTES = 8 * 2**30
_ANYWAY = 2**30
"""Bytes that any archive may grow to: answers that repeat themselves are packed a thousand to one."""
_RATIO = 200
"""Times that a larger one may grow; one that would grow by more is written without compression."""
_SMALL = 16 * 2**20
_UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError),
    *(ValueError, LookupError, OverflowError),
)
"""What reading a damaged archive raises."""
_PACKED_HOW = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class Opened(dict[str, Any]):
    """The manifest of an extracted archive; ``changed`` names what is not as it was packed."""

    def __init__(self, manifest: Mapping[str, Any], changed: Sequence[str], digest: str) -> None:
        super().__init__(manifest)
        self.changed = tuple(changed)
        self.digest = digest


def pack(path: Path, files: Mapping[str, Path], about: Mapping[str, Any]) -> str:
    """Write the archive; the same files give the same bytes (with the same zlib).

    Returns:
        The archive's digest.
    """
    if odd := next((name for name in files if not _plain(name)), None):
        raise StoreError(
            "a file of this name cannot be packed",
            where=odd,
            expected='a path with names without \\ : * ? " < > | that begin with a letter or a digit',
            fix="rename it, also in the study file",
        )
    digests = {name: _digest(file) for name, file in sorted(files.items())}
    text = json.dumps({**about, "files": digests}, indent=1, ensure_ascii=False, sort_keys=True)
    manifest = (text + "\n").encode("utf-8", "backslashreplace")
    total = sum(file.stat().st_size for file in files.values()) + len(manifest)
    if total > _MOST_BYTES or len(files) >= _MEMBERS or len(manifest) > _SMALL:
        raise StoreError(
            "this is too large for one bundle",
            where=str(path),
            expected=f"fewer than {_MEMBERS} files, of less than {_MOST_BYTES:,} bytes",
            found=f"{len(files)} files of {total:,} bytes",
        )
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(part, manifest, files, zipfile.ZIP_DEFLATED)
        if total > _most(part.stat().st_size):
            _write(part, manifest, files, zipfile.ZIP_STORED)
        size = part.stat().st_size - 2  # the digest of all bytes before it becomes the archive's comment
        digest = _digest(part, size)
        with part.open("r+b") as file:
            file.seek(size)
            file.write(_seal(digest))
        put_in_place(part, path)
    except OSError as error:
        raise StoreError("the bundle cannot be written", where=str(path), found=str(error)) from error
    finally:
        part.unlink(missing_ok=True)
    return digest


def _seal(digest: str) -> bytes:
    """The end of an archive: its comment's length, and the comment."""
    comment = f"sha256:{digest}".encode()
    return struct.pack("<H", len(comment)) + comment


def _write(path: Path, manifest: bytes, files: Mapping[str, Path], how: int) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(_member(MANIFEST, how), manifest, compresslevel=6)
        for name, file in sorted(files.items()):
            with file.open("rb") as source, archive.open(_member(name, how), "w", force_zip64=True) as target:
                shutil.copyfileobj(source, target, _CHUNK)


def _member(name: str, how: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _LONGEST_AGO)
    info.compress_type, info.external_attr, info.create_system = how, 0o644 << 16, 3
    return info


def _most(size: int) -> int:
    """Bytes that an archive of a size may grow to, when it is written and when it is read."""
    return min(_MOST_BYTES, max(_ANYWAY, _RATIO * size))


def _digest(path: Path, end: float = inf) -> str:
    """SHA-256 of a file, or of its bytes up to an end."""
    state = hashlib.sha256()
    with path.open("rb") as file:
        while end > 0 and (chunk := file.read(int(min(_CHUNK, end)))):
            state.update(chunk)
            end -= len(chunk)
    return state.hexdigest()


def members_in(folder: Path) -> dict[str, Path]:
    """The files of a folder and of those in it, by their names in an archive."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path for path in files}


def is_archive(path: Path) -> bool:
    """Whether a file begins as archives do, whatever it is called."""
    with path.open("rb") as file:
        return file.read(4) == b"PK\3\4"


def _document(archive: zipfile.ZipFile, name: str) -> dict[str, Any]:
    try:
        with archive.open(name) as file:
            document = json.loads(file.read(_SMALL))
    except (RecursionError, *_UNREADABLE):
        return {}
    return document if isinstance(document, dict) else {}


def extract(path: Path, folder: Path, form: str) -> Opened:
    """Extract an archive, refusing what none of ours holds, and find what was changed."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            _check(path, members, folder)
            manifest = _document(archive, MANIFEST)
            if not isinstance(manifest.get("files"), dict) or manifest.get("form") != form:
                raise _no_bundle(path, f"no {MANIFEST} that can be read, or one of another kind")
            changed = _extracted(archive, members, manifest["files"], folder)
            size = path.stat().st_size - len(archive.comment) - 2
        digest = _digest(path, size)
        with path.open("rb") as file:
            file.seek(size)
            sealed = file.read(_CHUNK)
    except FileNotFoundError:
        raise StoreError(
            "there is no such bundle", where=str(path), fix="`quaver bundle` makes one"
        ) from None
    except _UNREADABLE as error:
        raise _no_bundle(path, str(error)) from None
    except OSError as error:
        raise StoreError("the bundle cannot be read", where=str(path), found=str(error)) from error
    # The comment's length stands outside what the digest is of, and a wrong one is forgiven by zipfile.
    if not changed and sealed != _seal(digest):
        changed = [f"{path.name} (between its files, in the manifest, or in the checksum)"]
    return Opened(manifest, changed, digest)


def _no_bundle(path: Path, found: str) -> StoreError:
    expected = "an archive that `quaver bundle` made"
    return StoreError("this is not a bundle", where=str(path), expected=expected, found=found[:200])


def _check(path: Path, members: Sequence[zipfile.ZipInfo], folder: Path) -> None:
    """Refuse names that lead elsewhere, links, and an archive that grows beyond measure."""
    names = [member.filename for member in members]
    if len(names) > _MEMBERS or len(set(names)) < len(names):
        raise _no_bundle(path, f"{len(names)} files, {len(set(names))} different names")
    refused = ""
    for member in members:
        if not _plain(member.filename) or stat.S_IFMT(member.external_attr >> 16) not in (0, stat.S_IFREG):
            refused = f"a member that would be written elsewhere: {member.filename[:120]!r}"
        elif member.compress_type not in _PACKED_HOW or member.flag_bits & 1:
            raise _no_bundle(path, f"{member.filename} is packed as Quaver packs nothing")
    total = sum(member.file_size for member in members)
    if total > _most(path.stat().st_size):
        refused = f"it grows to {total:,} bytes"
    if refused:
        raise StoreError(
            "this archive is refused",
            where=str(path),
            expected=f"a bundle of plain files, which grows to {_ANYWAY:,} bytes or to "
            f"{_RATIO} times its size",
            found=refused,
        )
    folder.mkdir(parents=True, exist_ok=True)
    if total > (free := shutil.disk_usage(folder).free):
        raise StoreError(
            "there is not enough space to unpack the bundle",
            where=str(folder),
            expected=f"{total:,} free bytes",
            found=f"{free:,}",
            fix="free some space, or set TMPDIR to a folder on another disk",
        )


def _plain(name: str) -> bool:
    parts = list(map(_NAME.fullmatch, name.split("/")))
    return None not in parts and name.isprintable() and len(name.encode()) < 200


def _extracted(
    archive: zipfile.ZipFile, members: Sequence[zipfile.ZipInfo], files: Mapping[str, Any], folder: Path
) -> list[str]:
    """The members that are changed, missing, or not in the manifest; the others are written."""
    names = {member.filename for member in members} - {MANIFEST}
    changed = [f"{name} (missing)" for name in files if name not in names]
    changed += [f"{name} (not in the manifest)" for name in sorted(names - set(files))]
    for member in members:
        name, left = member.filename, member.file_size
        if name == MANIFEST or name not in files:
            continue
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        try:
            with archive.open(member) as source, (folder / name).open("wb") as target:
                while left > 0 and (chunk := source.read(min(_CHUNK, left))):  # no more than it says
                    target.write(chunk)
                    left -= len(chunk)
                is_whole = not left and not source.read(1)
        except _UNREADABLE:
            is_whole = False
        if not is_whole or _digest(folder / name) != files[name]:
            changed.append(name)
    return changed
