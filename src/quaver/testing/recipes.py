"""How plug-ins are built for the tests of their contract."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import Any

import pytest

from quaver.core import registry
from quaver.core.records import Variant
from quaver.design.spec.study_file import Positions, bind
from quaver.errors import QuaverError

Options = Mapping[str, Any] | Callable[[], Mapping[str, Any]]
"""Options of a plug-in, or what makes them where that takes a library, a file or a server."""


@dataclass(frozen=True)
class Recipe:
    """How a plug-in is built, and what is particular to it; each kind of plug-in has some of these.

    Attributes:
        options: Its options, as a study file gives them.
        extra: The extra of Quaver that it needs, for the reason of a test that is skipped.
        modules: The modules that it needs; where one is missing, its tests are skipped.
        skip: Why it is not tested at all; empty where it is.
        other: Options of a model under which the same question may get another answer.
        too_long: A text that does not fit into a model's context; empty where nothing is too long.
        stored: A model has answers to ``quaver.testing.requests.TEXTS`` alone, and errors for the rest.
        prompt: The prompt that a family varies; ``quaver.testing.prompts.PROMPT`` if left out. The original
            must be one of its levels.
        original: The factors of the prompt as it is, where that is more than one named ``original``.
        sets_length: A family's levels say how long an answer may be.
        rebuilds: A family's levels have an instruction that need not begin with the original's.
        files: Files that a paraphraser reads, by name, in the study's folder.
        needs_weights: A paraphraser needs weights that are not here, so only its options are tested.
        ordered_by: The raters (``"variant"``, ``"repeat"``) whose order a measure measures.
        is_drawn: A measure's value is a mean over samples; that of all items is ``details["whole"]``.
        digits: How many digits of a measure are the same when the data come in another order.
        is_closed: A measure's value has a closed form, so that it does not depend on what is resampled.
    """

    options: Options = field(default_factory=dict)
    extra: str = ""
    modules: tuple[str, ...] = ()
    skip: str = ""
    other: Options | None = None
    too_long: str = ""
    stored: bool = False
    prompt: Variant | None = None
    original: Mapping[str, str] | None = None
    sets_length: bool = False
    rebuilds: bool = False
    files: Mapping[str, str] = field(default_factory=dict)
    needs_weights: bool = False
    ordered_by: tuple[str, ...] = ()
    is_drawn: bool = False
    digits: int = 9
    is_closed: bool = True

    @property
    def missing(self) -> str:
        """Why it cannot be tested here, or nothing."""
        if all(find_spec(module) is not None for module in self.modules):
            return self.skip
        return f"needs quaver[{self.extra}]" if self.extra else f"needs {', '.join(self.modules)}"


Recipes = Mapping[registry.Kind, Mapping[str, Recipe]]
"""What a package names under ``quaver.testing``: recipes by kind and name."""

RECIPES: dict[registry.Kind, Mapping[str, Recipe]] = {}
"""Those of Quaver's own plug-ins; empty but where Quaver is developed, whose ``conftest.py`` fills it."""


@cache
def _given() -> dict[tuple[str, str], Recipe]:
    result: dict[tuple[str, str], Recipe] = {}
    for entry in entry_points(group="quaver.testing"):
        for kind, recipes in entry.load().items():
            for name, recipe in recipes.items():
                if name not in registry.names(kind):
                    what = f"{kind}: {name}"
                    raise QuaverError("a recipe for what is not registered", where=entry.value, found=what)
                result[kind, name] = recipe
    return result


def recipe_of(kind: registry.Kind, name: str) -> Recipe:
    """The recipe that a package gives for a plug-in; the usual one where none does."""
    return _given().get((kind, name), Recipe())


def plugins(kind: registry.Kind) -> list[Any]:
    """The names of all plug-ins of a kind, for ``parametrize``; skipped where they cannot be tested."""
    own = {entry.name for entry in entry_points(group=f"quaver.{kind}") if entry.value.startswith("quaver.")}
    result = []
    for name in registry.names(kind):
        recipe = recipe_of(kind, name)
        why_not = recipe.missing if RECIPES or name not in own else "Quaver tests its own"
        marks: list[pytest.MarkDecorator] = [pytest.mark.heavy] if recipe.extra else []
        if why_not:
            marks.append(pytest.mark.skip(reason=why_not))
        result.append(pytest.param(name, marks=marks))
    return result


def built(kind: registry.Kind, name: str, options: Options, *, checked: bool = True) -> Any:
    """A plug-in with these options, checked as those of a study file are unless they hold Python objects."""
    plugin = registry.load(kind, name)
    given = dict(options() if callable(options) else options)
    try:
        options = bind(plugin, given, Positions(None, {}), (kind, name)) if checked else given
        return partial(plugin, **options) if kind == "variants" else plugin(**options)
    except (TypeError, QuaverError) as error:
        fix = "see quaver.testing for how to say which options it is tested with"
        pytest.fail(f"{name} cannot be built with {given}: {error}; {fix}", pytrace=False)
