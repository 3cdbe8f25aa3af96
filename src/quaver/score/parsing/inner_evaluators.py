"""Evaluators inside other evaluators, given by name or by name and options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from quaver.core import registry
from quaver.core.arguments import excerpt, expectation, model_of
from quaver.errors import SpecError, UnknownName
from quaver.score.parsing.evaluator import Evaluator

Given = str | Mapping[str, Any]
"""A registered evaluator: its name, or ``use: NAME`` and its options."""


def evaluator_within(given: Given, where: str) -> Evaluator:
    """Make the evaluator that another one uses to read an answer's text.

    Raises:
        UnknownName: There is no such evaluator or option.
        SpecError: It does not read an answer's text, or an option is missing or invalid.
    """
    options = {"use": given} if isinstance(given, str) else dict(given)
    name = options.pop("use", None)
    if not isinstance(name, str):
        raise SpecError(
            "no evaluator is named",
            where=where,
            expected="a name, or use: NAME and options",
            found=excerpt(given),
        )
    plugin = registry.load("evaluators", name, where=where)
    if getattr(plugin, "reads", "text") != "text" or getattr(plugin, "of", ""):
        raise SpecError(
            f"the evaluator {name!r} does not read the answer's text",
            where=where,
            expected="a rule that finds the label in the text of the answer itself",
            found=name,
            fix="list it among the study's evaluators, beside this one",
        )
    model = model_of(plugin)
    if strange := next((one for one in options if one not in model.model_fields), None):
        raise UnknownName("option", strange, model.model_fields, where=f"{where}: {name}")
    try:
        checked = model.model_validate(options)
    except ValidationError as error:
        wrong = error.errors(include_url=False)
        option = str(wrong[0]["loc"][0]) if wrong[0]["loc"] else name
        if wrong[0]["type"] == "missing":
            raise SpecError(
                f"the evaluator {name!r} needs the option {option!r}",
                where=where,
                expected=f"{{use: {name}, {option}: …}}",
                found=excerpt(given),
            ) from None
        raise SpecError(
            "this value does not fit",
            where=f"{where}: {name}: {option}",
            expected=expectation([one for one in wrong if one["loc"][:1] == wrong[0]["loc"][:1]]),
            found=excerpt(options.get(option)),
        ) from None
    evaluator: Evaluator = plugin(**{one: getattr(checked, one) for one in checked.model_fields_set})
    return evaluator
