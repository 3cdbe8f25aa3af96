"""Checks of what a caller passes: a plug-in's options, a public function's arguments.

pydantic does the checking; its complaints become Quaver's errors here, also for the study file.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from os import PathLike
from types import SimpleNamespace
from typing import Annotated, Any, TextIO, TypeVar, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, PydanticUserError, ValidationError, create_model

from quaver._secrets import without_key_values
from quaver.core.options import options_in
from quaver.errors import QuaverError, UnknownName, as_called

SubjectT = TypeVar("SubjectT", bound=Callable[..., Any])

_BRANCH = re.compile(
    r"(literal|list|dict|tuple|set|function|constrained|nullable|lax)\b.*|int|float|str|bool|none"
)
"""Pydantic's names of the branches of a union in the location of an error."""

_WORDS = {
    "bool": "true or false",
    "callable": "a function",
    "dict": "keys with values",
    "finite_number": "a finite number",
    "float": "a number",
    "int": "a whole number",
    "list": "a list",
    "mapping": "keys with values",
    "model": "keys with values",
    "none": "nothing",
    "path_type": "a path",
    "sequence": "a list",
    "string": "a text",
    "tuple": "a list",
}
"""What was expected, by the beginning of a complaint's type."""

_LIMITS = {
    "greater_than": ("gt", "more than {}"),
    "greater_than_equal": ("ge", "{} or more"),
    "less_than": ("lt", "less than {}"),
    "less_than_equal": ("le", "{} or less"),
    "literal_error": ("expected", "{}"),
    "is_instance_of": ("class", "{}"),
    "string_too_short": ("min_length", "{} or more characters"),
    "string_too_long": ("max_length", "{} or fewer characters"),
    "too_short": ("min_length", "{} or more of them"),
    "too_long": ("max_length", "{} or fewer of them"),
}


def excerpt(value: Any) -> str:
    """A value as an error quotes it: without keys, and cut if it is long."""
    text = without_key_values(repr(dict(value) if isinstance(value, Mapping) else value))
    return text if len(text) <= 120 else text[:117] + "..."


def location_of(complaint: Mapping[str, Any], given: Any) -> tuple[str | int, ...]:
    """The location of pydantic's complaint in the given value, without the branches of unions.

    >>> location_of({"loc": ("k", "list[int]", 0)}, {"k": ["x"]})
    ('k', 0)
    """
    place: list[str | int] = []
    for part in complaint["loc"]:
        holds = isinstance(given, Mapping) and part in given
        if not holds and isinstance(part, str) and _BRANCH.fullmatch(part):
            continue
        place.append(part)
        item = isinstance(part, int) and isinstance(given, Sequence) and part < len(given)
        given = given[part] if holds or item else None
    return tuple(place)


def expectation(complaints: Sequence[Mapping[str, Any]]) -> str:
    """What was expected, in words, from pydantic's complaints about one value.

    >>> expectation([{"type": "int_parsing", "msg": ""}, {"type": "greater_than", "ctx": {"gt": 1}}])
    'a whole number or more than 1'
    """
    return " or ".join(dict.fromkeys(map(_fits, complaints)))


def _fits(complaint: Mapping[str, Any]) -> str:
    kind = str(complaint["type"])
    if kind in _LIMITS:
        name, words = _LIMITS[kind]
        limit = complaint["ctx"][name]
        return words.format(f"{limit:g}" if isinstance(limit, float) else limit)
    for start, words in _WORDS.items():
        if kind.startswith(start):
            return words
    message = str(complaint["msg"])
    return (message[:1].lower() + message[1:]).removeprefix("input should be ")


@cache
def model_of(function: Callable[..., Any]) -> type[BaseModel]:
    """A pydantic model of the arguments that can be passed by name."""
    names = getattr(function.__init__ if inspect.isclass(function) else function, "__globals__", {})
    fields: dict[str, Any] = {}
    extra = "forbid"
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            extra = "allow"
        given = parameter.default is not parameter.empty or inspect.isclass(function)
        # A function's argument without a default is its input, not an option.
        if parameter.kind is parameter.KEYWORD_ONLY or (
            parameter.kind is parameter.POSITIONAL_OR_KEYWORD and given
        ):
            default = ... if parameter.default is parameter.empty else parameter.default
            fields[parameter.name] = (_hint(parameter, names), default)
    return _made(getattr(function, "__name__", "options"), fields, extra=extra, coerce_numbers_to_str=True)


def _made(name: str, fields: Mapping[str, Any], **options: Any) -> type[BaseModel]:
    config = ConfigDict(**{"arbitrary_types_allowed": True, "protected_namespaces": (), **options})  # type: ignore[typeddict-item]
    with warnings.catch_warnings():  # an option may have the name of a pydantic method: json, copy
        warnings.filterwarnings("ignore", "Field name .* shadows an attribute", UserWarning)
        return create_model(name, __config__=config, **fields)


