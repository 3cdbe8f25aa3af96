"""The house is as the page draws it: no circles, few floors, a name once, at most two folders deep."""

from collections import Counter

import pytest
from tools.house import SOURCE, circles, floors, imports, main, parts

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
