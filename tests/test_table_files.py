"""Any file of labels is measured, or is one error that names it, and leaves nothing behind."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

from tests.table_files import TableFile, table_files

import quaver
from quaver.errors import QuaverError
from quaver.study.imports.label_import import Roles, import_annotations

COUNT = int(os.environ.get("QUAVER_TABLE_FILES", "150"))
"""How many files; more of them: ``QUAVER_TABLE_FILES=5000 pytest tests/test_table_files.py``."""


def test_a_file_is_imported_and_measured_or_an_error(tmp_path: Path) -> None:
    studied = 0
    for file in table_files(tmp_path, 0, COUNT):
        random = Random(file.path.parent.name)
        folder = file.path.parent / "study"
        try:
            study, _ = import_annotations(file.path, folder, roles=_roles(file, random))
        except QuaverError as error:
            _names_the_file(error, file)
            assert not folder.exists(), file
            continue
        studied += 1
        assert study.estimates(), file
    assert studied > COUNT // 10


def test_a_file_agrees_or_is_an_error(tmp_path: Path) -> None:
    agreed = 0
    for file in table_files(tmp_path, 0, COUNT):
        try:
            agreed += bool(quaver.measure_agreement(file.path, **_columns(file), resamples=0))
        except QuaverError as error:
            _names_the_file(error, file)
    assert agreed > COUNT // 20


def _columns(file: TableFile) -> dict[str, str]:
    random = Random(file.path.parent.name)
    usual = {
        "item": ("item", "id", "unit"),
        "rater": ("coder", "iteration", "prompt_id", "anna"),
        "label": ("label", "annotation", "ben"),
    }
    known = {role: [name for name in names if name in file.columns] for role, names in usual.items()}
    return {role: random.choice(names or file.columns or ["item"]) for role, names in known.items()}


def _roles(file: TableFile, random: Random) -> Roles:
    def one() -> str | None:
        return random.choice(file.columns) if file.columns and random.random() < 0.15 else None

    return Roles(
        item=one(), label=one(), gold=one(), text=one(), repeat=one(), variant=tuple(filter(None, [one()]))
    )


def _names_the_file(error: QuaverError, file: TableFile) -> None:
    assert file.path.name in (error.where or ""), (file, str(error))
    assert len(str(error)) < 4000, file
