"""Templates: sandboxed Jinja, in which an unknown name is an error and a value is never code.

Item texts are values: anything in them that looks like a template stays text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

from jinja2 import StrictUndefined, Template, TemplateSyntaxError, meta, nodes, pass_eval_context
from jinja2.exceptions import SecurityError
from jinja2.nodes import EvalContext
from jinja2.sandbox import ImmutableSandboxedEnvironment

from quaver.errors import SpecError, UnknownName, nearest

_OPENING = re.compile(r"\{[{%#]")
"""The beginning of a placeholder, statement or comment in Jinja."""

_LONGEST = 10_000_000
"""The most characters of a rendered template."""

_PADDING = frozenset(["center", "expandtabs", "format", "format_map", "ljust", "rjust", "zfill"])
"""Methods that can make a short text arbitrarily long."""


class _Environment(ImmutableSandboxedEnvironment):
    """Without globals, and without operations that turn a short template into a long text."""

    intercepted_binops = frozenset(["**", "*", "%"])

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "**" or not (isinstance(left, int | float) and isinstance(right, int | float)):
            raise SecurityError(f"{operator} between {type(left).__name__} and {type(right).__name__}")
        return super().call_binop(context, operator, left, right)

    def is_safe_callable(self, obj: Any) -> bool:
        return super().is_safe_callable(obj) and getattr(obj, "__name__", "") not in _PADDING

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, Mapping) and attribute in obj:  # a column named "values", not the method
            return obj[attribute]
        return super().getattr(obj, attribute)


def _written(value: Any) -> Any:
    """A value as a prompt shows it: nothing for an empty cell."""
    return "" if value is None else value


_ENVIRONMENT = _Environment(undefined=StrictUndefined, autoescape=False, finalize=_written)
_ENVIRONMENT.globals.clear()
for _name in ("center", "format", "indent", "wordwrap", "pprint", "xmlattr", "random"):
    del _ENVIRONMENT.filters[_name]
# Jinja's own filter escapes quotation marks and comparison signs for HTML.
_ENVIRONMENT.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False, default=str)


_joined: Any = _ENVIRONMENT.filters["join"]


@pass_eval_context
def _listed(context: EvalContext, parts: Any, between: str = "", attribute: Any = None) -> Any:
    """Parts in a row; in quotation marks where one holds what stands between them, such as a comma."""
    shown = list(parts)
    sign = between.strip()
    if sign and attribute is None and any(sign in value for value in shown if isinstance(value, str)):
        shown = [f'"{value}"' for value in shown]
    return _joined(context, shown, between, attribute)


_ENVIRONMENT.filters["join"] = _listed


@lru_cache(maxsize=65536)
def _compiled(template: str) -> Template:
    return _ENVIRONMENT.from_string(template)


@lru_cache(maxsize=65536)
def names_in(template: str) -> frozenset[str]:
    """The names whose values a template needs."""
    return frozenset(meta.find_undeclared_variables(_tree(template)))


@lru_cache(maxsize=256)  # a template is looked at several times in a row
def _parsed(template: str) -> nodes.Template:
    return _ENVIRONMENT.parse(template)


def _tree(template: str, where: str | None = None) -> nodes.Template:
    """A template as Jinja reads it; nobody may change it."""
    try:
        return _parsed(template)
    except TemplateSyntaxError as error:
        raise SpecError(
            f"this template cannot be read: {error.message}",
            where=where,
            found=template.splitlines()[error.lineno - 1].strip()[:120] if template else "nothing",
            fix="write {{ column }} for a column, {{ item['a column'] }} for a name with spaces; "
            "put {% raw %}…{% endraw %} around literal braces",
        ) from None
    except Exception as error:  # Jinja evaluates constants when it parses a template
        raise _unreadable(error, where) from None


def _unreadable(error: Exception, where: str | None) -> SpecError:
    reason = str(error)[:200] or type(error).__name__
    return SpecError("this template cannot be read", where=where, found=reason)


def check_syntax(template: str, *, where: str) -> None:
    """Check that a text is a template, before its names are checked."""
    _tree(template, where)
    if _plain(template) is not None:  # nothing to compile
        return
    try:
        _compiled(template)
    except Exception as error:
        raise _unreadable(error, where) from None


@lru_cache(maxsize=65536)
def _plain(template: str) -> tuple[tuple[str, str | None], ...] | None:
    """The texts and names of a template that has nothing else; None for any other template.

    Most templates are that simple and are rendered millions of times; Jinja takes five times as long.
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
    """A template that renders to a given text, whatever it contains.

    >>> literal("{{ x }}"), literal("plain")
    ("{{ '{{' }} x }}", 'plain')
    """
    return _OPENING.sub(lambda match: f"{{{{ '{match.group()}' }}}}", text)


def check(template: str, known: Collection[str], *, where: str, needs: Iterable[str] = ()) -> None:
    """Check a template before anything is rendered."""
    check_syntax(template, where=where)
    used = names_in(template)
    for node in _tree(template, where).find_all((nodes.Assign, nodes.AssignBlock, nodes.Macro)):
        raise SpecError(
            "templates cannot set names or define macros",
            where=where,
            found=template.splitlines()[node.lineno - 1].strip()[:120],
            fix="write the text where it is needed: a name that is set from itself can grow without limit",
        )
    for name in sorted(used - set(known)):
        raise UnknownName("template field", name, known, where=where)
    needs = tuple(needs)
    if needs and not used.intersection(needs):
        meant = nearest(template.strip("{} "), needs) or needs[0]
        raise SpecError(
            "the item's text is not in this template",
            where=where,
            expected=" or ".join(f"{{{{ {name} }}}}" for name in needs[:5]) + " somewhere",
            found=template[:120],
            fix=f'put a column between pairs of braces: "{{{{ {meant} }}}}"',
        )


def check_columns(template: str, columns: Collection[str], *, where: str) -> None:
    """Check that the columns that a template reads from ``item`` exist."""
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
    """Render a template."""
    if "{" not in template:
        return template
    if plain := _plain(template):
        with suppress(KeyError):  # a missing value is reported below
            return "".join([text if name is None else str(_written(values[name])) for text, name in plain])
    try:
        pieces, length = [], 0
        for piece in _compiled(template).generate(values):
            pieces.append(piece)
            length += len(piece)
            if length > _LONGEST:
                raise SecurityError(f"more than {_LONGEST:,} characters")
    except Exception as error:  # a template can make its values raise anything
        raise SpecError(
            "this template cannot be filled in", where=where, found=str(error)[:200] or type(error).__name__
        ) from None
    return "".join(pieces)
