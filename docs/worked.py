"""Put a finished run's output into the page of its kind of study: ``python docs/worked.py KIND FOLDER``.

``FOLDER`` is where you typed ``quaver init KIND``, ``quaver run KIND.yaml --small`` and
``quaver report KIND.small.yaml``. This writes everything between ``<!-- made: … -->`` and ``<!-- end -->``
in ``docs/studies/KIND.md`` again from that run, and copies its figures to ``docs/images/studies/``. Blocks:

- ``run``: what was run, when, by what
- ``finding``: the report's verdict in three sentences
- ``figure NAME``: a figure of the report with its caption
- ``table NAME [COLUMN, COLUMN …] [| ROWS]``: a table of the report, or some of its columns and rows
- ``output COMMAND [| without PATTERN]``: what a command prints, with ``…`` for lines that match the pattern
- ``notes``: what the small version cannot show, from the study file
- ``lines FILE FIRST to LAST``: a part of a file, from the line with FIRST to the line with LAST
"""

from __future__ import annotations

import html
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from textwrap import fill
from unittest.mock import patch

from quaver.report.page import html_page
from quaver.report.page_words import slug
from quaver.report.tables.table import Table, markdown
from quaver.study.session import Study

DOCS = Path(__file__).parent
IMAGES = "images/studies"
_BLOCK = re.compile(r"<!-- made: (\w+)(?: ([^\n]*))? -->\n.*?<!-- end -->", re.DOTALL)
_FIGURE = r'<figure id="figure-{}"[^>]*>\s*<figcaption>(.*?)</figcaption>'


