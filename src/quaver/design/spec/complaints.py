"""pydantic's complaints about a study file as one error: where, what was expected, and what to write."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from typing_extensions import is_typeddict

from quaver.core import registry
from quaver.core.arguments import excerpt, expectation, location_of
from quaver.design.spec import StudySpec
from quaver.design.spec.misplaced_keys import belongs
from quaver.design.spec.yaml_values import as_yaml_reads
from quaver.errors import SpecError, nearest

_LONGEST_EXAMPLE = 100
"""Characters of an example that an error shows."""

Where = Callable[..., str]


def translated(
    error: ValidationError,
    model: type[BaseModel],
    where: Where,
    given: Any,
    prefix: Sequence[str | int] = (),
    beside: Sequence[str] = (),
) -> SpecError:
    """The first of pydantic's complaints as an error of Quaver's; the others are counted.

    Args:
        error: What pydantic raised.
        model: What it checked.
        where: The place in the file of a path of keys.
        given: What was checked.
        prefix: Where that stands in the study file.
        beside: Further keys that are allowed there.
    """
    complaints = _real(error.errors(include_url=False))
    places = [location_of(complaint, given) for complaint in complaints]
    # A misspelt key is unknown and missing at once: the former says more.
    at = min(range(len(complaints)), key=lambda at: complaints[at]["type"] != "extra_forbidden")
    first, loc, kind = complaints[at], (*prefix, *places[at]), complaints[at]["type"]
    # The key that a misspelt one should have been is missing, too.
    same = "missing" if kind == "extra_forbidden" else ""
    others = len({place for one, place in zip(complaints, places, strict=True) if one["type"] != same}) - 1
    more = f" (and {others} more)" if others else ""
    if kind == "extra_forbidden":
        return _unknown_key(first, model, where(*loc), beside, more)
    if kind == "missing":
        return _missing(first, model, where(*loc), more)
    if kind == "value_error":
        problem = first["ctx"]["error"]
        found = {name: getattr(problem, name, None) for name in ("expected", "found", "fix")}
        return SpecError(f"{problem}{more}", where=where(*loc, *getattr(problem, "loc", ())), **found)
    is_key = loc[-1:] == ("[key]",)
    alike = [one for one, place in zip(complaints, places, strict=True) if place == places[at]]
    return SpecError(
        f"this {'key' if is_key else 'value'} does not fit{more}",
        where=where(*loc[: -2 if is_key else None]),
        expected=expectation(alike),
        found=excerpt(first["input"]),
        fix=_what_to_write(first, model) or f"write {expectation(alike)}",
    )


def _real(complaints: list[Any]) -> list[Any]:
    """The complaints without those about a list that is too short because its entries are wrong."""
    wrong = {tuple(one["loc"][:-1]) for one in complaints} | {tuple(one["loc"][:-2]) for one in complaints}
    found = [one for one in complaints if one["type"] != "too_short" or tuple(one["loc"]) not in wrong]
    return found or complaints


def _unknown_key(
    first: Mapping[str, Any], model: type[BaseModel], where: str, beside: Sequence[str], more: str
) -> SpecError:
    name, known = str(first["loc"][-1]), _keys(model, first["loc"][:-1])
    known += beside if len(first["loc"]) == 1 else ()
    guess = nearest(name, known)
    fix = f"did you mean {guess!r}?" if guess else "remove it"
    return SpecError(
        f"unknown key {name!r}{more}",
        where=where,
        expected=f"one of {', '.join(sorted(set(known)))}" if known else None,
        found=name,
        fix=(belongs(name, first["input"]) if model is StudySpec else None) or fix,
    )


def _missing(first: Mapping[str, Any], model: type[BaseModel], where: str, more: str) -> SpecError:
    name = str(first["loc"][-1])
    found = _models_in(_field(model, first["loc"][:-1]))
    info = found[0].model_fields.get(name) if found else None
    kind: registry.Kind | None = getattr(found[0], "names", {}).get(name) if found else None
    if kind is not None:
        expected = f"one of {', '.join(registry.names(kind))}"
    else:
        expected = info.description if info and info.description else "a value"
    example = _example(name, info) if info else None
    return SpecError(
        f"{name!r} is missing{more}",
        where=where,
        expected=expected,
        found="nothing",
        fix=f"add it: {example}" if example else f"add a line `{name}: …`",
    )


def _what_to_write(first: Mapping[str, Any], model: type[BaseModel]) -> str | None:
    """What to do about a value that does not fit, from what it is and from what its key takes."""
    value, kind, loc = first["input"], str(first["type"]), first["loc"]
    key = next((part for part in reversed(loc) if isinstance(part, str)), "")
    if kind == "string_type":
        return as_yaml_reads(value)
    if kind.startswith(("tuple", "list")) and isinstance(value, str):
        return f"write a list: `{key}: [{value}]`"
    if kind.startswith(("tuple", "list")) and isinstance(value, Mapping):
        return "write a list: begin each entry with a dash (-)"
    info = _info(model, loc)
    example = _example(key, info) if info is not None else None
    return f"write, for example, {example}" if example else None


def _example(name: str, info: FieldInfo) -> str | None:
    """A key with a value that it may have: its example, or its default."""
    parts = _models_in(info.annotation)
    values = [*(info.examples or ())]
    if not values and parts:
        fields = parts[0].model_fields.items()
        needed = {key: one.examples[0] for key, one in fields if one.examples and one.is_required()}
        values = [needed] if needed else []
    if not values and not info.is_required():
        default = info.get_default(call_default_factory=True)
        values = [default] if isinstance(default, str | int | float) and default != "" else []
    if not values:
        return None
    text = f"`{name}: {json.dumps(values[0], ensure_ascii=False)}`"
    return text if len(text) <= _LONGEST_EXAMPLE else None


def _info(model: type[BaseModel], loc: Sequence[str | int]) -> FieldInfo | None:
    """The field at a location, or None."""
    names = [part for part in loc if isinstance(part, str)]
    found = _models_in(_field(model, loc[: list(loc).index(names[-1])])) if names else []
    return found[0].model_fields.get(names[-1]) if found else None


def _field(model: type[BaseModel], loc: Sequence[str | int]) -> Any:
    """The annotation at a location, or None."""
    annotation: Any = model
    for part in loc:
        part_models = _models_in(annotation)
        if not part_models:
            return None
        if isinstance(part, str) and part in part_models[0].model_fields:
            annotation = part_models[0].model_fields[part].annotation
    return annotation


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    """The pydantic models inside an annotation such as ``tuple[LabelSpec, ...] | None``."""
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in getattr(annotation, "__args__", ()) for model in _models_in(part)]


def _keys(model: type[BaseModel], loc: Sequence[str | int]) -> list[str]:
    annotation = _field(model, loc)
    found = _models_in(annotation)
    if found:
        return list(found[0].model_fields)
    parts = (annotation, *getattr(annotation, "__args__", ()))
    return next((list(part.__annotations__) for part in parts if is_typeddict(part)), [])
