"""Templates: sandboxed Jinja, where a name that nothing has is an error and a value is never code.

Item texts are values: what looks like a template inside them stays text.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError, UndefinedError, meta
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from quaver.errors import SpecError, UnknownName

__all__ = ["check", "names_in", "render"]


class _Environment(ImmutableSandboxedEnvironment):
    """No globals, and no operator that makes a short template into a long text."""

    intercepted_binops = frozenset(["**", "*"])

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "**" or not (isinstance(left, int | float) and isinstance(right, int | float)):
            raise SecurityError(f"{operator} between {type(left).__name__} and {type(right).__name__}")
        return super().call_binop(context, operator, left, right)


_ENVIRONMENT = _Environment(undefined=StrictUndefined, autoescape=False)
_ENVIRONMENT.globals.clear()


@lru_cache(maxsize=65536)
def _compiled(template: str) -> Template:
    return _ENVIRONMENT.from_string(template)


@lru_cache(maxsize=65536)
def names_in(template: str) -> frozenset[str]:
    """The names that a template needs to be given."""
    return frozenset(meta.find_undeclared_variables(_ENVIRONMENT.parse(template)))


def check(template: str, known: Collection[str], *, where: str, needs: Iterable[str] = ()) -> None:
    """Find a template's mistakes before anything is rendered.

    Args:
        template: The template.
        known: Names that it will be given.
        where: Where it stands, for errors.
        needs: Names of which it must use one at least.

    Raises:
        SpecError: It is not a template, or it uses none of ``needs``.
        UnknownName: It uses a name that it will not be given.
    """
    try:
        used = names_in(template)
    except TemplateSyntaxError as error:
        raise SpecError(
            f"this template cannot be read: {error.message}",
            where=where,
            found=template.splitlines()[error.lineno - 1].strip()[:120] if template else "nothing",
            fix="write {{ column }} for a column; put {% raw %}…{% endraw %} around braces that are meant",
        ) from None
    for name in sorted(used - set(known)):
        raise UnknownName("template field", name, known, where=where)
    needs = tuple(needs)
    if needs and not used.intersection(needs):
        raise SpecError(
            "the item's text is not in this template",
            where=where,
            expected=f"{{{{ {needs[0]} }}}} somewhere",
            found=template[:120],
        )


def render(template: str, values: Mapping[str, Any], *, where: str) -> str:
    """Fill in a template.

    Raises:
        SpecError: A value is missing in it, or it does what the sandbox forbids.
    """
    if "{" not in template:
        return template
    try:
        return _compiled(template).render(values)
    except (UndefinedError, SecurityError, TemplateError, TypeError, ValueError, ArithmeticError) as error:
        raise SpecError(
            "this template cannot be filled in", where=where, found=str(error)[:200] or type(error).__name__
        ) from None
