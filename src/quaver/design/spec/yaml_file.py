"""Reads a YAML file with the line of each part, or raises one error that names the line."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from datetime import date
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from ruamel.yaml import YAML
from ruamel.yaml.constructor import DuplicateKeyError, RoundTripConstructor
from ruamel.yaml.error import MarkedYAMLError, ReusedAnchorWarning
from ruamel.yaml.nodes import Node, ScalarNode, SequenceNode

from quaver.core.input_budget import read_file
from quaver.core.registry import Kind
from quaver.errors import SpecError


def as_yaml_reads(value: Any) -> str | None:
    """What to do if YAML did not read a text as text.

    >>> as_yaml_reads(True)
    'YAML reads true and false as yes and no; put a text in quotation marks: "true"'
    """
    if isinstance(value, Mapping):
        return 'put a text that starts with a brace in quotation marks: "{{ text }}"'
    if value is None:
        return 'YAML reads null, ~ and an empty value as nothing; put a text in quotation marks: "null"'
    if isinstance(value, bool):
        shown = str(value).lower()
        return f'YAML reads true and false as yes and no; put a text in quotation marks: "{shown}"'
    if isinstance(value, date):
        return f'YAML reads this as a date; put a text in quotation marks: "{value}"'
    if isinstance(value, int | float):
        return f'YAML reads this as a number; put a text in quotation marks: "{value}"'
    return None


_PAIR = re.compile(r"(?<!\\)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
"""How JSON escapes characters beyond 16 bits, such as emoji; YAML reads two broken characters."""

_MOST_BYTES = 32 * 2**20
"""The size of the largest study file that is read."""

_MOST_PARTS = 1_000_000
"""The most keys and values of a study file; what aliases repeat counts each time."""


def read_yaml(path: Path) -> Any:
    """Read a study file as YAML 1.2.

    Raises:
        SpecError: It is missing, not UTF-8 or not YAML, or its aliases repeat too much.
    """
    text = _text_of(path)
    yaml = YAML(typ="rt")
    yaml.Constructor = _Constructor
    try:
        with warnings.catch_warnings():  # an anchor's name may be reused
            warnings.simplefilter("ignore", ReusedAnchorWarning)
            return yaml.load(_PAIR.sub(lambda m: bytes.fromhex(m[1] + m[2]).decode("utf-16-be"), text))
    except MarkedYAMLError as error:
        raise _marked(path, error) from None
    # The reader fails on a part merged into itself, a list as a key, or an impossible date.
    except Exception as error:
        raise SpecError(
            "this cannot be read as YAML",
            where=path.name,
            found=f"{type(error).__name__}: {str(error)[:200]}",
            fix="check anchors (&), aliases (*), merges (<<), tags (!) and keys",
        ) from None


def _text_of(path: Path) -> str:
    try:
        return read_file(path, _MOST_BYTES).decode("utf-8-sig")
    except FileNotFoundError:
        problem, reason, fix = (
            "there is no such study file",
            "nothing",
            "`quaver init` writes one to start from",
        )
        raise SpecError(problem, where=str(path), expected="a YAML file", found=reason, fix=fix) from None
    except IsADirectoryError:
        raise SpecError("this is a folder", where=str(path), expected="a YAML file") from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise SpecError(
            "the study file cannot be read", where=str(path), expected="a YAML file", found=reason
        ) from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise SpecError(
            "the study file is not UTF-8",
            where=f"{path.name}:{line}",
            expected="UTF-8 text",
            found=f"byte {error.object[error.start]:#04x}",
            fix="save it as UTF-8",
        ) from None


def _marked(path: Path, error: MarkedYAMLError) -> SpecError:
    """The reader's error, with the line at which it stands."""
    mark = error.problem_mark or error.context_mark
    where = f"{path.name}:{mark.line + 1}" if mark else path.name
    if isinstance(error, _Aliases):
        return SpecError(str(error.problem), where=where, fix="write it out instead of using an alias (*)")
    if isinstance(error, DuplicateKeyError):
        problem = str(error.problem).partition(" with value")[0].removeprefix("found duplicate ")
        return SpecError(f"the {problem} is given twice", where=where, fix="remove one of them")
    return SpecError(
        f"this is not YAML: {error.problem or error.context}",
        where=where,
        fix="quote texts that hold a colon or start with a sign; indent with spaces",
    )


class _Aliases(MarkedYAMLError):
    """Aliases nest a part in itself, or turn a short file into a huge study."""