def _hint(parameter: inspect.Parameter, names: dict[str, Any]) -> Any:
    """A parameter's annotation; Any where it has none, or one for type checkers only."""
    if parameter.annotation is parameter.empty:
        return Any
    holder = SimpleNamespace(__annotations__={"hint": parameter.annotation})
    try:
        hint = get_type_hints(holder, globalns=names, include_extras=True)["hint"]
    except NameError:
        return Any
    return Any if TextIO in (hint, *get_args(hint)) else hint  # no open file is an instance of that class


def taking(record: type) -> Callable[[SubjectT], SubjectT]:
    """Makes a function show and check the options of a record (`core.options`) that it takes by name."""

    def decorated(function: SubjectT) -> SubjectT:
        signature = inspect.signature(function)
        parameters = [
            parameter
            for parameter in signature.parameters.values()
            if parameter.kind is not parameter.VAR_KEYWORD
        ]
        for name, (kind, option) in options_in(record).items():
            limits = {"ge": option.least, "gt": option.above, "le": option.most}
            bounds: dict[str, Any] = {name: bound for name, bound in limits.items() if bound is not None}
            hint = Annotated[kind, Field(**bounds)] if bounds else kind
            parameters.append(
                inspect.Parameter(
                    name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=hint
                )
            )
        function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return function

    return decorated


def guarded(function: SubjectT, error: type[QuaverError] = QuaverError, where: str = "{}({})") -> SubjectT:
    """Make a public function raise one `QuaverError` for arguments that do not fit its signature.

    >>> @guarded
    ... def draw(*, width: int = 1) -> int:
    ...     return width
    >>> draw(width="wide")
    Traceback (most recent call last):
    quaver.errors.QuaverError: draw(width): this argument does not fit
      expected: a whole number
      found: 'wide'
      to do: pass a whole number
    >>> draw(widht=2)
    Traceback (most recent call last):
    quaver.errors.UnknownName: draw: unknown argument 'widht'
      expected: one of width
      found: widht
      to do: did you mean 'width'?
    """
    signature = inspect.signature(function)
    name = function.__qualname__

    @wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        open_ended = any(
            parameter.kind is parameter.VAR_KEYWORD for parameter in signature.parameters.values()
        )
        for argument in named:
            if argument not in signature.parameters and not open_ended:
                names = [parameter for parameter in signature.parameters if parameter not in ("self", "cls")]
                raise UnknownName("argument", argument, names, where=name)
        try:
            bound = signature.bind(*given, **named)
        except TypeError as wrong:
            raise error(str(wrong), where=name, expected=str(signature)) from None
        for given_name, value in bound.arguments.items():
            bound.arguments[given_name] = fitted(function, given_name, value, error, where)
        try:
            return function(*bound.args, **bound.kwargs)
        except QuaverError as wrong:
            wrong.where, wrong.fix = as_called(wrong.where), as_called(wrong.fix)
            raise

    return call  # type: ignore[return-value]


def fitted(function: Callable[..., Any], name: str, value: Any, kind: type[QuaverError], where: str) -> Any:
    """An argument of a function, converted to its type where it is a plain value."""
    model = _model_of_one(function, name)
    try:
        made = model.model_validate({"value": value})
    except ValidationError as error:
        expected = expectation(error.errors(include_url=False))
        raise kind(
            "this argument does not fit",
            where=where.format(function.__qualname__, name),
            expected=expected,
            found=excerpt(value),
            fix=_instead(value, expected),
        ) from None
    # A container is passed on as it is; pydantic would copy it.
    is_plain = isinstance(value, str | bytes | int | float)
    return made.value if is_plain else value  # type: ignore[attr-defined]


def _instead(value: Any, expected: str) -> str:
    """What to pass in place of a value."""
    if expected == "a list" and isinstance(value, str):
        return f"pass a list: {[part.strip() for part in value.split(',')]!r}"
    if expected == "Study" and isinstance(value, str | PathLike):
        return f"open it first: quaver.Study.open({str(value)!r})"
    return f"pass {expected}"


@cache
def _model_of_one(function: Callable[..., Any], name: str) -> type[BaseModel]:
    parameter = inspect.signature(function).parameters[name]
    free = name in ("self", "cls") or parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
    hint = Any if free else _hint(parameter, getattr(function, "__globals__", {}))
    try:
        return _made(name, {"value": (hint, ...)})
    except PydanticUserError:  # it does not know the annotation of an array, for example
        return _made(name, {"value": (Any, ...)})
