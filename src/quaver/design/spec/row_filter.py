"""Conditions on the rows of a table: which of them a study uses. Nothing in them is code."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from quaver.core.table_text import composed
from quaver.design.spec.spec_part import Name, Part

Scalar = bool | int | float | str


def _as_text(given: Any) -> Any:
    """A date as YAML reads it, as the text that tables hold."""
    return given.isoformat() if isinstance(given, date) else given


def _listed(given: Any) -> Any:
    return [given] if not isinstance(given, list | tuple) else [_as_text(one) for one in given]


Value = Annotated[Scalar | None, BeforeValidator(_as_text)]
Limit = Annotated[int | float | str | None, BeforeValidator(_as_text)]
Values = Annotated[tuple[Value, ...], BeforeValidator(_listed)]


class Condition(Part):
    """What the cells of one column must be; a row must meet all that is given.

    Numbers are compared as numbers, everything else as text: ``2024-01-31`` is after ``2023-12-31``. An empty
    cell meets no condition but ``empty: true`` and ``none_of``.
    """

    model_config = ConfigDict(coerce_numbers_to_str=False)
    bare = True
    bare_types = ("string", "number", "boolean", "array", "null")

    one_of: Values | None = Field(None, description="One of these values; null is an empty cell.")
    none_of: Values | None = Field(None, description="None of these values.")
    at_least: Limit = Field(None, description="This or more.")
    at_most: Limit = Field(None, description="This or less.")
    above: Limit = Field(None, description="More than this.")
    below: Limit = Field(None, description="Less than this.")
    contains: str | None = Field(None, description="This text somewhere in it, in any case.")
    empty: bool | None = Field(None, description="true: only empty cells; false: none.")
    entries: Annotated[int, Field(ge=0)] | None = Field(
        None, description="A list with this many entries, such as the options of a question."
    )

    @model_validator(mode="before")
    @classmethod
    def _from_values(cls, given: Any) -> Any:
        return given if isinstance(given, Mapping | Condition) else {"one_of": _listed(given)}

    @model_validator(mode="after")
    def _something(self) -> Condition:
        if not self.model_fields_set or self.one_of == ():
            raise ValueError("this condition is empty")
        given = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if self.entries is not None and given != ["entries"]:
            raise ValueError("`entries` is about a list, every other condition about a text: give one")
        return self

    def met(self, text: str) -> bool:
        """Whether a cell meets it.

        Args:
            text: The cell's text without white space around it.

        Raises:
            ValueError: A limit is a number, and the cell holds a text that is none.

        >>> Condition.model_validate("en").met("en"), Condition.model_validate(7).met("7.0")
        (True, True)
        >>> Condition(at_least=2020).met("2019"), Condition(above="2020-06").met("2020-12-01")
        (False, True)
        """
        if self.one_of is not None and not any(_same(text, one) for one in self.one_of):
            return False
        if self.none_of is not None and any(_same(text, one) for one in self.none_of):
            return False
        if self.empty is not None and (not text) is not self.empty:
            return False
        if self.contains is not None and composed(self.contains).casefold() not in composed(text).casefold():
            return False
        return self._within(text)

    def _within(self, text: str) -> bool:
        """Whether a cell keeps to the limits."""
        limits = ((self.at_least, (0, 1)), (self.at_most, (-1, 0)), (self.above, (1,)), (self.below, (-1,)))
        given = [(limit, right) for limit, right in limits if limit is not None]
        return not given or (bool(text) and all(_order(text, limit) in right for limit, right in given))


Where = dict[Name, Condition]
"""Conditions by column."""


def _same(text: str, value: Scalar | None) -> bool:
    """Whether a cell holds a value: a number as a number, anything else as text."""
    if value is None:
        return not text
    if isinstance(value, bool):
        return text.casefold() == str(value).casefold()
    if isinstance(value, int | float):
        number = _number(text)
        return number is not None and number == value
    return composed(text) == composed(value.strip())


def _order(text: str, limit: int | float | str) -> int:
    """-1, 0 or 1 for a cell below, at or above a limit.

    Raises:
        ValueError: The limit is a number, and the cell holds a text that is none.
    """
    if isinstance(limit, str):
        return (text > limit) - (text < limit)
    number = _number(text)
    if number is None:
        raise ValueError(text)
    return (number > limit) - (number < limit)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
