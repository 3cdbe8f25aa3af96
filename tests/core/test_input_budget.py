"""What comes from elsewhere is counted as it comes, and a test finds a reader that takes all of it."""

import ast
from pathlib import Path

import polars as pl
import pytest

import quaver
from quaver.core import input_budget
from quaver.core.input_budget import InputBudget, TooLarge, check_values, parsed_json, read_file, read_parquet
from quaver.core.line_file import LineFile
from quaver.design.spec.yaml_file import read_yaml
from quaver.errors import QuaverError
from quaver.study.gold_sample.coder_sheets import read_returned

ROOT = Path(quaver.__file__).parent

COUNTED = {
    "core/input_budget.py": "the helper itself",
    "design/items/record_files.py": "packed files are counted as they unpack",
    "models/served/batch_http.py": "replies are counted as they come",
    "models/served/http_pool.py": "replies are counted as they come",
    "view/application.py": "what is sent is counted as it comes; files of the viewer",
    "start/codebook_page.py": "an upload, whose length is counted before it is read",
    "start/labels_page.py": "an upload, whose length is counted before it is read",
    "start/texts_page.py": "an upload, whose length is counted before it is read; part of the package",
    "start/uploaded_archive.py": "members are as large as the list of members says, which is counted",
    "study/sources/gold_files.py": "content that was counted",
    "study/sources/archive.py": "members are as large as the list of members says, which is counted",
    "study/sources/kept_results.py": "files of 4 MiB at most; larger ones are known by size and times",
    "study/sources/outgoing_check.py": "in parts of a size, and tables of the study's own folder",
    "study/labelling/labelled_file.py": "the first three bytes, and a table that was read before",
    "study/labelling/spreadsheet_edits.py": "a spreadsheet that was read before",
}
"""Files that count what they read themselves, or read what was counted."""

OWN = {
    "bundles/derived_files.py": "files that were just made, beside those of an extracted bundle",
    "bundles/packing.py": "a temporary folder of files that were just made",
    "bundles/redaction.py": "a temporary folder of files that were just made",
    "cli/checking.py": "part of the package",
    "cli/sharing.py": "part of the package",
    "collect/store/store_lock.py": "the number of a process",
    "design/items/built_in.py": "part of the package",
    "design/spec/json_schema.py": "the schema that an editor is shown, before it is written anew",
    "design/prompt_words.py": "part of the package",
    "design/calls/lock_file.py": "a made study file, before it is written anew",
    "design/study_kinds.py": "part of the package",
    "models/llamacpp.py": "the engine in this process",
    "models/local/extras.py": "a file of the system",
    "models/served/server_faults.py": "part of the package",
    "papers/catalogue.py": "part of the package",
    "score/annotation.py": "annotations of the study's own folder",
    "score/parsing/languages.py": "part of the package",
    "start/start_server.py": "part of the package",
    "study/checking/check_file.py": "a study file of an earlier check, which is looked at for its head",
    "study/imports/columns.py": "part of the package",
    "study/labelling/labelling.py": "a table that was read before",
    "study/analysis/annotation_frame.py": "annotations of the study's own folder",
    "study/sources/labels_source.py": "annotations of the study's own folder",
    "view/annotation_parts.py": "files of the viewer, which are made again",
    "view/snapshot.py": "files of the viewer, which are made again",
    "view/study_reader.py": "files of the viewer, which are made again",
    "view/viewed_study.py": "files of the viewer, which are made again",
}
"""Files that read what Quaver made there itself, or what belongs to the package."""

OTHERS = ("testing", "report", "promptstability")
"""Folders for authors of plug-ins, and those that read parts of the package or what a caller opened."""

_WHOLE = ("read_bytes", "read_text", "readlines", "iter_bytes", "iter_lines", "readany", "stream", "urlopen")
_TABLES = ("read_csv", "read_parquet", "scan_parquet", "scan_csv", "read_ndjson", "read_json", "read_excel")
_PACKED = ("ZipFile", "GzipFile", "decompress", "decompressobj")


def reads(tree):
    """Calls that take a file, a reply or an archive however large it is."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        of, _, name = ast.unparse(node.func).rpartition(".")
        is_table = name in _TABLES and of in ("pl", "pd") and "read_file(" not in ast.unparse(node)
        is_packed = name in _PACKED and not any(
            isinstance(one, ast.Constant) and one.value == "w" for one in node.args
        )
        is_whole = name in _WHOLE or (
            name == "read" and not node.args and of.endswith(("file", "in", "reply"))
        )
        if is_table or is_packed or is_whole:
            yield node.lineno, ast.unparse(node)[:80]


@pytest.mark.long
def test_whatever_comes_from_elsewhere_is_counted():
    """And what is listed reads whole files still, so that the list shows what is found."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        some = [*reads(ast.parse(path.read_text(encoding="utf-8")))]
        if some and not name.startswith(OTHERS):
            found[name] = some
    assert {name: some for name, some in found.items() if name not in {*COUNTED, *OWN}} == {}
    assert {*OWN, *COUNTED} - {*found} == set(), "these files read nothing whole any more"


def test_a_budget_is_spent_to_its_last_byte_and_no_further(tmp_path):
    budget = InputBudget(10, "bytes")
    budget.spend(4)
    budget.spend(6)
    with pytest.raises(TooLarge, match="more than 10 bytes"):
        budget.spend(1)
    (tmp_path / "a").write_bytes(b"12345")
    assert read_file(tmp_path / "a", 5) == b"12345"
    with pytest.raises(TooLarge, match="more than 4 bytes"):
        read_file(tmp_path / "a", 4)
    assert parsed_json(b'{"a": [1, 2]}', 4) == {"a": [1, 2]}
    with pytest.raises(TooLarge, match="more than 3 values"):
        check_values(b"[[[[", 3)


def test_a_table_that_unpacks_to_more_cells_or_texts_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "t.parquet"
    pl.DataFrame({"text": ["x" * 100] * 4000}).write_parquet(path)
    assert read_parquet(path).height == 4000
    monkeypatch.setattr(input_budget, "MOST_CELLS", 100)
    monkeypatch.setattr(input_budget, "_CELLS_A_BYTE", 1)
    with pytest.raises(TooLarge, match="cells"):
        read_parquet(path)
    monkeypatch.undo()
    monkeypatch.setattr(input_budget, "MOST_BYTES", 100)
    with pytest.raises(TooLarge, match="bytes of text"):
        read_parquet(path)


READERS = {
    "a study file": lambda path: read_yaml(path.rename(path.with_suffix(".yaml"))),
    "a coder's CSV": lambda path: read_returned(path.rename(path.with_suffix(".csv"))),
    "lines": lambda path: LineFile(path).documents(),
}


@pytest.mark.parametrize("name", READERS)
def test_a_file_beyond_the_budget_is_one_error(name, tmp_path, monkeypatch):
    monkeypatch.setattr(input_budget, "MOST_BYTES", 100)
    monkeypatch.setattr("quaver.design.spec.yaml_file._MOST_BYTES", 100)
    path = tmp_path / "file"
    path.write_text("item,label,answer\n" * 10)
    with pytest.raises(QuaverError, match="more than 100 bytes"):
        READERS[name](path)
