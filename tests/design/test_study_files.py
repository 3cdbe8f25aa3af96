"""Any study file is planned, or is one error that says where it is wrong."""

import os
from itertools import pairwise

import pytest
from tests.study_files import ITEMS, WHOLE, study_file

import quaver
from quaver.errors import QuaverError

FIRST = int(os.environ.get("QUAVER_FIRST_FILE", "0"))
COUNT = int(os.environ.get("QUAVER_STUDY_FILES", "60"))
"""The first file's seed, and how many; `make damage` goes through 3,000."""


def planned(folder, content):
    """How many calls and prompt variants a study has."""
    path = folder / "study.yaml"
    path.write_bytes(content)
    study = quaver.Study.open(path, functions={"fake": lambda text, prompt: "Yes"})
    calls = study.plan().calls
    return calls, len(list(study.variants))


def refusal(folder, content):
    try:
        planned(folder, content)
    except QuaverError as error:
        return error
    return None


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("NO_SUCH_KEY", "a key")
    (tmp_path / "items.csv").write_text(ITEMS)
    return tmp_path


def test_the_whole_study_is_planned(home):
    calls, variants = planned(home, WHOLE.encode())
    assert calls > variants > 1


def test_a_study_file_is_planned_or_refused(home):
    well = 0
    for seed in range(FIRST, FIRST + COUNT):
        error = refusal(home, study_file(seed))
        well += error is None
        assert error is None or error.where, (seed, str(error))
        assert "Spec" not in str(error), (seed, "the name of a class")
        assert len(str(error)) < 4000, seed
    assert well > COUNT // 20


BOMB = "a: &a [x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in pairwise("abcdefghij")
)


@pytest.mark.parametrize(
    ("part", "where", "problem"),
    [
        ("notes: &x {<<: *x}\n", "study.yaml:1", "contains itself"),
        ("notes: &x [*x]\n", "study.yaml:1", "contains itself"),
        (BOMB, "study.yaml:1", "more than 1,000,000"),
        (BOMB + BOMB, "study.yaml:1", "more than 1,000,000"),
        ("? [[a]]\n: b\n", "study.yaml", "cannot be read as YAML"),
        ("notes: [2020-13-45]\n", "study.yaml", "cannot be read as YAML"),
        ("notes: [!!int x]\n", "study.yaml", "cannot be read as YAML"),
    ],
)
def test_what_yaml_can_do_and_a_study_must_not(home, part, where, problem):
    error = refusal(home, part.encode() + b"name: whole\n")
    assert (error.where, problem in error.problem) == (where, True), str(error)


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("instruction: Is it good?", 'instruction: "{{ text"', "prompt.instruction"),
        ("http://[::1]:9/v1", "http://[::1/v1", "models[1]"),
    ],
)
def test_what_is_no_template_and_no_address(home, old, new, key):
    error = refusal(home, WHOLE.replace(old, new).encode())
    assert (error.where or "").startswith("study.yaml:")
    assert key in (error.where or ""), str(error)


@pytest.mark.parametrize("key", ["source: items.csv", "encoding: utf-8"])
def test_a_name_too_long_for_a_file_is_refused_briefly(home, key):
    long = WHOLE.replace(key, f"{key.partition(':')[0]}: {'é' * 999}")
    assert len(str(refusal(home, long.encode()))) < 2000
    assert long != WHOLE


@pytest.mark.parametrize("study", [b"null", b"3", b"text", b"[]", b"- name: whole", b"{}"])
def test_what_is_no_study_is_refused(home, study):
    assert "study.yaml" in str(refusal(home, study))
