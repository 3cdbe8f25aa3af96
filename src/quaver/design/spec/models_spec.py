"""The models that a study asks, and their prices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field, model_validator

from quaver.core.registry import Kind
from quaver.design.spec.former_names import renamed_model
from quaver.design.spec.model_names import model_of_name
from quaver.design.spec.spec_part import Name, Only, Part, PlacedError, PluginSpec, Text
from quaver.errors import UnknownName


class PriceSpec(Part):
    """A model's price in US dollars per million tokens. A bare name means that model's price; 0 is free."""

    bare = True

    like: Text | None = Field(
        None, description="The price of this model in genai-prices: gpt-4o-mini, or openai/gpt-4o-mini."
    )
    input: Annotated[float, Field(ge=0)] | None = Field(None, description="Price of prompt tokens.")
    output: Annotated[float, Field(ge=0)] | None = Field(None, description="Price of written tokens.")
    cached: Annotated[float, Field(ge=0)] | None = Field(
        None,
        description="Price of prompt tokens in the server's cache; that of other prompt tokens if left out.",
    )

    @model_validator(mode="before")
    @classmethod
    def _from_name_or_nothing(cls, given: Any) -> Any:
        if isinstance(given, int | float) and given == 0:
            return {"input": 0.0, "output": 0.0}
        return {"like": given} if isinstance(given, str) else given

    @model_validator(mode="after")
    def _whole(self) -> PriceSpec:
        numbers = (self.input, self.output)
        if self.like is not None and (*numbers, self.cached) != (None, None, None):
            raise PlacedError("give either `like` or numbers, not both", fix="remove one of them")
        if self.like is None and None in numbers:
            raise PlacedError(
                "a price needs both `input` and `output`, or `like`",
                fix="write `price: {input: 0.15, output: 0.6}` in US dollars per million tokens",
            )
        return self


class ModelSpec(PluginSpec):
    """A model: the engine's name and options, and the name under which the study knows it.

    A bare string is ``provider/model``, such as ``openai/gpt-5-mini``, or the path of a GGUF file.
    """

    names: ClassVar[Mapping[str, Kind]] = {"use": "models"}

    name: Name = Field(description="Its name in this study.", examples=["smollm2"])
    only: Only = Field({}, description="Ask this model only where factors have these levels.")
    price: PriceSpec | None = Field(
        None, description="The price of its tokens; that in genai-prices if left out."
    )

    batch: bool = Field(
        False,
        description="Ask it in its provider's batches: half the price, answers within a day. `quaver run` "
        "hands them over and collects what is ready.",
    )

    @model_validator(mode="before")
    @classmethod
    def _of_today(cls, given: Any) -> Any:
        if not isinstance(given, str):
            return renamed_model(given)
        try:
            return model_of_name(given)
        except UnknownName as error:
            raise PlacedError(error.problem, expected=error.expected, found=given, fix=error.fix) from None
