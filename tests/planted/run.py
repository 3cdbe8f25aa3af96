"""Plant faults and see that the tests find them: ``python -m tests.planted.run``, or only some, by name.

Each fault of ``faults.yaml`` breaks one promise: in a copy of the source it replaces one text within one
function, class or constant, in whatever module that is.
Each of the tests that it names must then fail; all of them hold without it.
"""

from __future__ import annotations

import argparse
import ast
import multiprocessing
import os
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import pytest
from ruamel.yaml import YAML

__all__ = ["PACKAGE", "ROOT", "Fault", "faults", "table"]

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "quaver"
FAULTS = Path(__file__).with_name("faults.yaml")
_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_LONGEST = 120
"""Seconds after which the tests of a fault are ended; they take a few."""
_HELD, _FAILED, _ELSEWHERE = 0, 1, 99
"""How pytest exits where all tests hold and where some fail; and how a process where the tests took Quaver
from another folder than the one with the fault."""
_FAILURE = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
"""A test whose fixture is made in vain has found the fault, too."""
_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(
    [
        "numpy",
        "polars",
        "scipy.stats",
        "pydantic",
        "jinja2",
        "hypothesis",
        "pytest",
        "aiohttp",
        "typer",
        "rich",
    ]
)
"""Every fault has a process of its own; what none of them changes is imported once, before they part."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault to plant.

    Attributes:
        stage: Where it is: ``asked``, ``paid``, ``stored`` and so on.
        name: Its name.
        breaks: What no longer holds, in words.
        within: The function, class or constant of a module that holds it, or the table of a TOML file,
            wherever that stands.
        old: A text that stands there once.
        new: What takes its place.
        tests: Those that find it, each by its file and name.
    """

    stage: str
    name: str
    breaks: str
    within: str
    old: str
    new: str
    tests: tuple[str, ...]

    def place(self, package: Path) -> tuple[Path, str]:
        """The file that holds it, and the file's text with the fault.

        Raises:
            ValueError: What it replaces does not stand there exactly once.
        """
        held = [
            (file, text, part)
            for file, text, parts in _modules(package)
            for part in parts.get(self.within, ())
            if part.count(self.old) == 1
        ]
        if len(held) != 1:
            where = ", ".join(str(file) for file, *_ in held) or "no module"
            raise ValueError(f"{self.name}: held by {where} within {self.within}, not by one:\n{self.old}")
        ((file, text, part),) = held
        return file, text.replace(part, part.replace(self.old, self.new))


