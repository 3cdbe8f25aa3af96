"""Reads the study file: YAML 1.2 becomes a ``StudySpec``, or one error that names the line."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from typing_extensions import is_typeddict

from quaver._secrets import Keys, is_key_shaped, name_keys, texts_in
from quaver.core import registry
from quaver.core.arguments import excerpt, expectation, location_of, model_of
from quaver.design.spec import BudgetSpec, DecodingSpec, ItemsSpec, PromptSpec, StudySpec, TaskSpec
from quaver.design.spec.task_spec import with_labels_alike
from quaver.design.spec.yaml_file import Part, PluginSpec, as_yaml_reads, read_yaml
from quaver.errors import QuaverError, SpecError, nearest

_PARTS: Final[Mapping[str, type[Part]]] = {
    "decoding": DecodingSpec,
    "task": TaskSpec,
    "items": ItemsSpec,
    "prompt": PromptSpec,
    "budget": BudgetSpec,
}
"""The parts of a study file whose keys are often written one level too high."""

_ELSEWHERE: Final[Mapping[str, str]] = {
    "model": "models: [openai/gpt-5-mini]",
    "provider": "models: [openai/gpt-5-mini]",
    "paraphrases": "variants: [{use: paraphrases, engine: surface}]",
    "prompts": 'variants: [{use: instructions, texts: {curt: "Positive or negative?"}}]',
    "metrics": "measures: [accuracy, inter_pss]",
    "runs": "repeats: 3",
    "data": 'items: {source: texts.csv, text: "{{ text }}"}',
    "texts": 'items: {source: texts.csv, text: "{{ text }}"}',
    "system_prompt": "prompt: {system: …}",
    "template": "prompt: {layout: …}",
    "parser": "evaluators: [marked_label]",
    "examples": "variants: [{use: prompts, prompts: {shown: {examples: 2}}}]",
}
"""What other tools call something, as a study file says it."""


def belongs(key: str, value: Any) -> str | None:
    """Where a key belongs that is known somewhere else, with its value there; None for any other.

    >>> belongs("temperature", 0.7)
    'it belongs to a decoding: `decoding: {greedy: {temperature: 0.7}}`'
    >>> belongs("labels", ["a", "b"])
    'it belongs under task: `task: {labels: ["a", "b"]}`'
    """
    if key in _ELSEWHERE:
        return f"write `{_ELSEWHERE[key]}`"
    try:
        shown = json.dumps(value, ensure_ascii=False, default=str)
    except TypeError:  # YAML allows keys that are no text
        shown = "…"
    shown = shown if len(shown) <= 60 else "…"
    for name, part in _PARTS.items():
        if key in part.model_fields and name == "decoding":
            return f"it belongs to a decoding: `decoding: {{greedy: {{{key}: {shown}}}}}`"
        if key in part.model_fields:
            return f"it belongs under {name}: `{name}: {{{key}: {shown}}}`"
    return None


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
    kinds = [complaint["type"] for complaint in complaints]
    # A misspelt key is unknown, and the one that it should have been is missing: the former says more.
    index = kinds.index("extra_forbidden") if "extra_forbidden" in kinds else 0
    first, kind, place = complaints[index], kinds[index], places[index]
    where_it_is = [*prefix, *place]
    counted = {
        place for place, of in zip(places, kinds, strict=True) if {kind, of} != {"extra_forbidden", "missing"}
    }
    more = f" (and {len(counted) - 1} more)" if len(counted) > 1 else ""
    if kind == "extra_forbidden":
        name, known = str(first["loc"][-1]), _keys(model, first["loc"][:-1])
        known += beside if len(first["loc"]) == 1 else ()
        guess = nearest(name, known)
        fix = f"did you mean {guess!r}?" if guess else "remove it"
        return SpecError(
            f"unknown key {name!r}{more}",
            where=where(*where_it_is),
            expected=f"one of {', '.join(sorted(set(known)))}" if known else None,
            found=name,
            fix=(belongs(name, first["input"]) if model is StudySpec else None) or fix,
        )
    if kind == "missing":
        return _missing(first, model, where(*where_it_is), more)
    if kind == "value_error":
        problem = first["ctx"]["error"]
        facts = {name: getattr(problem, name, None) for name in ("expected", "found", "fix")}
        return SpecError(f"{problem}{more}", where=where(*where_it_is, *getattr(problem, "loc", ())), **facts)
    subject = "value"
    if place[-1:] == ("[key]",):
        subject, where_it_is = "key", where_it_is[:-2]
    expected = expectation(
        [complaint for complaint, at in zip(complaints, places, strict=True) if at == place]
    )
    return SpecError(
        f"this {subject} does not fit{more}",
        where=where(*where_it_is),
        expected=expected,
        found=excerpt(first["input"]),
        fix=_what_to_write(first, model) or f"write {expected}",
    )


def _real(complaints: list[Any]) -> list[Any]:
    """The complaints without those about a list that is too short because its entries are wrong."""
    wrong = {tuple(complaint["loc"][:-1]) for complaint in complaints} | {
        tuple(complaint["loc"][:-2]) for complaint in complaints
    }
    real = [
        complaint
        for complaint in complaints
        if complaint["type"] != "too_short" or tuple(complaint["loc"]) not in wrong
    ]
    return real or complaints


def _missing(first: Mapping[str, Any], model: type[BaseModel], where: str, more: str) -> SpecError:
    *place, name = first["loc"]
    part = _part_at(model, place)
    info = part.model_fields.get(name) if part else None
    kind: registry.Kind | None = getattr(part, "names", {}).get(name)
    if kind is not None:
        expected = f"one of {', '.join(registry.names(kind))}"
    else:
        expected = " ".join(((info and info.description) or "a value").split())
    example = _example(name, info)
    return SpecError(
        f"{name!r} is missing{more}",
        where=where,
        expected=expected,
        found="nothing",
        fix=f"add it: {example}" if example else f"add a line `{name}: …`",
    )


def _what_to_write(first: Mapping[str, Any], model: type[BaseModel]) -> str | None:
    """What to do about a value that does not fit, from what it is and from what its key takes."""
    value, kind, keys = first["input"], str(first["type"]), list(first["loc"])
    while keys and not isinstance(keys[-1], str):
        keys.pop()
    key = keys[-1] if keys else ""
    if kind == "string_type":
        return as_yaml_reads(value)
    if kind.startswith(("tuple", "list")) and isinstance(value, str):
        return f"write a list: `{key}: [{value}]`"
    if kind.startswith(("tuple", "list")) and isinstance(value, Mapping):
        return "write a list: begin each entry with a dash (-)"
    part = _part_at(model, keys[:-1])
    example = _example(key, part.model_fields.get(key) if part else None)
    return f"write, for example, {example}" if example else None


def _example(name: str, info: FieldInfo | None) -> str | None:
    """A key with a value that it may have: its example, or its default."""
    if info is None:
        return None
    values, parts = [*(info.examples or ())], _models_in(info.annotation)
    if not values and parts:
        fields = parts[0].model_fields.items()
        needed = {key: field.examples[0] for key, field in fields if field.examples and field.is_required()}
        values = [needed] if needed else []
    if not values and isinstance(info.default, str | int | float) and info.default != "":
        values = [info.default]
    text = f"`{name}: {json.dumps(values[0], ensure_ascii=False)}`" if values else ""
    return text if 0 < len(text) <= _LONGEST_EXAMPLE else None


def _annotation_at(model: type[BaseModel], place: Sequence[str | int]) -> Any:
    """The annotation at a place in a model, or None."""
    annotation: Any = model
    for key in place:
        parts = _models_in(annotation)
        if not parts:
            return None
        if key in parts[0].model_fields:
            annotation = parts[0].model_fields[str(key)].annotation
    return annotation


def _part_at(model: type[BaseModel], place: Sequence[str | int]) -> type[BaseModel] | None:
    """The part of the study file at a place."""
    return next(iter(_models_in(_annotation_at(model, place))), None)


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    """The pydantic models inside an annotation such as ``tuple[LabelSpec, ...] | None``."""
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in getattr(annotation, "__args__", ()) for model in _models_in(part)]


def _keys(model: type[BaseModel], place: Sequence[str | int]) -> list[str]:
    annotation = _annotation_at(model, place)
    if models := _models_in(annotation):
        return list(models[0].model_fields)
    parts = (annotation, *getattr(annotation, "__args__", ()))
    return next((list(part.__annotations__) for part in parts if is_typeddict(part)), [])


PartT = TypeVar("PartT", bound=BaseModel)


class Positions:
    """The places of a study file's parts, for errors.

    Args:
        path: The file, or None for a study that was given as a mapping.
        document: The parsed YAML.
        kept: The files that hold what was given as data instead of a name, by the names that stand for them.
    """

    def __init__(self, path: Path | None, document: Any, kept: Mapping[str, Path] | None = None) -> None:
        self.path = path
        self._document = document
        self._kept = {**(kept or {})}

    def keep(self, kept: Mapping[str, Path]) -> None:
        """Find files elsewhere than where the study says."""
        self._kept.update(kept)

    @property
    def home(self) -> Path:
        """The folder from which relative paths in the file start."""
        return self.path.parent if self.path else Path()

    def path_of(self, name: str) -> Path:
        """A file that the study names."""
        return self._kept.get(name, self.home / name)

    def where(self, *loc: str | int) -> str:
        """``study.yaml:12: items.text`` for a path of keys and positions in the file."""
        field = ""
        for part in loc:
            field += f"[{part}]" if isinstance(part, int) else f".{part}" if field else part
        if self.path is None:
            return field or "study"
        line = self._line(loc)
        place = f"{self.path.name}:{line}" if line else self.path.name
        return f"{place}: {field}" if field else place

    @contextmanager
    def locating(self, *loc: str | int) -> Iterator[None]:
        """Complete the place of an error raised inside, which does not know the file."""
        try:
            yield
        except QuaverError as error:
            place, inner = self.where(*loc), error.where or ""
            if inner.startswith(place.partition(":")[0]):
                raise
            if loc or not inner:
                error.where = f"{place}: {inner}" if inner else place
            else:  # the error names a path of keys itself
                error.where = self.where(*inner.split("."))
            raise

    def _line(self, loc: Sequence[str | int]) -> int | None:
        node, line = self._document, None
        for part in loc:
            marks = getattr(node, "lc", None)
            try:
                at = marks.key(part) if isinstance(node, Mapping) else marks.item(part)  # type: ignore[union-attr]
                line, node = at[0] + 1, node[part]
            except (AttributeError, KeyError, IndexError, TypeError):
                break
        return line


def read_study(
    study: str | Path | Mapping[str, Any], kept: Mapping[str, Path] | None = None
) -> tuple[StudySpec, Positions]:
    """Read a study file, or a study given as a mapping.

    Args:
        study: Path of the YAML file, or its content as a mapping.
        kept: Of a mapping: the files that hold what was given as data, by name.

    Returns:
        The study, and the places of its parts.

    Raises:
        SpecError: The file is missing, is not UTF-8 or not YAML, or has a mistake.
    """
    if isinstance(study, Mapping):
        document: Any = study
        source = Positions(None, document, kept)
    else:
        path = Path(study)
        document = read_yaml(path)
        source = Positions(path, document)
    if not isinstance(document, Mapping):
        raise SpecError(
            "this is not a study",
            where=source.where(),
            expected="keys such as task, items, prompt, models",
            found=excerpt(document),
            fix="`quaver init` writes one to start from",
        )
    # Refuse an API key before anything else: it would end up in prompts, lock and report
    name_keys(document)
    keys = Keys()
    for loc, text in texts_in(document):
        name = keys.within(text)
        of_model = "model" in loc or loc[0] == "models"
        if name is None and not (of_model and is_key_shaped(text)):
            continue
        # If the API key is a mapping's key, its place would reveal it.
        place = loc[:-1] if loc[-1] == text else loc
        raise SpecError(
            f"this is the value of the environment variable {name}" if name else "this looks like a key",
            where=source.where(*place),
            expected="no key anywhere in the study file, which is stored beside the answers",
            fix="remove it; `key:` of a model names the variable that holds it; change the key if others may "
            "have seen the file",
        )
    return read_part(StudySpec, with_labels_alike(document), source, ()), source


def read_part(
    kind: type[PartT], given: Mapping[str, Any], source: Positions, loc: Sequence[str | int]
) -> PartT:
    """Check a part that `StudySpec` does not cover: one among a plug-in's options.

    Raises:
        SpecError: The part has a mistake.
    """
    try:
        return kind.model_validate(dict(given))
    except ValidationError as error:
        raise translated(error, kind, source.where, given, loc) from None


def bind(
    plugin: Callable[..., Any],
    options: Mapping[str, Any],
    source: Positions,
    loc: Sequence[str | int],
    beside: Sequence[str] = ("use",),
) -> dict[str, Any]:
    """Check a plug-in's options against its signature.

    Args:
        plugin: A class or function whose keyword arguments, with annotations, are its options.
        options: The options in the study file.
        source: The places of the study's parts.
        loc: The place of these options.
        beside: Other keys beside the options, for suggestions.

    Returns:
        The options, converted to the annotated types.

    Raises:
        SpecError: An option is unknown, missing or of the wrong type.
    """
    model = model_of(plugin)
    try:
        checked = model.model_validate(dict(options))
    except ValidationError as error:
        raise translated(error, model, source.where, options, loc, beside) from None
    return {name: getattr(checked, name) for name in checked.model_fields_set} | (checked.model_extra or {})


def built(
    kind: registry.Kind, spec: PluginSpec, source: Positions, loc: Sequence[str | int], *beside: str
) -> Any:
    """A plug-in that a study names, with its options.

    Args:
        kind: The kind of plug-in.
        spec: Its name and options in the study file.
        source: The places of the study's parts.
        loc: The place of this one.
        beside: Other keys beside its name and options, for suggestions.

    Raises:
        SpecError: An option has a mistake.
        UnknownName: There is no such plug-in.
    """
    plugin = registry.load(kind, spec.use, where=source.where(*loc))
    options = bind(plugin, spec.options, source, loc, ("use", *beside))
    with source.locating(*loc):
        return plugin(**options)


Read = TypeVar("Read", bound=Part)


def read_document(
    path: Path, model: type[Read], *, problem: str, expected: str
) -> tuple[Read, Positions, Mapping[str, Any]]:
    """Read a YAML file whose keys a model describes.

    Args:
        path: The file.
        model: What it may say.
        problem: What is wrong where it holds no keys at all.
        expected: The keys that it should have.

    Returns:
        What it says, where it says it, and the document as it was written.

    Raises:
        SpecError: It cannot be read, or has a mistake.
    """
    document = read_yaml(path)
    source = Positions(path, document)
    if not isinstance(document, Mapping):
        raise SpecError(problem, where=source.where(), expected=expected, found=excerpt(document))
    return read_part(model, document, source, ()), source, document
