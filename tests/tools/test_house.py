"""The house is as the page draws it: no circles, few floors, a name once, at most two folders deep."""

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from tools.house import SOURCE, circles, floors, imports, main, parts

import quaver

FOLDERS = sorted(path.parent for path in SOURCE.rglob("__init__.py"))


def test_the_page_and_the_picture_are_those_of_the_code():
    assert main(["--check"]) == 0


@pytest.fixture(scope="module")
def graph():
    return imports()


@pytest.mark.long
def test_no_module_imports_itself_over_others(graph):
    assert circles(graph) == []


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.relative_to(SOURCE.parent).as_posix())
def test_no_part_of_a_folder_imports_itself_over_others(folder, graph):
    name = ".".join(folder.relative_to(SOURCE.parent).parts)
    assert circles(parts(graph, name)) == []


def test_the_house_has_at_most_twelve_floors(graph):
    assert max(floors(parts(graph)).values()) <= 12


def test_a_file_name_occurs_once():
    names = Counter(path.name for path in SOURCE.rglob("*.py") if path.name != "__init__.py")
    assert [name for name, count in names.items() if count > 1] == []


def test_the_root_holds_what_a_user_imports_first():
    public = {path.name for path in SOURCE.glob("*.py") if not path.name.startswith("_")}
    assert public == {"errors.py"}
    assert len(list(SOURCE.glob("*.py"))) <= 6


def test_folders_are_at_most_two_deep_and_say_what_they_are_for():
    for folder in FOLDERS:
        assert len(folder.relative_to(SOURCE).parts) <= 2
        assert (folder / "__init__.py").read_text(encoding="utf-8").startswith('"""'), folder


def test_a_circle_is_seen():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
    assert floors({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == {"a": 3, "b": 2, "c": 1}
    with pytest.raises(ValueError, match="circle"):
        floors({"a": {"b"}, "b": {"a"}})


ROOT = Path(quaver.__file__).parent
STAGES = {
    "design": {"design"},
    "collect": {"collect"},
    "models": {"models", "collect"},  # recorded answers are read from a study's store
    "score": {"score"},
    "estimation": {"estimation"},
    "agreement": {"agreement", "estimation"},
    "gold": {"gold", "agreement", "estimation"},
    "correction": {"correction", "estimation"},
    "measures": {"measures", "agreement", "correction", "estimation"},
    "report": {"report"},
}
SHARED = {"core", "errors", "_secrets"}


@cache
def imported(path):
    """The parts of Quaver that a file imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{one.name}" for one in node.names}
    return {name.split(".")[1] for name in found if name.startswith("quaver.")}


@pytest.mark.parametrize("stage", sorted(STAGES))
def test_a_stage_imports_what_is_shared_and_no_other_stage(stage):
    for path in (ROOT / stage).rglob("*.py"):
        assert imported(path) <= STAGES[stage] | SHARED, path.name


def test_what_is_shared_imports_no_stage():
    for path in [ROOT / "errors.py", ROOT / "_secrets.py", *(ROOT / "core").glob("*.py")]:
        assert imported(path) <= SHARED, path.name


def test_only_the_commands_print():
    for path in ROOT.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "cli" not in path.relative_to(ROOT).parts and "print(" in text:
            calls = (one.func for one in ast.walk(ast.parse(text)) if isinstance(one, ast.Call))
            assert not [one.lineno for one in calls if isinstance(one, ast.Name) and one.id == "print"], path
