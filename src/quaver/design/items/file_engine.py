"""Reads PDF files and pictures in a process of its own, which `FileEngine` begins: ``python file_engine.py``.

A file of kilobytes may stand for gigabytes, or for hours of work. So the process has a limit of memory, for
each file one of time, and counts what it hands on. It imports nothing of Quaver.

A request is a line of JSON and the file, of as many bytes as ``size`` says; so is the reply, with the text or
the picture, or with the ``problem`` for which there is none.
"""

from __future__ import annotations

import io
import json
import logging
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

_SECONDS = 120
_MEMORY = 768 * 2**20
_BEST: Final = 95
"""The quality of a JPEG that is written anew for another reason."""

_KEPT: Final = ("L", "LA", "RGB", "RGBA", "CMYK")
_ORIENTATION: Final = 0x0112


def text_of_pages(content: bytes, first: int, last: int, most: int) -> bytes:
    """The text of the pages from one number to another; 0 stands for the last page."""
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(content))
    if reader.is_encrypted and not reader.decrypt(""):
        raise ValueError("it has a password")
    texts, left = list[bytes](), most
    for page in reader.pages[first - 1 : last or None]:
        texts.append(page.extract_text().strip().encode("utf-8", "replace"))
        left -= len(texts[-1])
        if left < 0:
            raise ValueError(f"its text has more than {most:,} bytes")
    if not any(texts):
        raise ValueError("it holds no text; scanned pages are pictures")
    return b"\n\n".join(filter(None, texts))


def changed_picture(content: bytes, changes: Sequence[str]) -> bytes:
    """A picture changed in order: ``size 50%``, ``crop 80%``, ``JPEG 30``; of a moving one the first frame.

    A JPEG stays one, and anything else is written as PNG, which loses nothing. Of what stands beside the
    pixels, the profile of colours and the orientation are kept.
    """
    from PIL import Image

    warnings.simplefilter("error", Image.DecompressionBombWarning)
    image: Any = Image.open(io.BytesIO(content), formats=("PNG", "JPEG", "GIF", "WEBP"))
    form, beside = image.format, {"icc_profile": image.info.get("icc_profile")}
    if orientation := image.getexif().get(_ORIENTATION):
        beside["exif"] = Image.Exif()
        beside["exif"][_ORIENTATION] = orientation
    image.load()
    if image.mode[0] in "IF":
        raise ValueError("a picture of more than 8 bits a channel")
    if image.mode not in _KEPT:
        image = image.convert("RGBA" if image.has_transparency_data else "RGB")
    form, quality = ("JPEG", _BEST) if form in ("JPEG", "MPO") else ("PNG", _BEST)
    for change in changes:
        way, number = change.rstrip("%").split()
        width, height = (max(1, round(side * int(number) / 100)) for side in image.size)
        if way == "size":
            image = image.resize((width, height), Image.Resampling.LANCZOS)
        elif way == "crop":
            left, top = (image.width - width) // 2, (image.height - height) // 2
            image = image.crop((left, top, left + width, top + height))
        else:
            form, quality = "JPEG", int(number)
    if form == "JPEG" and image.mode in ("LA", "RGBA"):  # what can be seen through is white
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image.convert("RGBA"))
        image = image.convert("RGB")
    written = io.BytesIO()
    image.save(written, form, quality=quality, **beside)
    return written.getvalue()


_WAYS: Mapping[str, Callable[..., bytes]] = {"text": text_of_pages, "picture": changed_picture}


def _limit(name: str, amount: int, *, lasting: bool) -> None:
    with suppress(ImportError, ValueError):  # not every system has such limits
        import resource

        if not lasting:
            amount += 1 + int(sum(resource.getrusage(resource.RUSAGE_SELF)[:2]))
        kind = getattr(resource, name)
        _, hard = resource.getrlimit(kind)
        amount = amount if hard == resource.RLIM_INFINITY else min(amount, hard)
        resource.setrlimit(kind, (amount, amount if lasting else hard))


def main() -> None:
    """Answer requests, each under a limit of memory and time."""
    logging.disable()  # what is odd about a file is no news
    given, taken, sys.stdout = sys.stdin.buffer, sys.stdout.buffer, sys.stderr
    _limit("RLIMIT_DATA", _MEMORY, lasting=True)
    while line := given.readline():
        asked = json.loads(line)
        _limit("RLIMIT_CPU", _SECONDS, lasting=False)
        made, problem, content = b"", "", given.read(asked.pop("size"))
        try:
            made = _WAYS[asked.pop("way")](content, **asked)
        except MemoryError:
            problem = "reading it takes more memory than a file may"
        except BaseException as error:  # a hostile file may make a reader raise anything
            problem = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        taken.write(json.dumps({"size": len(made), "problem": problem}).encode() + b"\n" + made)
        taken.flush()


if __name__ == "__main__":
    main()