def _check_size(document: Node) -> None:
    """Refuse harmful aliases before the document is constructed."""
    sizes: dict[Node, int] = {}
    within: set[Node] = set()

    def size(node: Node) -> int:
        if isinstance(node, ScalarNode):
            return 1
        if node in within:
            raise _Aliases(problem="a part of the study contains itself", problem_mark=node.start_mark)
        if node not in sizes:
            within.add(node)
            parts = node.value if isinstance(node, SequenceNode) else chain.from_iterable(node.value)
            sizes[node] = 1 + sum(map(size, parts))
            within.remove(node)
        return sizes[node]

    if size(document) > _MOST_PARTS:
        problem = f"aliases make this more than {_MOST_PARTS:,} keys and values"
        raise _Aliases(problem=problem, problem_mark=document.start_mark)


class _Constructor(RoundTripConstructor):
    """Reads ``007`` as a text: it is a code, not the number 7. Bounds what aliases may do."""

    def get_single_data(self) -> Any:
        node = self.composer.get_single_node()
        if node is None:
            return None
        _check_size(node)
        return self.construct_document(node)

    def construct_yaml_int(self, node: Any) -> Any:
        written = str(node.value)
        is_code = len(written) > 1 and written[0] == "0" and written.isdigit()
        return written if is_code else super().construct_yaml_int(node)


_Constructor.add_constructor("tag:yaml.org,2002:int", _Constructor.construct_yaml_int)


Text = Annotated[str, Field(min_length=1)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Natural = Annotated[int, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]
Amount = Annotated[float, Field(ge=0)]


def _levels(given: Any) -> Any:
    """``{factor: level}`` as ``{factor: [level]}``."""
    if not isinstance(given, dict):
        return given
    return {name: level if isinstance(level, list | tuple) else [level] for name, level in given.items()}


Only = Annotated[
    dict[Name, Annotated[tuple[Name, ...], Field(min_length=1)]],
    BeforeValidator(_levels),
    Field(json_schema_extra={"additionalProperties": {"type": ["string", "array"]}}),
]
"""Levels by factor; a single level needs no brackets."""


class PlacedError(ValueError):
    """A mistake in a part of the study file, and its place inside that part."""

    def __init__(
        self,
        problem: str,
        *loc: str | int,
        expected: str | None = None,
        found: str | None = None,
        fix: str | None = None,
    ) -> None:
        super().__init__(problem)
        self.loc, self.expected, self.found, self.fix = loc, expected, found, fix


def distinct(kind: str) -> AfterValidator:
    """Refuses a list in which something stands twice."""

    def checked(given: Any) -> Any:
        shown = [f"{level:g}" if isinstance(level, float) else repr(level) for level in given]
        if twice := [level for index, level in enumerate(shown) if level in shown[:index]]:
            raise ValueError(f"the {kind} {twice[0]} is given twice")
        return given

    return AfterValidator(checked)


def check_distinct(kind: str, names: Sequence[str], *loc: str | int) -> None:
    """Refuse a name that is given twice.

    Raises:
        PlacedError: One is; its place is that of the second.
    """
    for index, name in enumerate(names):
        if name in names[:index]:
            raise PlacedError(f"the {kind} {name!r} is given twice", *loc, index, fix="remove one of them")


def _in_one_line(schema: dict[str, Any]) -> None:
    """Join the lines of the descriptions, which are docstrings."""
    for key in schema["properties"].values():
        key["description"] = " ".join(key.get("description", "").split())


class Part(BaseModel):
    """A part of the study file: unknown keys are errors, and nothing changes after reading."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        coerce_numbers_to_str=True,  # digits are frequent codes: 1 is the text "1"
        allow_inf_nan=False,
        use_attribute_docstrings=True,
        json_schema_extra=_in_one_line,
    )
    bare: ClassVar[str] = ""
    """The key whose value a bare name is, where one may replace the whole part."""
    bare_types: ClassVar[tuple[str, ...]] = ("string", "number")
    """What such a name is in JSON."""
    names: ClassVar[Mapping[str, Kind]] = {}
    """The keys that name a plug-in, with its kind."""

    @model_validator(mode="before")
    @classmethod
    def _from_short(cls, given: Any) -> Any:
        if given is None:  # a key followed by nothing but comments
            return {}
        return {cls.bare: given} if cls.bare and isinstance(given, str) else given


class PluginSpec(Part):
    """A plug-in by name, with its options beside the name. A bare string is the name."""

    bare = "use"

    model_config = ConfigDict(extra="allow")

    use: Name = Field(description="The registered name.")

    @property
    def options(self) -> dict[str, Any]:
        """The options beside the name."""
        return dict(self.__pydantic_extra__ or {})
