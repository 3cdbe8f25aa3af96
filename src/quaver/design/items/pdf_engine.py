"""Reads the text of a PDF file in a process of its own: ``python pdf_engine.py FIRST LAST BYTES < FILE``.

A PDF file of kilobytes may stand for gigabytes, or for hours of work. So the process has a limit of memory
and time, and counts what it hands on. It imports nothing of Quaver.

It writes JSON: the ``text`` of the pages, or the ``problem`` for which there is none.
"""

from __future__ import annotations

import io
import json
import logging
import sys
from contextlib import suppress

_SECONDS = 120
_MEMORY = 768 * 2**20


def text_of_pages(content: bytes, first: int, last: int, most: int) -> str:
    """The text of the pages from one number to another; 0 stands for the last page."""
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(content))
    if reader.is_encrypted and not reader.decrypt(""):
        raise ValueError("it has a password")
    texts, left = list[str](), most
    for page in reader.pages[first - 1 : last or None]:
        texts.append(page.extract_text().strip())
        left -= len(texts[-1].encode("utf-8", "replace"))
        if left < 0:
            raise ValueError(f"its text has more than {most:,} bytes")
    return "\n\n".join(filter(None, texts))


def main() -> None:
    """Write the text under a limit of memory and time."""
    first, last, most = map(int, sys.argv[1:])
    logging.disable()  # what is odd about a file is no news
    with suppress(ImportError, ValueError):  # not every system has such limits
        import resource

        for limit, amount in ((resource.RLIMIT_DATA, _MEMORY), (resource.RLIMIT_CPU, _SECONDS)):
            _, hard = resource.getrlimit(limit)
            amount = amount if hard == resource.RLIM_INFINITY else min(amount, hard)
            resource.setrlimit(limit, (amount, amount))
    try:
        text = text_of_pages(sys.stdin.buffer.read(), first, last, most)
        said = {"text": text} if text else {"problem": "it holds no text; scanned pages are pictures"}
    except MemoryError:
        said = {"problem": "reading it takes more memory than a file may"}
    except BaseException as error:  # a hostile file may make a reader raise anything
        said = {"problem": " ".join(f"{type(error).__name__}: {error}".split())[:200]}
    sys.stdout.write(json.dumps(said))


if __name__ == "__main__":
    main()
