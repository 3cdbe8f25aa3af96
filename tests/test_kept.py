"""What another version of Quaver stored is one error that names both formats, and stays as it is."""

import shutil
from pathlib import Path

import pytest

from quaver.bundles.verification import verify
from quaver.errors import StoreError
from quaver.study.session import Study

KEPT = Path(__file__).parent / "kept" / "another_version"


@pytest.mark.parametrize("use", [Study.status, Study.run, Study.annotations], ids=lambda use: use.__name__)
def test_a_study_of_another_version_is_one_error(tmp_path, use):
    home = shutil.copytree(KEPT, tmp_path / "study")
    with pytest.raises(StoreError) as caught:
        use(Study.open(home))
    assert "another version" in caught.value.problem
    assert (home / "responses.db").read_bytes() == (KEPT / "responses.db").read_bytes()


def test_a_bundle_of_another_version_is_one_error():
    with pytest.raises(StoreError) as caught:
        verify(KEPT / "bare.quaver.zip")
    assert "another version" in caught.value.problem
