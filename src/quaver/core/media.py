"""Pictures, pages and recordings: what a file is, by its bytes, and where these are kept and found again.

A file may come from anybody. Nothing here decodes one: its kind and its size in pixels stand at fixed places.
"""

from __future__ import annotations

import base64
import json
import sqlite3
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from quaver.core.input_budget import TooLarge, read_file
from quaver.errors import ItemError, StoreError

MOST_BYTES: Final = 32 * 2**20
"""Bytes of one file; no provider takes more within a request."""

_MOST_SIDE: Final = 20_000
"""Pixels of a picture's longer side: a file of kilobytes may claim gigabytes of them."""

KINDS: Final[Mapping[str, frozenset[str]]] = {
    "images": frozenset(["image/png", "image/jpeg", "image/gif", "image/webp"]),
    "pdf": frozenset(["application/pdf"]),
    "audio": frozenset(["audio/wav", "audio/mpeg", "audio/flac", "audio/ogg"]),
}
"""The media types of each kind of file, by the key of the study file that names its column."""


_WORDS: Final = {"images": "picture", "audio": "recording", "pdf": "document"}


def item_word(items: Mapping[str, Any]) -> str:
    """What the items of a study are, by the part of the study file: texts, unless they bring files alone.

    >>> item_word({"images": "file", "text": {"text": ""}}), item_word({"text": {"text": "{{ tweet }}"}})
    ('picture', 'text')
    """
    texts = (items.get("text") or {"": "{{ text }}"}).values()
    words = [word for kind, word in _WORDS.items() if items.get(kind)]
    return words[0] if len(words) == 1 and {*texts} <= {"", "{{ pdf }}"} else "text"


@dataclass(frozen=True, slots=True)
class Medium:
    """A file that an item brings beside its text, or instead of one.

    Attributes:
        name: How the item's cell names it; of data: ``data:`` alone.
        type: Its media type; empty where it cannot be used.
        sha256: Of its bytes, in hexadecimal.
        size: How many bytes it has.
        width, height: Of a picture, in pixels.
        problem: Why it cannot be used.
        source: Where its bytes are: a file, a file of `keep_media`, or a ``data:`` URI.
        versions: What variants show in the place of a picture, by what they do to it.
    """

    name: str
    type: str = ""
    sha256: str = ""
    size: int = 0
    width: int = 0
    height: int = 0
    problem: str = field(default="", compare=False)
    source: str = field(default="", compare=False, repr=False)
    versions: Mapping[tuple[str, ...], Medium] = field(default_factory=dict, compare=False, repr=False)

    @property
    def kind(self) -> str:
        """What it is, by the study file's key; empty where it cannot be used."""
        return next((kind for kind, types in KINDS.items() if self.type in types), "")

    @property
    def every(self) -> Sequence[Medium]:
        """It and its versions."""
        return (self, *self.versions.values())

    @property
    def noted(self) -> str:
        """What a prompt's record has of it, and so every call's key: its bytes count, its name does not."""
        about = {"type": self.type, "sha256": self.sha256, "bytes": self.size}
        return json.dumps(about | ({"width": self.width, "height": self.height} if self.width else {}))

    def __str__(self) -> str:
        return f"[{self.name}, {self.size / 1000:,.1f} kB]" if self.type else f"[{self.name}: {self.problem}]"

    def content(self) -> bytes:
        """Its bytes, as they were when the item was read.

        Raises:
            ItemError: It cannot be used, or has changed since.
        """
        content = b""
        if self.source.endswith(".db"):
            content = kept_medium(Path(self.source), self.sha256)
        elif self.type:
            content = _bytes_at(self.source)
        if not content or sha256(content).hexdigest() != self.sha256:
            raise ItemError(
                "this file is no longer what it was when the items were read",
                where=self.name[:120],
                expected=f"the SHA-256 {self.sha256}",
                found=self.problem or "other bytes",
                fix="run again: what has changed is asked again",
            )
        return content

    def uri(self) -> str:
        """Its bytes as a ``data:`` URI."""
        return f"data:{self.type};base64,{self.base64()}"

    def base64(self) -> str:
        """Its bytes as JSON can hold them."""
        return base64.b64encode(self.content()).decode()


