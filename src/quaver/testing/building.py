"""Plug-ins as the tests of their contract need them: which there are, and one of each."""

from __future__ import annotations

from typing import Any

import pytest

from quaver.core import registry
from quaver.design.spec.study_file import Positions, bind
from quaver.errors import QuaverError
from quaver.testing.recipes import Options, Recipe, recipe_of


def plugins(kind: registry.Kind, default: Recipe) -> list[Any]:
    """The names of all plug-ins of a kind, for ``parametrize``; skipped where they cannot be tested."""
    found = []
    for name in registry.names(kind):
        recipe = recipe_of(kind, name, default)
        marks: list[pytest.MarkDecorator] = [pytest.mark.heavy] if recipe.extra else []
        if recipe.missing:
            marks.append(pytest.mark.skip(reason=recipe.missing))
        found.append(pytest.param(name, marks=marks))
    return found


def built(kind: registry.Kind, name: str, options: Options, *, checked: bool = True) -> Any:
    """A plug-in with these options, checked as those of a study file are unless they hold Python objects."""
    plugin = registry.load(kind, name)
    given = dict(options() if callable(options) else options)
    try:
        return plugin(**(bind(plugin, given, Positions(None, {}), (kind, name)) if checked else given))
    except (TypeError, QuaverError) as error:
        fix = "see quaver.testing for how to say which options it is tested with"
        pytest.fail(f"{name} cannot be built with {given}: {error}; {fix}", pytrace=False)
