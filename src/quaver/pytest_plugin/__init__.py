"""The pytest plugin: the fixture ``quaver_study``, and assertions about prompts.

pytest loads this package wherever Quaver is installed, so it imports nothing else before a test uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from quaver.pytest_plugin.prompt_assertions import assert_no_loss, assert_stable

if TYPE_CHECKING:
    from quaver.study.session import Study

__all__ = ["OpenStudy", "assert_no_loss", "assert_stable", "quaver_study"]


class OpenStudy(Protocol):
    """What the fixture ``quaver_study`` gives a test: a function that opens a study."""

    def __call__(
        self,
        path: str | Path,
        *,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        field: str | None = None,
    ) -> Study:
        """Open a study and ask what has not been asked yet.

        Args:
            path: The study file, its folder or a bundle; relative to pytest's root directory.
            functions: For models that ``use: function``, by the model's name.
            field: One field of a task with fields, as a study of its labels; all are asked at once.
        """
        ...


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add Quaver's option."""
    parser.getgroup("quaver").addoption(
        "--quaver-offline",
        action="store_true",
        help="Ask no model: skip the tests of studies that lack answers.",
    )


@pytest.fixture(scope="session")
def quaver_study(pytestconfig: pytest.Config) -> OpenStudy:
    """Opens studies; each is asked once in a session, and what is stored is never asked for again."""
    opened: dict[tuple[Path, frozenset[tuple[str, int]]], Study] = {}

    def open_study(
        path: str | Path,
        *,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        field: str | None = None,
    ) -> Study:
        place = (pytestconfig.rootpath / path).resolve()
        # An opened study holds its functions, so that no other one gets the id of one of them.
        known = place, frozenset((name, id(one)) for name, one in (functions or {}).items())
        if known not in opened:
            opened[known] = _answered(place, functions, offline=pytestconfig.getoption("--quaver-offline"))
        return opened[known] if field is None else opened[known].field(field)

    return open_study


def _answered(path: Path, functions: Mapping[str, Callable[..., Any]] | None, *, offline: bool) -> Study:
    """A study with its answers."""
    from quaver.study.collection.study_status import answered_calls
    from quaver.study.session import Study

    study = Study.open(path, functions=functions)
    if not offline and study.source.can_ask:
        study.run(watch=lambda _: None)
    answered, calls = answered_calls(study.source)
    if offline and answered < calls:
        pytest.skip(f"{path.name}: {calls - answered:,} of {calls:,} calls are not answered yet")
    return study