def noted_medium(noted: str, kept: Path) -> Medium:
    """The medium that a prompt's record notes, in a file of `keep_media`."""
    try:
        about = {"width": 0, "height": 0} | json.loads(noted)
        digest, media_type = str(about["sha256"]), str(about["type"])
        size, width, height = (int(about[name]) for name in ("bytes", "width", "height"))
    except (ValueError, TypeError, KeyError):  # who made it is not known
        return Medium(noted[:120], problem="it is not recorded what this file is")
    return Medium(digest, media_type, digest, size, width, height, source=str(kept))


def noted_in_words(noted: str) -> str:
    """What a prompt's record notes, for people.

    >>> noted_in_words('{"type": "image/png", "sha256": "0f", "bytes": 2300, "width": 8, "height": 6}')
    'image/png, 8 × 6 pixels, 2.3 kB'
    """
    medium = noted_medium(noted, Path())
    sides = f", {medium.width:,} × {medium.height:,} pixels" if medium.width else ""
    return f"{medium.type}{sides}, {medium.size / 1000:,.1f} kB" if medium.type else "no file"


def medium_of(name: str, source: str, kind: str) -> Medium:
    """What a file is; of one that cannot be used why not, which is no error of the other items.

    Args:
        name: How the item's cell names it.
        source: A file, or a ``data:`` URI.
        kind: What it should be, by the study file's key.
    """
    try:
        content = _bytes_at(source)
        media_type = type_of(content)
        width, height = _sides(content, media_type) if media_type in KINDS[kind] else (0, 0)
    except OSError as error:
        return Medium(name, problem=error.strerror or str(error))
    except ValueError as error:
        return Medium(name, problem=str(error))
    except (struct.error, IndexError):
        return Medium(name, problem="it is cut off")
    if media_type not in KINDS[kind]:
        wanted = ", ".join(sorted(known.partition("/")[2] for known in KINDS[kind]))
        given = (media_type or f"a file that begins with {content[:8]!r}") if content else "nothing"
        return Medium(name, problem=f"{given} instead of {wanted}")
    return Medium(name, media_type, sha256(content).hexdigest(), len(content), width, height, "", source)


def _bytes_at(source: str) -> bytes:
    """The bytes of a file, or of a ``data:`` URI in Base64."""
    if not source.startswith("data:"):
        return read_file(Path(source), MOST_BYTES)
    head, _, data = source.partition(",")
    if not head.endswith(";base64"):
        raise ValueError("a data: URI that is not in Base64")
    if len(data) > MOST_BYTES * 4 // 3 + 4:
        raise TooLarge(f"more than {MOST_BYTES:,} bytes")
    return base64.b64decode(data, validate=True)


_STARTS: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"ID3", "audio/mpeg"),
    (b"fLaC", "audio/flac"),
    (b"OggS", "audio/ogg"),
)
_IN_RIFF: Final = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}


def type_of(content: bytes) -> str:
    r"""The media type of a file by its first bytes; empty for any that is not known.

    >>> type_of(b"GIF89a\x01\x00\x01\x00"), type_of(b"<svg onload='alert(1)'/>")
    ('image/gif', '')
    """
    if content[:4] == b"RIFF":
        return _IN_RIFF.get(content[8:12], "")
    for start, media_type in _STARTS:
        if content.startswith(start):
            return media_type
    # A frame of MPEG audio: eleven bits that are set, a version that exists, and layer III.
    is_frame = content[:1] == b"\xff" and len(content) > 1 and content[1] & 0xE6 == 0xE2
    return "audio/mpeg" if is_frame and content[1] & 0x18 != 0x08 else ""


