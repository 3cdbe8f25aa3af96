"""Charts that a notebook draws without a network."""

from __future__ import annotations

from functools import cache
from typing import Any

import altair as alt

_ALTAIRS_OWN = "default"
"""The renderer before anybody chooses one; its script comes from a network."""


def offline(chart: Any) -> Any:
    """The chart, which a notebook shows as a picture unless you have chosen a renderer of Altair's.

    >>> chart = offline(alt.Chart().mark_point())
    >>> isinstance(chart, alt.Chart), sorted(chart._repr_mimebundle_())
    (True, ['image/svg+xml'])
    """
    made = chart.copy(deep=False)
    kind: Any = type(chart)
    object.__setattr__(made, "__class__", _offline(kind))
    return made


@cache
def _offline(kind: Any) -> type[Any]:
    def _repr_mimebundle_(self: Any, *include: Any, **options: Any) -> Any:
        if alt.renderers.active != _ALTAIRS_OWN:
            return kind._repr_mimebundle_(self, *include, **options)
        with alt.renderers.enable("svg"):
            return kind._repr_mimebundle_(self, *include, **options)

    return type(
        kind.__name__, (kind,), {"_repr_mimebundle_": _repr_mimebundle_, "__module__": kind.__module__}
    )
