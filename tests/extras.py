"""Marks for tests that need a heavy extra, which the default environment does not have."""

from importlib.util import find_spec

import pytest

__all__ = ["needs"]

MODULES = {"gpt4all": ("gpt4all",), "pegasus": ("sentencepiece", "torch", "transformers"), "ray": ("ray",)}


def needs(*extras):
    """Marks for ``pytestmark`` or ``pytest.param``: heavy, and skipped where an extra is missing."""
    missing = [extra for extra in extras if any(find_spec(module) is None for module in MODULES[extra])]
    reason = f"needs quaver[{','.join(missing)}]; `make test-heavy` sets it up"
    return [pytest.mark.heavy, pytest.mark.skipif(bool(missing), reason=reason)]
