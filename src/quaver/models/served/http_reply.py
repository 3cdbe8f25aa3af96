"""A reply of HTTP/1.1, read from the bytes of a connection as they arrive."""

from __future__ import annotations

import re
import zlib
from collections.abc import Generator, Mapping
from typing import NamedTuple

_STATUS = re.compile(rb"HTTP/1\.([01]) +(\d{3})(?: [^\r\n]*)?")
_LENGTH = re.compile(r"\d{1,15}")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,12})[ \t]*(?:;[^\n]*)?")

_LONGEST_HEAD, _LONGEST_LINE = 2**16, 2**12
_MOST_INFLATED = 2**28
"""Bytes."""

_BODILESS = (204, 205, 304)
_CONTINUES = range(100, 200)
_SWITCHES = 101


class BadReply(Exception):
    """What came is not a reply of HTTP/1.1, or not a whole one."""


class HttpReply(NamedTuple):
    """A reply.

    Attributes:
        status: Its status.
        headers: Its headers, by names in lower case; of several with the same name, the last one.
        content: Its body, without compression.
        stays: Whether the connection can be used again.
    """

    status: int
    headers: Mapping[str, str]
    content: bytes
    stays: bool

    @property
    def is_success(self) -> bool:
        """Whether the status says that it went well."""
        return self.status // 100 == 2


Reading = Generator[None, None, HttpReply]
"""Reads a reply: it stops whenever it needs more bytes than there are, and returns the reply."""


def reading(came: bytearray, ended: list[bool]) -> Reading:
    """Read a reply.

    Args:
        came: The bytes that came; those of the reply are taken out of it.
        ended: Not empty once no more will come.

    Raises:
        BadReply: It is none, or cut off.
    """
    while True:
        while (end := came.find(b"\r\n\r\n", 0, _LONGEST_HEAD)) < 0:
            if ended or len(came) >= _LONGEST_HEAD:
                raise BadReply("the reply has no end of its headers" if came else "no reply")
            yield
        head = bytes(came[:end])
        del came[: end + 4]
        first, _, rest = head.partition(b"\r\n")
        line = _STATUS.fullmatch(first)
        if line is None:
            raise BadReply("this is not a reply of HTTP/1.1")
        status = int(line[2])
        if status not in _CONTINUES or status == _SWITCHES:
            break
    headers = _headers(rest)
    stays = _stays(headers, old=line[1] == b"0")
    coding = headers.get("transfer-encoding", "").lower()
    length = headers.get("content-length")
    if status in _BODILESS or status == _SWITCHES:
        content, stays = b"", stays and status != _SWITCHES
    elif coding:
        if coding != "chunked" or length is not None:
            raise BadReply("the reply's length is unclear")
        content = yield from _chunks(came, ended)
    elif length is not None:
        if not _LENGTH.fullmatch(length):
            raise BadReply("the reply's length is no number")
        content = yield from _taken(came, int(length), ended)
    else:
        while not ended:
            yield
        content, stays = bytes(came), False
        came.clear()
    encoding = headers.get("content-encoding", "identity").lower()
    if encoding in ("gzip", "x-gzip", "deflate"):
        content = _inflated(content, encoding)
    return HttpReply(status, headers, content, stays and not came and not ended)


def _headers(lines: bytes) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in lines.decode("latin-1").split("\r\n"):
        name, _, value = line.partition(":")
        name, value = name.lower(), value.strip()
        if name == "content-length" and found.get(name, value) != value:
            raise BadReply("the reply has two lengths")
        found[name] = value
    return found


def _stays(headers: Mapping[str, str], *, old: bool) -> bool:
    said = headers.get("connection", "").lower()
    return "keep-alive" in said if old else not ("close" in said or "upgrade" in said)


def _taken(came: bytearray, length: int, ended: list[bool]) -> Generator[None, None, bytes]:
    """So many bytes."""
    while len(came) < length:
        if ended:
            raise BadReply(f"the reply ended after {len(came):,} of {length:,} bytes")
        yield
    taken = bytes(came[:length])
    del came[:length]
    return taken


def _chunks(came: bytearray, ended: list[bool]) -> Generator[None, None, bytes]:
    """A body in chunks, with whatever follows the last one."""
    parts: list[bytes] = []
    while True:
        size = _CHUNK.fullmatch((yield from _line(came, ended)))
        if size is None:
            raise BadReply("the length of a chunk of the reply is no number")
        if not (length := int(size[1], 16)):
            break
        chunk = yield from _taken(came, length + 2, ended)
        if not chunk.endswith(b"\r\n"):
            raise BadReply("a chunk of the reply is longer than it says")
        parts.append(chunk[:-2])
    while (yield from _line(came, ended)):
        pass
    return b"".join(parts)


def _line(came: bytearray, ended: list[bool]) -> Generator[None, None, bytes]:
    while (end := came.find(b"\r\n", 0, _LONGEST_LINE)) < 0:
        if ended or len(came) >= _LONGEST_LINE:
            raise BadReply("the reply ended inside its chunks")
        yield
    line = bytes(came[:end])
    del came[: end + 2]
    return line


def _inflated(content: bytes, encoding: str) -> bytes:
    engine = zlib.decompressobj(zlib.MAX_WBITS | (0 if encoding == "deflate" else 16))
    try:
        plain = engine.decompress(content, _MOST_INFLATED)
    except zlib.error:
        raise BadReply("the reply is not compressed as it says") from None
    if not engine.eof:
        raise BadReply("the reply's compression is cut off, or it is too long")
    return plain
