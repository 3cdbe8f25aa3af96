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

from quaver.core.records import LabelSet, Variant
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
    if sign and attribute is None and any(sign in one for one in shown if isinstance(one, str)):
        shown = [f'"{one}"' for one in shown]
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
    found = str(error)[:200] or type(error).__name__
    return SpecError("this template cannot be read", where=where, found=found)


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


def around(template: str, name: str, values: Mapping[str, Any]) -> tuple[str, str] | None:
    """The texts that a template writes before and after a value; None unless it writes that once, as it is.

    >>> around("{{ task }}: {{ text }}!", "text", {"task": "Sort"})
    ('Sort: ', '!')
    >>> around("{{ text | upper }}", "text", {}), around("{{ text }}{{ text }}", "text", {})
    (None, None)
    """
    parts = _plain(template) or ()
    names = [one for _, one in parts if one is not None]
    if names.count(name) != 1 or any(one != name and one not in values for one in names):
        return None
    index = [one for _, one in parts].index(name)
    written = [text if one is None else str(_written(values[one])) for text, one in parts if one != name]
    return "".join(written[:index]), "".join(written[index:])


def literal(text: str) -> str:
    """A template that renders to a given text, whatever it contains.

    >>> literal("{{ x }}"), literal("plain")
    ("{{ '{{' }} x }}", 'plain')
    """
    return _OPENING.sub(lambda match: f"{{{{ '{match.group()}' }}}}", text)


def written_out(text: str) -> str:
    """A template that renders to a given text, in one piece.

    >>> written_out("{{ x }}")
    '{{ "{{ x }}" }}'
    """
    return f"{{{{ {json.dumps(text, ensure_ascii=False)} }}}}"


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


_AROUND = r"[\s\"'`*_“”‘’]*"
_OR = rf"{_AROUND}(?:,?\s+or\s|[/|]){_AROUND}"
_JOINED = rf"(?:{_OR}|,{_AROUND})"
_END = r"(?=[\"'`*_“”‘’]*(?:[.;:!?](?:\s|$)|[\n()\[\]{}<>=]|$))"
_SIGN, _KNOWN = "\U000f0000", "\U000f0001"
"""Stand for an answer of the variant, and for another name of a label."""


def check_postfix(variant: Variant, labels: LabelSet, *, where: str) -> None:
    """Check that a postfix does not contradict the variant's answers.

    Two answers with a comma, a slash, a bar or an "or" between them are a list, which has all answers. What
    an "or", a slash or a bar joins to an answer must be one, too.
    """
    if names_in(variant.postfix) - {"answers", "labels"} or "{%" in variant.postfix:
        return  # it differs between items
    answers = [answer.strip() for answer in variant.answers.values()]
    names = [name for label in labels.labels for name in (label.code, label.name, *label.synonyms)]
    text = _written_postfix(variant, labels)
    masked = _masked(_masked(text, answers, _SIGN), names, _KNOWN)
    if re.search(r"…|\.\.\.", text):  # "1, 2, …, 5"
        return
    word = rf"(\w[\w-]*(?: \w[\w-]*){{0,{max(len(answer.split()) for answer in answers) - 1}}})"
    either = f"[{_SIGN}{_KNOWN}]"
    for stranger in (f"{either}{_JOINED}{word}{_JOINED}{either}", f"{_SIGN}{_OR}{word}{_END}"):
        match = re.search(stranger, masked, re.IGNORECASE)
        if match and match[1].casefold() not in map(str.casefold, answers):
            found = match[1].casefold()
            _refuse(f"the postfix lists an answer that belongs to no label: {found!r}", variant, where)
    left_out = [
        answer
        for answer in answers
        if not re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", text, re.IGNORECASE)
    ]
    if left_out and re.search(f"{_SIGN}{_JOINED}{_SIGN}(?:{_JOINED}|{_END})", masked, re.IGNORECASE):
        _refuse(f"the postfix lists the answers without {left_out[0]!r}", variant, where)


def _masked(text: str, names: Iterable[str], sign: str) -> str:
    """A text with a sign for each of some names, but for one that could as well join others."""
    forms = sorted(
        (re.escape(name) for name in names if name and name.casefold() != "or"), key=len, reverse=True
    )
    return re.sub(rf"(?<!\w)(?:{'|'.join(forms)})(?!\w)", sign, text, flags=re.IGNORECASE) if forms else text


def _written_postfix(variant: Variant, labels: LabelSet) -> str:
    shown = [
        {
            "code": one.code,
            "name": one.name,
            "definition": one.definition,
            "answer": variant.answers[one.code],
        }
        for one in labels.labels
    ]
    values = {"answers": list(variant.answers.values()), "labels": shown}
    return render(variant.postfix, values, where="postfix")


def _refuse(problem: str, variant: Variant, where: str) -> None:
    raise SpecError(
        problem,
        where=where,
        expected=f"all of {', '.join(variant.answers.values())}, and nothing else",
        found=variant.postfix[:120],
        fix="write {{ answers | join(', ') }} instead of the list",
    )
