"""A project's ``pyproject.toml``: which package it builds, and its entry points, edited as text."""

from __future__ import annotations

import re
import tomllib
from copy import deepcopy
from pathlib import Path
from typing import Any

from quaver.errors import QuaverError

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
