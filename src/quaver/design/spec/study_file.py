"""Reads the study file: YAML 1.2 becomes a ``StudySpec``, or one error that names the line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from quaver._secrets import Keys, is_key_shaped, name_keys, texts_in
from quaver.core.arguments import excerpt, model_of
from quaver.design.spec import StudySpec
from quaver.design.spec.complaints import translated
from quaver.design.spec.label_spelling import with_labels_alike
from quaver.design.spec.yaml_file import read_yaml
from quaver.errors import QuaverError, SpecError

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
        self._kept = kept or {}

    @property
    def home(self) -> Path:
        """The folder from which relative paths in the file start."""
        return self.path.parent if self.path else Path()

    def path_of(self, name: str) -> Path:
        """A file that the study names."""
        return self._kept.get(name, self.home / name)

    def where(self, *loc: str | int) -> str:
        """``study.yaml:12: items.text`` for a path of keys and positions in the file."""
        field = _dotted(loc)
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


def _dotted(loc: Sequence[str | int]) -> str:
    text = ""
    for part in loc:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


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
        source = Positions(None, with_labels_alike(study), kept)
    else:
        path = Path(study)
        source = Positions(path, with_labels_alike(read_yaml(path)))
    if not isinstance(source._document, Mapping):
        raise SpecError(
            "this is not a study",
            where=source.where(),
            expected="keys such as task, items, prompt, models",
            found=excerpt(source._document),
            fix="`quaver init` writes one to start from",
        )
    _refuse_keys(source._document, source)
    try:
        return StudySpec.model_validate(source._document), source
    except ValidationError as error:
        raise translated(error, StudySpec, source.where, source._document) from None


def _refuse_keys(document: Mapping[str, Any], source: Positions) -> None:
    """Refuse an API key before anything else: it would end up in prompts, lock and report.

    Raises:
        SpecError: The study contains a variable's value, or a model's options contain what looks like a key.
    """
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
        SpecError: An option is unknown, missing, of the wrong type, or was removed (the plug-in's ``gone``
            says what replaces it).
    """
    for name, instead in getattr(plugin, "gone", {}).items():
        if name in options:
            raise SpecError(
                f"the option {name!r} was removed",
                where=source.where(*loc, name),
                found=repr(options[name]),
                fix=instead,
            )
    model = model_of(plugin)
    try:
        checked = model.model_validate(dict(options))
    except ValidationError as error:
        raise translated(error, model, source.where, options, loc, beside) from None
    return {name: getattr(checked, name) for name in checked.model_fields_set} | (checked.model_extra or {})
