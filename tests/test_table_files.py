"""Any file of labels is measured, or is one error that names it, and leaves nothing behind."""

import json
import os
from random import Random

from tests.table_files import table_files

import quaver
from quaver.errors import QuaverError
from quaver.study.imports.label_import import import_annotations

FIRST = int(os.environ.get("QUAVER_FIRST_FILE", "0"))
COUNT = int(os.environ.get("QUAVER_TABLE_FILES", "150"))
"""The first file's seed, and how many; `make damage` goes through 1,500."""


def test_a_file_is_imported_and_measured_or_an_error(tmp_path):
    studied = 0
    for file in table_files(tmp_path, FIRST, COUNT):
        random = Random(file.path.parent.name)
        folder = file.path.parent / "study"
        try:
            study, _ = import_annotations(file.path, folder, **_roles(file, random))
        except QuaverError as error:
            _names_the_file(error, file)
            assert not folder.exists(), file
            continue
        studied += 1
        assert study.estimates(), file
    assert studied > COUNT // 10


def test_a_file_agrees_or_is_an_error(tmp_path):
    agreed = 0
    for file in table_files(tmp_path, FIRST, COUNT):
        try:
            agreed += bool(quaver.measure_agreement(file.path, **_columns(file), resamples=0))
        except QuaverError as error:
            _names_the_file(error, file)
    assert agreed > COUNT // 20


def test_a_file_is_a_table_of_items_or_an_error(tmp_path):
    planned = 0
    for file in table_files(tmp_path, FIRST, COUNT):
        items = {
            "source": file.path.name,
            "id": _columns(file)["item"],
            "text": f"{{{{ {_columns(file)['label']} }}}}",
        }
        study = {"task": {"labels": ["a", "b"]}, "items": items, "prompt": {"instruction": "Which?"}}
        study |= {"models": [{"name": "m", "use": "function"}]}
        (file.path.parent / "study.yaml").write_text(json.dumps(study))
        try:
            opened = quaver.Study.open(file.path.parent, functions={"m": lambda text, prompt: "a"})
            planned += opened.plan().calls > 0
        except QuaverError as error:
            _says_where(error, file)
    assert planned > COUNT // 20


def _columns(file):
    random = Random(file.path.parent.name)
    usual = {
        "item": ("item", "id", "unit"),
        "rater": ("coder", "iteration", "prompt_id", "anna"),
        "label": ("label", "annotation", "ben"),
    }
    known = {role: [name for name in names if name in file.columns] for role, names in usual.items()}
    return {role: random.choice(names or file.columns or ["item"]) for role, names in known.items()}


def _roles(file, random):
    def one():
        return random.choice(file.columns) if file.columns and random.random() < 0.15 else None

    roles = ("item", "label", "gold", "text", "repeat", "variant")
    return {role: column for role in roles if (column := one())}


def _names_the_file(error, file):
    assert file.path.name in (error.where or ""), (file, str(error))
    _says_where(error, file)


def _says_where(error, file):
    assert error.where, file
    assert len(str(error)) < 4000, file
