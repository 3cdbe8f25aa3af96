"""A plug-in's skeleton, written into the package of the current folder: module, entry point, test.

The skeletons are in ``templates/``, two for each kind: what they do is small but real, so that a new plug-in
works, and its test passes, before anything in it is changed.
"""

from __future__ import annotations

import keyword
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from string import Template
from typing import Any

from quaver.core import registry
from quaver.errors import QuaverError, UnknownName

_IMPORTS = re.compile(r"(?:^(?:from \S+ )?import .*\n)(?:\n?^(?:from \S+ )?import .*\n)*", re.MULTILINE)
_MODULE = re.compile(r"(?:from|import) ([\w.]+)")


def arranged(text: str, package: str) -> str:
    r"""Put the first block of imports in order: future, standard library, other packages, the package itself.

    >>> print(arranged("import numpy as np\nfrom mine.a import b\nimport re\n", "mine"), end="")
    import re
    <BLANKLINE>
    import numpy as np
    <BLANKLINE>
    from mine.a import b
    """
    block = _IMPORTS.search(text)
    if not block:
        return text

    def place(line: str) -> tuple[int, bool, str]:
        found = _MODULE.match(line)
        module = found[1] if found else ""
        root = module.partition(".")[0]
        own, standard = root == package, root in sys.stdlib_module_names
        section = 0 if root == "__future__" else 3 if own else 1 if standard else 2
        return section, line.startswith("from"), module.lower()

    lines = sorted(filter(None, block[0].splitlines()), key=place)
    sections = ["\n".join(some) for _, some in groupby(lines, lambda line: place(line)[0])]
    return text[: block.start()] + "\n\n".join(sections) + "\n" + text[block.end() :]


_NEW = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "{name}"
version = "0.1.0"
description = "Plug-ins for Quaver."
requires-python = ">=3.11"
dependencies = ["quaver"]
"""
_TABLE = re.compile(r"^[ \t]*\[.*$", re.MULTILINE)
_KEY = re.compile(r"^[ \t]*([A-Za-z0-9_-]+)[ \t]*=")


class Project:
    """A project's file, as text, so that comments and order stay as they are.

    Args:
        path: Where it is.
        text: What it says.
        made: Whether it is new.
    """

    def __init__(self, path: Path, text: str, *, made: bool) -> None:
        self.path, self.made = path, made
        self._text = text if text.endswith("\n") else f"{text}\n"
        self._data = _read(path, text)

    @property
    def name(self) -> str:
        """The project's name."""
        named: str = self._data["project"]["name"]
        return named

    @property
    def own(self) -> bool:
        """Whether this is Quaver itself."""
        return self.name == "quaver"

    @property
    def package(self) -> Path:
        """The folder of the package that it builds: under ``src`` if it is there or if there is none yet."""
        name, home = self.name.replace("-", "_").replace(".", "_").lower(), self.path.parent
        return next(
            (path for path in (home / "src" / name, home / name) if path.is_dir()), home / "src" / name
        )

    def add_entry(self, group: str, name: str, target: str) -> None:
        """Name an object among a group's entry points; the names stay in order if they were.

        Raises:
            QuaverError: The name is there already, or the file is written in a way that cannot be edited.
        """
        wanted = deepcopy(self._data)
        entries: dict[str, str] = wanted["project"].setdefault("entry-points", {}).setdefault(group, {})
        if name in entries:
            raise QuaverError(
                "this name is taken", where=f"{self.path}: {group}", found=f"{name} = {entries[name]!r}"
            )
        entries[name] = target
        line = f'{name} = "{target}"'
        text = self._with_line(group, name, line)
        try:
            edited = tomllib.loads(text)
        except tomllib.TOMLDecodeError:
            edited = {}
        if edited != wanted:
            raise QuaverError(
                "this file is written in a way that cannot be edited here",
                where=str(self.path),
                fix=f'add {line} under [project.entry-points."{group}"] yourself',
            )
        self._text, self._data = text, wanted

    def _with_line(self, group: str, name: str, line: str) -> str:
        header = re.search(
            rf"""^\[project\.entry-points\.["']{re.escape(group)}["']\][^\n]*\n""", self._text, re.MULTILINE
        )
        if not header:
            return f'{self._text.rstrip()}\n\n[project.entry-points."{group}"]\n{line}\n'
        at = _place(self._text, header.end(), name)
        return f"{self._text[:at]}{line}\n{self._text[at:]}"

    def write(self) -> None:
        """Write it, and its package's first file where there is none."""
        first = self.package / "__init__.py"
        if not first.exists():
            first.parent.mkdir(parents=True, exist_ok=True)
            first.write_text('"""Plug-ins for Quaver."""\n', encoding="utf-8")
        self.path.write_text(self._text, encoding="utf-8")


def opened(home: Path) -> Project:
    """The project of a folder; a new one, not yet written, where the folder has none."""
    path = home / "pyproject.toml"
    if path.is_file():
        return Project(path, path.read_text(encoding="utf-8"), made=False)
    name = re.sub(r"[^a-z0-9]+", "-", home.resolve().name.lower()).strip("-") or "my-package"
    return Project(path, _NEW.format(name=name), made=True)


def _read(path: Path, text: str) -> dict[str, Any]:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise QuaverError("this is not TOML", where=str(path), found=str(error)) from error
    if not isinstance(data.get("project"), dict) or not isinstance(data["project"].get("name"), str):
        raise QuaverError("this file names no project", where=str(path), expected='[project] with name = "…"')
    return data


