"""Tasks that the tests of evaluators share, by the name that the file of outputs uses."""

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final

from quaver.core.records import Label, LabelSet, Level, Variant

CASES: Final[Mapping[str, Any]] = tomllib.loads(
    files(__package__).joinpath("answers.toml").read_text("utf-8")
)
"""``answers.toml``."""


def variant(answers: dict[str, str], *, explains: bool = False) -> Variant:
    """A variant that asks for these answers, by the label's code."""
    return Variant("v", {}, "", "{{ text }}", "{{ text }}", "Which?", "", answers, explains=explains)


def task(
    answers: dict[str, str], *labels: Label, level: Level = "nominal", explains: bool = False
) -> tuple[LabelSet, Variant]:
    """A label set, and a variant that asks for these answers."""
    return LabelSet(labels, level), variant(answers, explains=explains)


def _read(labels: list[dict[str, Any]], level: Level = "nominal", explains: bool = False) -> Any:
    answers = {label["code"]: label.pop("answer") for label in labels}
    known = (Label(**{**label, "synonyms": tuple(label.get("synonyms", ()))}) for label in labels)
    return task(answers, *known, level=level, explains=explains)


TASKS: dict[str, tuple[LabelSet, Variant]] = {name: _read(**case) for name, case in CASES["tasks"].items()}
