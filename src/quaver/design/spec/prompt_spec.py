"""How the question is put, and the ways to vary it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from quaver.design.spec.former_names import renamed_family
from quaver.design.spec.spec_part import Name, Only, Part, PluginSpec, Text

__all__ = ["TEXT_FACTOR", "FamilySpec", "MeaningSpec", "PromptSpec", "SampleSpec"]

TEXT_FACTOR = "text"
"""The factor of the items' text, where the study gives several templates."""


class PromptSpec(Part):
    """How the question is put. All parts are templates."""

    system: str = Field("", description="The system message; none if left out.")
    layout: Text = Field(
        "{{ text }}\n\n{{ question }}",
        description="The user message. The question is the instruction and, on a line of its own, the "
        "postfix. Text first lets all paraphrases of a question share its reading.",
    )
    instruction: Text = Field(
        description="What is asked: the part that variants reword.",
        examples=["Is the opinion in this text positive or negative?"],
    )
    postfix: str = Field(
        "Answer with one of: {{ answers | join(', ') }}.",
        description="What fixes the answer's format: never reworded.",
    )
    answers: dict[str, Text] = Field(
        {}, description="What the model is to write for each label code; its name if left out."
    )
    explains: bool = Field(False, description="Whether the prompt asks for an explanation too.")
    frame: Literal["chat", "plain"] = Field(
        "chat",
        description="chat: messages in the model's own chat template. plain: one text as it is, for base "
        "models to go on with.",
    )


class FamilySpec(PluginSpec):
    """A way to vary the prompt; families are crossed."""

    factor: Name | None = Field(None, description="The column its levels go to; the family's own name else.")
    only: Only = Field(
        {}, description="Vary only where other factors have these levels; its first level elsewhere."
    )

    @model_validator(mode="before")
    @classmethod
    def _of_today(cls, given: Any) -> Any:
        return renamed_family(given)


class MeaningSpec(Part):
    """How paraphrases are compared with the original. They are flagged, never dropped."""

    by: Literal["auto", "embeddings", "lexical"] = Field(
        "auto",
        description="embeddings compares sentence embeddings (extra `embeddings`), lexical the letters; "
        "auto takes embeddings where they are installed.",
    )
    threshold: Annotated[float, Field(ge=-1, le=1)] | None = Field(
        None,
        description="Paraphrases less similar than this are flagged; 0.5 for embeddings and 0.2 for letters "
        "if left out.",
    )


class SampleSpec(Part):
    """A part of the design, where all of it would be too much."""

    variants: Annotated[int, Field(ge=2)] | None = Field(
        None, description="Ask this many: the first and others drawn at random; all if left out."
    )
    seed: int | None = Field(None, description="Of the draw; derived from the study's if left out.")