class Run:
    """A finished small run.

    Args:
        kind: Of study.
        folder: Where its commands were typed.
        images: Where its figures go.
        typed: Runs a command there and gives what it prints.
    """

    def __init__(
        self, kind: str, folder: Path, images: Path, typed: Callable[[str], str] | None = None
    ) -> None:
        self.kind, self.folder, self.images = kind, folder, images
        self._typed = typed or self._in_a_shell
        self.results = folder / f"{kind}.small"
        self.report = (self.results / "report.html").read_text(encoding="utf-8")
        self.lock = json.loads((self.results / "study.lock.json").read_text(encoding="utf-8"))

    def page(self, text: str) -> str:
        """A page with its blocks made anew."""
        makers: dict[str, Callable[[str], str]] = {
            "run": self._run,
            "finding": self._finding,
            "figure": self._figure,
            "table": self._table,
            "output": self._output,
            "notes": self._notes,
            "lines": self._lines,
        }

        def made(match: re.Match[str]) -> str:
            what, of = match[1], match[2] or ""
            return f"<!-- made: {f'{what} {of}'.strip()} -->\n{makers[what](of)}\n<!-- end -->"

        return _BLOCK.sub(made, text)

    def _in_a_shell(self, command: str) -> str:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
        done = subprocess.run(
            shlex.split(command),
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"COLUMNS": "110", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8", "PATH": path},
        )
        return done.stdout

    def _run(self, _: str) -> str:
        log = (self.results / "run.log").read_text(encoding="utf-8")
        runs = re.findall(r"^(\S+) .*ended: .*calls in ([\d.]+) s", log, re.MULTILINE)
        seconds = sum(float(took) for _, took in runs)
        (model,) = self.lock["models"].values()
        lock = sha256((self.results / "study.lock.json").read_bytes()).hexdigest()
        study = self.lock["study"]
        about = (
            f"The figures and numbers on this page come from one run of `quaver run {self.kind}.yaml "
            f"--small`, on {runs[-1][0]}: study “{study['name']}”, seed {study['seed']}, "
            f"{self.lock['calls']:,} calls in {seconds:,.0f} s on two cores that were busy with other work; "
            f"`study.lock.json` has SHA-256 `{lock[:16]}…`. Model: `{model['file']}`, "
            f"SHA-256 `{model['sha256'][:16]}…`; Quaver {self.lock['versions']['quaver']}, "
            f"xllamacpp {model['xllamacpp']}. "
            f"`python docs/worked.py {self.kind} FOLDER` puts another run's in their place."
        )
        return fill(about, 130, break_long_words=False, break_on_hyphens=False)

    def _finding(self, _: str) -> str:
        verdict, *said = (
            _plain(one) for one in Study.open(self.folder / f"{self.kind}.small.yaml").verdict().lines
        )
        lines = "\n>\n".join(f"> {one}" for one in (f"**{verdict}**", *said))
        return re.sub(r"`[^`]*`", lambda code: code[0].replace("\\", ""), lines)  # code escapes nothing

    def _figure(self, name: str) -> str:
        caption = re.search(_FIGURE.format(re.escape(name)), self.report, re.DOTALL)
        if caption is None:
            raise SystemExit(f"no figure {name} in {self.results}/report.html")
        title, _, rest = caption[1].partition("</b>")
        self.images.mkdir(parents=True, exist_ok=True)
        picture = f"{self.kind}-{name}.svg"
        (self.images / picture).write_bytes((self.results / "figures" / f"{name}.svg").read_bytes())
        return f"![{_plain(title)}](../{IMAGES}/{picture})\n\n*{_plain(title)}* {_plain(rest)}".rstrip()

    @cached_property
    def _tables(self) -> dict[str, Table]:
        """The report's tables, as they are when it is written again."""
        found: dict[str, Table] = {}
        write = html_page.write_tables

        def kept(tables: Iterable[Table], folder: Path) -> None:
            shown = [*tables]
            found.update({slug(table.name): table for table in shown})
            write(shown, folder)

        with patch.object(html_page, "write_tables", kept):
            Study.open(self.folder / f"{self.kind}.small.yaml").report()
        return found

    def _table(self, of: str) -> str:
        asked, _, rows = of.partition(" | ")
        name, _, columns = asked.partition(" ")
        if name not in self._tables:
            raise SystemExit(f"no table {name}; there are {', '.join(sorted(self._tables))}")
        text = markdown(self._tables[name])
        head, rule, *body = [_cells(line) for line in text.splitlines() if line]
        wanted = [one.strip() for one in columns.split(",") if one.strip()]
        named = [cell.replace("\\", "") for cell in head]  # Markdown escapes underscores
        places = [named.index(one) for one in wanted or named if one != "remarks"]
        shown = body[: int(rows)] if rows else body
        lines = [_row([line[at] for at in places]) for line in (head, rule, *shown)]
        if len(shown) < len(body):
            lines += ["", f"({len(body) - len(shown)} more rows in `tables/{name}.csv`.)"]
        return "\n".join(lines)

    def _output(self, of: str) -> str:
        command, _, without = of.partition(" | without ")
        printed = self._typed(command).strip().splitlines()
        lines = ["…" if without and re.search(without, line) else line.rstrip() for line in printed]
        kept = [line for n, line in enumerate(lines) if line != "…" or lines[n - 1] != "…"]
        return "\n".join(["```text", *kept, "```"])

    def _notes(self, _: str) -> str:
        return "\n\n".join(f"> {note}" for note in self.lock["notes"])

    def _lines(self, of: str) -> str:
        name, _, rest = of.partition(" ")
        first, _, last = rest.partition(" to ")
        lines = (self.folder / name).read_text(encoding="utf-8").splitlines()
        start = next(n for n, line in enumerate(lines) if first in line)
        end = next(n for n, line in enumerate(lines) if n >= start and last in line)
        return "```yaml\n" + "\n".join(lines[start : end + 1]) + "\n```"


def _plain(markup: str) -> str:
    """HTML as a line of Markdown text."""
    text = " ".join(html.unescape(re.sub(r"<[^>]+>", "", markup)).split())
    return re.sub(r"([*_<>\[\]])", r"\\\1", text)


def _cells(line: str) -> list[str]:
    return [one.strip() for one in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def refresh(kind: str, folder: Path, images: Path, typed: Callable[[str], str] | None = None) -> str:
    """A kind's page with everything made anew from a finished run; its figures are written."""
    page = DOCS / "studies" / f"{kind}.md"
    return Run(kind, folder, images, typed).page(page.read_text(encoding="utf-8"))


if __name__ == "__main__":
    kind, folder = sys.argv[1], Path(sys.argv[2])
    (DOCS / "studies" / f"{kind}.md").write_text(refresh(kind, folder, DOCS / IMAGES), encoding="utf-8")