def _sides(content: bytes, media_type: str) -> tuple[int, int]:
    """Width and height of a picture; of anything else 0.

    Raises:
        ValueError: It is not whole, or its sides are none that a picture may have.
    """
    if media_type not in _SIDES:
        return 0, 0
    width, height = _SIDES[media_type](content)
    if not (0 < width <= _MOST_SIDE and 0 < height <= _MOST_SIDE):
        raise ValueError(
            f"a picture of {width:,} × {height:,} pixels, of which a side may have {_MOST_SIDE:,}"
        )
    return width, height


def _of_png(content: bytes) -> tuple[int, int]:
    end = content.find(b"IEND\xaeB`\x82")
    if content[12:16] != b"IHDR" or end < 0:
        raise ValueError("it is cut off")
    if end + 8 != len(content):
        raise ValueError("something else stands behind the picture")
    width, height = struct.unpack_from(">II", content, 16)
    return width, height


def _of_gif(content: bytes) -> tuple[int, int]:
    if not content.rstrip(b"\0").endswith(b";"):
        raise ValueError("it is cut off, or something else stands behind the picture")
    width, height = struct.unpack_from("<HH", content, 6)
    return width, height


def _of_jpeg(content: bytes) -> tuple[int, int]:
    """The sides in the frame's header, behind segments that each say how long they are."""
    at = 2
    while True:
        mark, code, length = struct.unpack_from(">BBH", content, at)
        if mark != 0xFF:
            raise ValueError("its segments are damaged")
        if code == 0xFF:  # fills a gap
            at += 1
        elif 0xC0 <= code <= 0xCF and code not in (0xC4, 0xC8, 0xCC):
            break
        else:
            at += 2 + length
    if content.find(b"\xff\xd9", at) < 0:
        raise ValueError("it is cut off")
    height, width = struct.unpack_from(">HH", content, at + 5)
    return width, height


def _of_webp(content: bytes) -> tuple[int, int]:
    if struct.unpack_from("<I", content, 4)[0] + 8 > len(content):
        raise ValueError("it is cut off")
    form = content[12:16]
    if form == b"VP8X":
        return 1 + int.from_bytes(content[24:27], "little"), 1 + int.from_bytes(content[27:30], "little")
    if form == b"VP8L":
        bits = struct.unpack_from("<I", content, 21)[0]
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    width, height = struct.unpack_from("<HH", content, 26)
    return width & 0x3FFF, height & 0x3FFF


_SIDES: Final[Mapping[str, Callable[[bytes], tuple[int, int]]]] = {
    "image/png": _of_png,
    "image/jpeg": _of_jpeg,
    "image/gif": _of_gif,
    "image/webp": _of_webp,
}


# ------------------------------------------------------------------ what a study keeps of them

_TABLE: Final = "CREATE TABLE IF NOT EXISTS media (sha256 TEXT PRIMARY KEY, type TEXT, content BLOB)"


def keep_media(path: Path, media: Iterable[Medium]) -> None:
    """Keep the bytes of media in one file, each once."""
    for medium in {medium.sha256: medium for medium in media if medium.type}.values():
        if not kept_medium(path, medium.sha256):
            keep_bytes(path, medium.sha256, medium.type, medium.content())


def keep_bytes(path: Path, name: str, media_type: str, content: bytes) -> None:
    """Keep some bytes under a name."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute(_TABLE)
            db.execute("INSERT OR IGNORE INTO media VALUES (?, ?, ?)", (name, media_type, content))
    except (OSError, sqlite3.Error) as error:
        raise _unusable(path, error) from error


def kept_medium(path: Path, digest: str) -> bytes:
    """The bytes of a medium in a file of `keep_media`; empty where it is not there."""
    if not path.is_file():
        return b""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
            row = db.execute("SELECT content FROM media WHERE sha256 = ?", (digest,)).fetchone()
    except sqlite3.Error as error:
        raise _unusable(path, error) from error
    return row[0] if row and isinstance(row[0], bytes) else b""


def _unusable(path: Path, error: Exception) -> StoreError:
    return StoreError(
        "the stored pictures, pages and recordings cannot be read or written",
        where=str(path),
        found=str(error),
    )
