"""Templates: sandboxed Jinja, where a name that nothing has is an error and a value is never code.

Item texts are values: what looks like a template inside them stays text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateSyntaxError, meta, nodes
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from quaver.errors import SpecError, UnknownName

__all__ = ["check", "check_columns", "check_syntax", "literal", "names_in", "render"]


_OPENING = re.compile(r"\{[{%#]")
"""What Jinja takes for the beginning of something that is filled in."""

_LONGEST = 10_000_000
"""Characters of one filled-in template."""

_PADDING = frozenset(["center", "expandtabs", "format", "format_map", "ljust", "rjust", "zfill"])
"""Methods that make a short text as long as a number says."""


class _Environment(ImmutableSandboxedEnvironment):
    """No globals, and nothing that makes a short template into a long text."""

    intercepted_binops = frozenset(["**", "*", "%"])

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "**" or not (isinstance(left, int | float) and isinstance(right, int | float)):
            raise SecurityError(f"{operator} between {type(left).__name__} and {type(right).__name__}")
        return super().call_binop(context, operator, left, right)

    def is_safe_callable(self, obj: Any) -> bool:
        return super().is_safe_callable(obj) and getattr(obj, "__name__", "") not in _PADDING

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, Mapping) and attribute in obj:  # a column named values, not the method
            return obj[attribute]
        return super().getattr(obj, attribute)


def _written(value: Any) -> Any:
    """What stands in a prompt for a value: nothing for an empty cell."""
    return "" if value is None else value


_ENVIRONMENT = _Environment(undefined=StrictUndefined, autoescape=False, finalize=_written)
_ENVIRONMENT.globals.clear()
for _name in ("center", "format", "indent", "wordwrap", "pprint", "xmlattr", "random"):
    del _ENVIRONMENT.filters[_name]
# Jinja's own writes quotes and signs of comparison as escapes, for HTML.
_ENVIRONMENT.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False, default=str)


@lru_cache(maxsize=65536)
def _compiled(template: str) -> Template:
    return _ENVIRONMENT.from_string(template)


@lru_cache(maxsize=65536)
def names_in(template: str) -> frozenset[str]:
    """The names that a template needs to be given.

    Raises:
        SpecError: It is not a template.
    """
    return frozenset(meta.find_undeclared_variables(_tree(template)))


def _tree(template: str, where: str | None = None) -> nodes.Template:
    """A template as Jinja reads it.

    Raises:
        SpecError: It is not a template.
    """
    try:
        return _ENVIRONMENT.parse(template)
    except TemplateSyntaxError as error:
        raise SpecError(
            f"this template cannot be read: {error.message}",
            where=where,
            found=template.splitlines()[error.lineno - 1].strip()[:120] if template else "nothing",
            fix="write {{ column }} for a column, {{ item['a column'] }} for a name with spaces; "
            "put {% raw %}…{% endraw %} around braces that are meant",
        ) from None
    except Exception as error:  # constants are worked out when a template is read
        raise _unreadable(error, where) from None


def _unreadable(error: Exception, where: str | None) -> SpecError:
    found = str(error)[:200] or type(error).__name__
    return SpecError("this template cannot be read", where=where, found=found)


def check_syntax(template: str, *, where: str) -> None:
    """See that a text is a template at all, before its names are looked at.

    Raises:
        SpecError: It is not.
    """
    _tree(template, where)
    try:
        _compiled(template)
    except Exception as error:
        raise _unreadable(error, where) from None


@lru_cache(maxsize=65536)
def _plain(template: str) -> tuple[tuple[str, str | None], ...] | None:
    """A template of nothing but texts and names, as such; None where it does more.

    Most do no more, and are filled in millions of times: Jinja takes five times as long.
    """
    parts: list[tuple[str, str | None]] = []
    for node in _tree(template).body:
        if not isinstance(node, nodes.Output):
            return None
        for part in node.nodes:
            if isinstance(part, nodes.TemplateData):
                parts.append((part.data, None))
            elif isinstance(part, nodes.Name):
                parts.append(("", part.name))
            else:
                return None
    return tuple(parts)


def literal(text: str) -> str:
    """A template that writes a text, whatever stands in it.

    >>> literal("{{ x }}"), literal("plain")
    ("{{ '{{' }} x }}", 'plain')
    """
    return _OPENING.sub(lambda found: f"{{{{ '{found.group()}' }}}}", text)


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
    check_syntax(template, where=where)
    used = names_in(template)
    for node in _tree(template, where).find_all((nodes.Assign, nodes.AssignBlock, nodes.Macro)):
        raise SpecError(
            "templates cannot set names or define macros",
            where=where,
            found=template.splitlines()[node.lineno - 1].strip()[:120],
            fix="write the text where it is needed: a name set from itself again and again grows for ever",
        )
    for name in sorted(used - set(known)):
        raise UnknownName("template field", name, known, where=where)
    needs = tuple(needs)
    if needs and not used.intersection(needs):
        raise SpecError(
            "the item's text is not in this template",
            where=where,
            expected=" or ".join(f"{{{{ {name} }}}}" for name in needs[:5]) + " somewhere",
            found=template[:120],
        )


def check_columns(template: str, columns: Collection[str], *, where: str) -> None:
    """Find columns that a template asks of ``item`` and that no item has.

    Raises:
        UnknownName: There is one.
    """
    tree = _tree(template, where)
    asked = [(node.node, node.attr) for node in tree.find_all(nodes.Getattr)]
    asked += [
        (node.node, node.arg.value)
        for node in tree.find_all(nodes.Getitem)
        if isinstance(node.arg, nodes.Const)
    ]
    for owner, name in asked:
        if isinstance(owner, nodes.Name) and owner.name == "item" and name not in columns:
            raise UnknownName("column", str(name), columns, where=where)


def render(template: str, values: Mapping[str, Any], *, where: str) -> str:
    """Fill in a template.

    Raises:
        SpecError: A value is missing in it, or it does what the sandbox forbids.
    """
    if "{" not in template:
        return template
    if plain := _plain(template):
        with suppress(KeyError):  # what is missing is reported below
            return "".join([text if name is None else str(_written(values[name])) for text, name in plain])
    try:
        pieces, length = [], 0
        for piece in _compiled(template).generate(values):
            pieces.append(piece)
            length += len(piece)
            if length > _LONGEST:
                raise SecurityError(f"more than {_LONGEST:,} characters")
    except Exception as error:  # whatever a template makes its values do
        raise SpecError(
            "this template cannot be filled in", where=where, found=str(error)[:200] or type(error).__name__
        ) from None
    return "".join(pieces)
