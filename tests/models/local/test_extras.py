"""What an engine needs, and what to do where something that came with it does not fit."""

from __future__ import annotations

import sys

import pytest

from quaver.errors import ModelError, Unavailable
from quaver.models.local.extras import require, unfit_library
from quaver.models.local.vllm_protocol import Engine


def test_an_engine_without_its_library_says_how_to_get_it() -> None:
    with pytest.raises(Unavailable) as caught:
        require("hf", "json", "no_such_module")
    assert caught.value.fix == 'pip install "quaver[hf]"'


def raised(said: str, hidden: str | None) -> Exception:
    """What importing a model raises where one of these libraries fits another PyTorch."""
    try:
        try:
            raise RuntimeError(said)
        except RuntimeError as error:
            if hidden is None:
                raise
            raise ModuleNotFoundError(hidden) from error
    except Exception as error:
        return error


@pytest.mark.parametrize(
    "error",
    [
        raised("operator torchvision::nms does not exist", None),
        raised("operator torchvision::nms does not exist", "Could not import module 'LlamaConfig'."),
        raised("Could not load this library: site-packages/torchaudio/lib/_torchaudio.abi3.so", None),
    ],
)
def test_a_library_for_another_pytorch_is_to_be_removed(error: Exception) -> None:
    assert str(unfit_library(error)).startswith("pip uninstall torchvision torchaudio torchcodec")


def test_other_errors_say_nothing_of_it() -> None:
    assert unfit_library(raised("out of memory", "Could not import module")) is None


def test_vllm_names_the_libraries_to_remove(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "vllm":
                raise RuntimeError("operator torchvision::nms does not exist")

    monkeypatch.setattr("sys.meta_path", [Broken()])
    monkeypatch.delitem(sys.modules, "vllm", raising=False)
    with pytest.raises(ModelError) as caught:
        Engine("m", {}, invariant=False)
    assert "torchvision" in str(caught.value.fix)
