"""Write a plug-in's skeleton into the package of the current folder: module, entry point, test.

The skeletons are in ``templates/``, two for each kind: what they do is small but real, so that a new plug-in
works, and its test passes, before anything in it is changed.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template

from quaver.core import registry
from quaver.errors import QuaverError, UnknownName
from quaver.skeletons.import_order import arranged
from quaver.skeletons.project_file import Project, opened


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