@cache
def _modules(package: Path) -> list[tuple[Path, str, dict[str, list[str]]]]:
    """Each module's file, its text, and the texts of what it defines, by name; of TOML files the tables."""
    found = []
    for file in sorted(package.rglob("*.toml")):
        text = file.read_text(encoding="utf-8")
        tables = re.split(r"^\[(\w+)\]$", text, flags=re.MULTILINE)
        found.append(
            (file, text, {name: [table] for name, table in zip(tables[1::2], tables[2::2], strict=True)})
        )
    for file in sorted(package.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        lines, parts = text.splitlines(keepends=True), defaultdict[str, list[str]](list)
        for node in ast.parse(text).body:
            first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
            names = [node.name] if isinstance(node, _NAMED) else map(ast.unparse, _targets(node))
            for name in names:
                parts[name].append("".join(lines[first - 1 : node.end_lineno]))
        found.append((file, text, dict(parts)))
    return found


def _targets(node: ast.stmt) -> list[ast.expr]:
    if isinstance(node, ast.AnnAssign):
        return [node.target]
    if not isinstance(node, ast.Assign):
        return []
    return [name for one in node.targets for name in (one.elts if isinstance(one, ast.Tuple) else [one])]


class Finding(NamedTuple):
    """What became of a planted fault.

    Attributes:
        fault: The fault.
        why: Why it was not found; empty where every one of its tests failed.
        seconds: How long its tests took.
    """

    fault: Fault
    why: str
    seconds: float


def faults() -> list[Fault]:
    """All of them, in their order."""
    read: Mapping[str, Mapping[str, Mapping[str, str]]] = YAML(typ="safe").load(FAULTS)
    return [
        Fault(stage, name, one["breaks"], one["within"], one["old"], one["new"], tuple(one["tests"].split()))
        for stage, some in read.items()
        for name, one in some.items()
    ]


def table() -> str:
    """The faults and what finds them, as the docs show it."""
    rows = ["| planted fault | found by |", "| --- | --- |"]
    for stage, some in groupby(faults(), key=lambda one: one.stage):
        rows.append(f"| **{stage[:1].upper()}{stage[1:]}** | |")
        rows += [f"| {one.breaks} | {', '.join(f'`{test}`' for test in one.tests)} |" for one in some]
    return "\n".join(rows)


def _run_tests(source: str, tests: Sequence[str], told: str) -> None:
    """Run tests with Quaver taken from a folder, and exit as pytest does: what a process of its own does.

    Args:
        source: The folder.
        tests: The tests.
        told: The file that takes what they print.
    """
    os.setpgid(0, 0)
    out = os.open(told, os.O_WRONLY | os.O_CREAT)
    os.dup2(out, 1)
    os.dup2(out, 2)
    sys.path.insert(0, source)
    os.environ |= {"PYTHONPATH": source, "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "1000"}
    sys.dont_write_bytecode = True
    options = ["-q", "-rfE", "--no-header", "--tb=line", "-p", "no:cacheprovider", f"--basetemp={told}.tmp"]
    code = pytest.main([*options, f"--rootdir={ROOT}", *tests])
    taken = str(sys.modules["quaver"].__file__ or "") if "quaver" in sys.modules else ""
    sys.stdout.flush()
    os._exit(int(code) if taken.startswith(source) else _ELSEWHERE)


def _pytest(source: Path, tests: Sequence[str]) -> tuple[int | None, str]:
    """How pytest exits, and what it prints, with Quaver taken from a folder."""
    with tempfile.TemporaryDirectory() as scratch:
        told = Path(scratch) / "told"
        process = _PROCESSES.Process(target=_run_tests, args=(str(source), list(tests), str(told)))
        process.start()
        process.join(_LONGEST + len(tests))
        if process.is_alive():
            os.killpg(process.pid or 0, signal.SIGKILL)
            process.join()
            return None, f"no end within {_LONGEST} seconds"
        return process.exitcode, told.read_text(encoding="utf-8", errors="replace") if told.exists() else ""


def find(fault: Fault) -> Finding:
    """Plant a fault in a copy of the source and run its tests."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(shutil.copytree(ROOT / "src", Path(folder) / "src"))  # what is compiled comes along
        file, text = fault.place(PACKAGE)
        (source / "quaver" / file.relative_to(PACKAGE)).write_text(text, encoding="utf-8")
        code, told = _pytest(source, fault.tests)
    seconds = time.monotonic() - began
    if code not in (_HELD, _FAILED):
        return Finding(fault, f"the tests do not run (pytest exits with {code}):\n{told[-2000:]}", seconds)
    failed = [found.partition("[")[0] for found in _FAILURE.findall(told)]
    held = [test for test in fault.tests if test.partition("[")[0] not in failed]
    return Finding(fault, f"still holds: {', '.join(held)}" if held else "", seconds)


def _wanted(names: Sequence[str]) -> list[Fault]:
    known = {one.name: one for one in faults()}
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, 1)
            sys.exit(f"no fault is called {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
    return [known[name] for name in names] if names else list(known.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="only these faults")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many at once")
    parser.add_argument("--table", action="store_true", help="only print the table that the docs show")
    given = parser.parse_args()
    if given.table:
        print(table())
        return 0
    planted = _wanted(given.names)
    began = time.monotonic()
    code, told = _pytest(ROOT / "src", sorted({test for one in planted for test in one.tests}))
    if code != _HELD:
        print(f"the tests fail before anything is planted:\n{told[-4000:]}")
        return 1
    print(f"without a fault all tests hold ({time.monotonic() - began:.0f} s)", flush=True)
    missed: list[Finding] = []
    with ThreadPoolExecutor(max(1, given.jobs)) as pool:
        for one in pool.map(find, planted):
            missed += [one] if one.why else []
            state = "MISSED" if one.why else "found "
            print(f"{state} {one.seconds:5.1f} s  {one.fault.name}  {one.why}".rstrip(), flush=True)
    print(
        f"{len(planted) - len(missed)} of {len(planted)} planted faults were found, "
        f"in {time.monotonic() - began:.0f} s"
    )
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
