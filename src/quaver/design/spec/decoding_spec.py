"""How an answer is drawn."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, PrivateAttr, ValidationError

from quaver.core.arguments import excerpt, expectation
from quaver.core.records import Decoding
from quaver.design.spec.decoding_grids import GRID_SETTINGS
from quaver.design.spec.spec_part import Only, Part, PlacedError, Text

_GRID: Any = {"type": ["number", "array"]}


class DecodingSpec(Part):
    """How an answer is drawn, and how often it is asked for.

    In the file, a list of values for temperature, top_p, top_k, min_p, repeat_penalty or max_tokens makes a
    grid: a decoding for each combination, named after it ("hot,temperature=0.7,top_p=0.9"). The parameters
    that vary are columns of the annotations.
    """

    temperature: Annotated[float, Field(ge=0)] = Field(
        0.0, description="0 is greedy. A list makes a grid.", json_schema_extra=_GRID
    )
    top_p: Annotated[float, Field(gt=0, le=1)] = Field(
        1.0, description="1 keeps all tokens. A list makes a grid.", json_schema_extra=_GRID
    )
    top_k: Annotated[int, Field(ge=0)] = Field(
        0, description="0 keeps all tokens. A list makes a grid.", json_schema_extra=_GRID
    )
    min_p: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.0, description="0 drops none. A list makes a grid.", json_schema_extra=_GRID
    )
    repeat_penalty: Annotated[float, Field(gt=0)] = Field(
        1.0, description="1 does nothing. A list makes a grid.", json_schema_extra=_GRID
    )
    max_tokens: Annotated[int, Field(ge=1, le=10_000_000)] = Field(
        8, description="The answer is cut off here. A list makes a grid.", json_schema_extra=_GRID
    )
    seed: int | None = Field(None, description="The study's if left out.")
    stop: tuple[Text, ...] = Field((), description="The answer ends before any of these.")
    constraint: Literal["none", "labels"] = Field(
        "none", description="labels: the model can write one of the answers and nothing else."
    )
    logprobs: Annotated[int, Field(ge=0)] = Field(
        0, description="The number of most likely tokens returned at each position."
    )
    repeats: Annotated[int, Field(ge=1, le=1_000_000)] | None = Field(
        None, description="The study's if left out."
    )
    only: Only = Field({}, description="Use this decoding only where factors have these levels.")
    _grid: tuple[str, ...] = PrivateAttr(())

    @property
    def grid(self) -> tuple[str, ...]:
        """The parameters that vary in its grid."""
        return self._grid

    @classmethod
    def of_grid(cls, parameters: dict[str, Any], grid: tuple[str, ...]) -> DecodingSpec:
        """One point of a grid."""
        made = cls.model_validate(parameters)
        made._grid = grid
        return made

    def decoding(self, name: str, seed: int) -> Decoding:
        """The record that the stages use."""
        values = self.model_dump(exclude={"repeats", "seed", "only"})
        return Decoding(
            name=name, seed=self.seed if self.seed is not None else seed, grid=self.grid, **values
        )


def grid_of(name: str, parameters: dict[str, Any]) -> tuple[str, ...]:
    """The parameters with several values, checked while their place in the file is known.

    Raises:
        PlacedError: A value is wrong, missing or given twice.
    """
    grid = tuple(one for one in GRID_SETTINGS if isinstance(parameters.get(one), list | tuple))
    for parameter in grid:
        values = parameters[parameter]
        if not values:
            raise PlacedError("no value is given", name, parameter)
        for at, value in enumerate(values):
            try:
                DecodingSpec.model_validate({parameter: value})
            except ValidationError as error:
                expected, found = expectation(error.errors()), excerpt(value)
                problem = "this value does not fit"
                raise PlacedError(problem, name, parameter, at, expected=expected, found=found) from None
            if value in values[:at]:
                raise PlacedError(f"{value!r} is given twice", name, parameter, at)
    return grid
