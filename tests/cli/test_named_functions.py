"""A function that a command line names: whatever its module does at import is one error."""

import pytest

from quaver.cli.command_options import function_of
from quaver.errors import QuaverError


@pytest.mark.parametrize(
    "source",
    [b"def (", b"a = '\x00'", b"raise SystemExit(0)", b"1 / 0", b"# coding: nothing", b"a = '\xff'", b""],
)
def test_a_module_that_cannot_be_imported_is_an_error(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "module_of_a_user.py").write_bytes(source)
    with pytest.raises(QuaverError) as caught:
        function_of("module_of_a_user:annotate")
    assert caught.value.where == "--function"


@pytest.mark.parametrize("target", ["math:pi", ".relative:annotate", "a..b:c", "a\0b:c", "..:c"])
def test_a_name_that_is_none_is_an_error(target):
    with pytest.raises(QuaverError):
        function_of(target)


def test_a_file_of_the_folder_may_be_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file_of_a_user.py").write_text("def annotate(text, prompt):\n    return 'yes'\n")
    assert function_of("file_of_a_user.py:annotate")("", "") == "yes"