def _place(text: str, start: int, name: str) -> int:
    """Where in the table that starts there a name belongs: before the first that follows it, else last."""
    following = _TABLE.search(text, start)
    end = following.start() if following else len(text)
    at = last = start
    for line in text[start:end].splitlines(keepends=True):
        key = _KEY.match(line)
        if key and key[1] > name:
            return at
        at += len(line)
        if line.strip():
            last = at
    return last


@dataclass(frozen=True, slots=True)
class _Kind:
    """What is particular to one kind of plug-in.

    Attributes:
        group: Its kind in the registry.
        home: The folder below ``src/quaver`` where Quaver keeps its own; empty where there is a choice.
        is_class: It is a class, and not a function.
    """

    group: registry.Kind
    home: str
    is_class: bool


_LONGEST_NAME = 60
_NO_FILES = frozenset(
    ["con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))]
)

KINDS = {
    "measure": _Kind("measures", "", is_class=False),
    "model": _Kind("models", "models", is_class=True),
    "evaluator": _Kind("evaluators", "score/evaluators", is_class=True),
    "variant": _Kind("variants", "design/variants", is_class=True),
    "chart": _Kind("charts", "report/charts", is_class=False),
}


@dataclass(frozen=True, slots=True)
class Skeleton:
    """What was written.

    Attributes:
        module: The plug-in's file.
        test: Its test.
        project: The ``pyproject.toml`` that names it.
        entry: The line in there.
        group: The table in there.
        made: Whether the project was made, too.
        own: Whether it is Quaver itself.
        opened: The first files of the package's new folders.
    """

    module: Path
    test: Path
    project: Path
    entry: str
    group: str
    made: bool
    own: bool
    opened: tuple[Path, ...]


def write_skeleton(kind: str, name: str, home: Path, *, to: str | None = None) -> Skeleton:
    """Write a plug-in's module and test, and name it in ``pyproject.toml``.

    A folder without a project gets one. Nothing that exists is overwritten.

    Args:
        kind: One of ``KINDS``.
        name: The name that study files use: lower case, with underscores.
        home: The project's folder.
        to: The folder of the module within the package; if left out, the package's own folder.

    Raises:
        UnknownName: There is no such kind.
        QuaverError: The name cannot be used or is taken, or a file is in the way.
    """
    if kind not in KINDS:
        raise UnknownName("kind of plug-in", kind, KINDS)
    shape = KINDS[kind]
    _check_name(shape.group, name)
    project = opened(home)
    if not project.package.name.isidentifier():
        raise QuaverError("Python cannot import this package", where="name", found=project.package.name)
    folder = _folder(kind, to, project)
    module = project.package / folder / f"{name}.py"
    test = home / "tests" / folder / f"test_{name}.py"
    for path in (module, test):
        if path.exists():
            raise QuaverError(
                "the file exists already", where=str(path), fix="choose another name, or remove it"
            )
    dotted = ".".join((project.package / folder).relative_to(project.package.parent).parts)
    thing = "".join(word.capitalize() for word in name.split("_")) if shape.is_class else name
    words = {"name": name, "thing": thing, "module": f"{dotted}.{name}"}
    group, target = f"quaver.{shape.group}", f"{dotted}.{name}:{thing}"
    project.add_entry(group, name, target)
    _fill(f"{kind}.py.txt", words, module)
    _fill(f"test_{kind}.py.txt", words, test)
    first = tuple(_first_files(kind, project.package, folder))
    project.write()
    entry = f'{name} = "{target}"'
    return Skeleton(module, test, project.path, entry, group, project.made, project.own, first)


def _first_files(kind: str, package: Path, folder: Path) -> Iterator[Path]:
    """Write the ``__init__.py`` of the package's new folders; which they are."""
    for inner in reversed([one for one in (folder, *folder.parents) if one != Path()]):
        path = package / inner / "__init__.py"
        if not path.exists():
            path.write_text(f'"""{kind.capitalize()}s: {inner.name}."""\n', encoding="utf-8")
            yield path


def _fill(template: str, words: Mapping[str, str], path: Path) -> None:
    text = (files("quaver.skeletons") / "templates" / template).read_text(encoding="utf-8")
    path.parent.mkdir(parents=True, exist_ok=True)
    filled = arranged(Template(text).substitute(words), words["module"].partition(".")[0])
    path.write_text(filled, encoding="utf-8")


def _check_name(group: registry.Kind, name: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise QuaverError(
            "this cannot be a plug-in's name",
            where="name",
            expected="lower-case letters, digits and underscores, such as last_word",
            found=name,
        )
    if len(name) > _LONGEST_NAME or name in _NO_FILES:
        raise QuaverError(
            "no file can have this name everywhere",
            where="name",
            expected=f"at most {_LONGEST_NAME} letters, and no name that Windows keeps for a device",
            found=name[:_LONGEST_NAME],
        )
    if name in registry.names(group):
        raise QuaverError(
            "this name is taken",
            where="name",
            found=f"{name!r} is among the {group} that are installed",
            fix="choose another",
        )


def _folder(kind: str, to: str | None, project: Project) -> Path:
    folder = Path(to if to is not None else KINDS[kind].home if project.own else "")
    if folder.is_absolute() or ".." in folder.parts:
        raise QuaverError("this is outside the package", where="--to", found=str(folder))
    if project.own and folder == Path():
        families = sorted(path.name for path in (project.package / "measures").iterdir() if path.is_dir())
        raise QuaverError(
            "which family of measures is it?",
            where="--to",
            expected=f"measures/FAMILY, FAMILY one of {', '.join(one for one in families if one[0] != '_')}",
        )
    return folder
