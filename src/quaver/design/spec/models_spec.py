"""The models that are asked, and what they cost."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_validator

from quaver.design.spec.spec_part import Name, Only, Part, PluginSpec, Text

__all__ = ["ModelSpec", "PriceSpec"]


class PriceSpec(Part):
    """What a model costs, in US dollars a million tokens. A bare name is another model's price; 0 is free."""

    bare = True

    like: Text | None = Field(
        None, description="As this model of genai-prices: gpt-4o-mini, or openai/gpt-4o-mini."
    )
    input: Annotated[float, Field(ge=0)] | None = Field(None, description="Of a prompt's tokens.")
    output: Annotated[float, Field(ge=0)] | None = Field(None, description="Of written tokens.")
    cached: Annotated[float, Field(ge=0)] | None = Field(
        None, description="Of a prompt's tokens that the server had read before; as the others if left out."
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
            raise ValueError("a price is either like another model's or given in numbers")
        if self.like is None and None in numbers:
            raise ValueError("a price needs both `input` and `output`, or `like`")
        return self


class ModelSpec(PluginSpec):
    """A model: the engine's name and options, and the name under which the study knows it."""

    bare = False  # it needs a name of its own

    name: Name = Field(description="Its name in this study.", examples=["smollm2"])
    only: Only = Field({}, description="Ask it only where factors have these levels.")
    price: PriceSpec | None = Field(
        None, description="What its tokens cost; by the prices that genai-prices knows if left out."
    )
