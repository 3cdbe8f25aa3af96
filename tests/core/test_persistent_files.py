"""What is kept goes through one helper: lines are added by one, files are replaced by one."""

import ast
from pathlib import Path

import pytest

import quaver

ROOT = Path(quaver.__file__).parent

ELSEWHERE = {
    "core/line_file.py": "the helper itself",
    "core/replaced_file.py": "the helper itself; a lock holds nothing",
    "collect/store/store_lock.py": "a trial of whether there is room",
    "core/transaction.py": "the helper itself",
    "collect/store/spill.py": "opened for a run, written by the helper; what is stored is cut off",
    "models/local/weights.py": "a temporary folder",
    "core/spreadsheet.py": "writes to what its caller has opened",
    "design/items/record_files.py": "a temporary folder, and a file of a transaction",
    "study/labelling/spreadsheet_edits.py": "a new file, which its caller puts in place or removes",
    "study/labelling/labelled_file.py": "files of a transaction",
    "score/annotation.py": "a new file, which its caller puts in place or removes",
    "collect/store/read_only.py": "a temporary folder",
    "bundles/derived_files.py": "a temporary folder",
    "bundles/packing.py": "a temporary folder",
    "study/imports/label_import.py": "files of a transaction, and a temporary folder",
    "study/gold_sample/coder_sheets.py": "a temporary folder, and files of a transaction",
    "study/sources/archive.py": "parts of a bundle that is then put in its place, and a temporary folder",
    "view/annotation_parts.py": "files of the viewer, which are made again",
}
"""Files that write in another way, and why they may."""

EXPORTS = {
    "acceptance/accepted_labels.py",
    "cli/deciding.py",
    "papers/paper_figures.py",
    "promptstability/stability_scores.py",
    "report/page/paper_parts.py",
    "report/page/html_page.py",
    "report/tables/written_tables.py",
    "study/analysis/call_export.py",
}
"""What is made for readers, anew whenever it is asked for."""


_TABLES = ("write_parquet", "write_csv", "write_ndjson", "write_ipc", "write_excel", "sink_", "savefig")
"""How tables and pictures are written, by the beginnings of names."""


def writes(tree):
    """Calls that change a file and are not within ``with replacing(…) as part``."""
    parts = {
        item.optional_vars.id
        for node in ast.walk(tree)
        if isinstance(node, ast.With)
        for item in node.items
        if isinstance(item.optional_vars, ast.Name) and "replacing" in ast.unparse(item.context_expr)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        of, _, name = ast.unparse(node.func).rpartition(".")
        if of not in parts and not _is_given(node, parts) and _changes(of, name, node):
            yield node.lineno, ast.unparse(node)[:80]


def _is_given(node, parts):
    """Whether a table is written to what takes a file's place, or to memory."""
    return any(isinstance(one, ast.Name) and one.id in {*parts, "buffer"} for one in node.args)


def _changes(of, name, node):
    if of == "os":
        return name in ("write", "open", "replace", "rename", "truncate", "ftruncate", "link", "fdopen")
    if of == "shutil":
        return name.startswith(("copy", "move"))
    if name.startswith(_TABLES):
        return bool(node.args) and bool(of)
    if name in ("open", "ZipFile", "TarFile"):
        modes = [one.value for one in node.args if isinstance(one, ast.Constant)]
        return any(isinstance(one, str) and len(one) < 4 and set(one) & set("wax+") for one in modes)
    moved = name in ("rename", "replace") and len(node.args) == 1 and not node.keywords
    table = "{" in ast.unparse(node) or "pl.col" in of or of in ("table", "safe", "draw")
    return name in ("write_text", "write_bytes", "touch") or (moved and not table)


OTHERS = ("testing",)
"""Folders for authors of plug-ins."""


@pytest.mark.long
def test_whatever_is_kept_is_written_by_the_helpers():
    """And what is listed writes in another way still, so that the list shows what is found."""
    trees = {
        path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(ROOT.rglob("*.py"))
    }
    found = {name: some for name, tree in trees.items() if (some := [*writes(tree)])}
    listed = {*ELSEWHERE, *EXPORTS}
    assert {
        name: some for name, some in found.items() if name not in listed and not name.startswith(OTHERS)
    } == {}
    assert listed - found.keys() == set(), "these files write nothing themselves any more"


def test_the_content_of_a_file_has_lines_that_end_with_a_line_feed_alone():
    readers = ("read_text", "read_bytes", "decode", "read")
    found = [
        (path.name, node.lineno)
        for path in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "splitlines"
        and any(f".{one}(" in ast.unparse(node.func.value) for one in readers)
    ]
    assert found == []
