"""Check the words of code, docs and templates against ``words.toml``.

``python tools/words.py [FILE …]`` prints a line for each finding (file, line, the word, what to write) and
ends with status 1 if there is one; without files it reads all that git tracks. ``--count`` prints how many
findings each word has in each folder.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIST = ROOT / "tools" / "words.toml"
PROSE = {".cff", ".css", ".html", ".js", ".md", ".py", ".toml", ".txt", ".yaml", ".yml", ""}
NOT_OURS = ("benchmarks/", "docs/images/", "tests/", "tools/words", "LICENSE")
"""Pictures, the list itself, and what no user reads."""
_SPACE = r"(?:\s+(?:(?:#|>|//|\*)\s*)?)"
"""A space of a pattern: any white space, and the mark of a comment or a quotation after a line break."""


@dataclass(frozen=True)
class Word:
    """A word to avoid.

    Attributes:
        avoid: Where it occurs.
        write: What to write in its place.
    """

    avoid: re.Pattern[str]
    write: str

    @classmethod
    def of(cls, avoid: str, write: str) -> Word:
        """Compile a pattern of the list."""
        pattern = rf"(?<![A-Za-z])(?:{avoid.replace(' ', _SPACE)})(?![a-z])"
        return cls(re.compile(pattern, re.IGNORECASE), write)


@dataclass
class Keep:
    """A word that must stay where it is.

    Attributes:
        file: The file's path from the root.
        line: A part of the line.
        why: Why it stays.
        used: Whether something was found there.
    """

    file: str
    line: str
    why: str
    used: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class Finding:
    """A word to avoid, where it stands.

    Attributes:
        file: The file's path from the root.
        line: The line's number, from 1.
        found: The word as it is written.
        word: The entry of the list.
    """

    file: str
    line: int
    found: str
    word: Word

    def __str__(self) -> str:
        return f'{self.file}:{self.line}: "{self.found}": write {self.word.write}'


def read_list(path: Path = LIST) -> tuple[list[Word], list[Keep]]:
    """Read the words to avoid, and where they may stay."""
    listed = tomllib.loads(path.read_text(encoding="utf-8"))
    return [Word.of(**one) for one in listed["word"]], [Keep(**one) for one in listed.get("keep", ())]


def findings(file: str, text: str, words: Iterable[Word], keeps: Iterable[Keep] = ()) -> Iterator[Finding]:
    """Find the words in a text, in the order of its lines; mark the exceptions that were used."""
    lines = text.splitlines()
    here = [keep for keep in keeps if keep.file == file]
    found = []
    for word in words:
        for match in word.avoid.finditer(text):
            number = text.count("\n", 0, match.start()) + 1
            kept = [keep for keep in here if keep.line in lines[number - 1]]
            for keep in kept:
                keep.used = True
            if not kept:
                found.append(Finding(file, number, " ".join(match[0].split()), word))
    return iter(sorted(found, key=lambda one: one.line))


def is_checked(file: str) -> bool:
    """Whether a file's words are Quaver's own."""
    return Path(file).suffix in PROSE and not file.startswith(NOT_OURS)


def tracked() -> list[str]:
    """The files that git tracks."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True)
    return [file for file in listed.stdout.split("\0") if file and (ROOT / file).is_file()]


def count(found: Iterable[Finding], words: Iterable[Word]) -> str:
    """A table: a row a word to write, a column a folder."""
    found = list(found)
    folders = sorted({_folder(one.file) for one in found})
    by = Counter((one.word.write, _folder(one.file)) for one in found)
    writes = list(dict.fromkeys(word.write for word in words))
    rows = [["write", *folders, "all"]]
    for write in writes:
        numbers = [by[write, folder] for folder in folders]
        rows.append([write, *(str(number or "") for number in numbers), str(sum(numbers))])
    totals = [sum(by[write, folder] for write in writes) for folder in folders]
    rows.append(["all", *map(str, totals), str(len(found))])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    aligned = [
        [cell.ljust(widths[0]) if not at else cell.rjust(widths[at]) for at, cell in enumerate(row)]
        for row in rows
    ]
    return "\n".join("  ".join(row) for row in aligned)


def _folder(file: str) -> str:
    """Two levels of folders below src/quaver, one elsewhere."""
    parts = Path(file).parts[:-1]
    if parts[:2] == ("src", "quaver"):
        return "/".join(parts[:3]).removeprefix("src/")
    return parts[0] if parts else "."


def main() -> None:
    """Check the files that are named, or all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", help="paths from the root; all that git tracks if none is named")
    parser.add_argument("--count", action="store_true", help="count the findings by word and folder")
    asked = parser.parse_args()
    words, keeps = read_list()
    found: list[Finding] = []
    for file in filter(is_checked, asked.files or tracked()):
        found += findings(file, (ROOT / file).read_text(encoding="utf-8"), words, keeps)
    if asked.count:
        print(count(found, words))
        return
    print(*found, sep="\n", end="\n" if found else "")
    stale = [] if asked.files else [keep for keep in keeps if not keep.used]
    for keep in stale:
        print(f'tools/words.toml: {keep.file} has no word to keep beside "{keep.line}": remove the entry')
    sys.exit(1 if found or stale else 0)


if __name__ == "__main__":
    main()
