"""What the suites share: which plug-ins are tested, and how they are built."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark of what the default environment cannot test."""
    config.addinivalue_line("markers", "heavy: needs an extra that the default environment does not have")
