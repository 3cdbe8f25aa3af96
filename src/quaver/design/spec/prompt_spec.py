"""The prompt, and the families that vary it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from quaver.core.column_names import column_of
from quaver.core.registry import Kind
from quaver.design.spec.spec_part import Name, Only, Part, PluginSpec, Text

TEXT_FACTOR = "text"
"""The factor of the items' text, if the study gives several templates."""

TEXT_COLUMN = column_of("factor", TEXT_FACTOR)
"""Its column."""


class PromptSpec(Part):
    """The prompt. All parts are templates."""

    system: str = Field("", description="The system message; none if left out.")
    layout: Text = Field(
        "{{ text }}\n\n{{ question }}",
        description="The user message. The question is the instruction and, on the next line, the "
        "postfix. With the text first, an engine reads it once for all paraphrases of the question.",
    )
    instruction: Text = Field(
        description="The question: the part that paraphrases reword.",
        examples=["Is the opinion in this text positive or negative?"],
    )
    postfix: str = Field(
        "Answer with one of: {{ answers | join(', ') }}.",
        description="The format of the answer: never reworded.",
    )
    answers: dict[str, Text] = Field(
        {}, description="What the model should write for each label, by code; the label's name if left out."
    )
    explains: bool = Field(False, description="Whether the prompt also asks for an explanation.")
    frame: Literal["chat", "plain"] = Field(
        "chat",
        description="chat: messages in the model's own chat template. plain: one text as it is, for base "
        "models to continue.",
    )


class FamilySpec(PluginSpec):
    """A family of prompt variants; families are crossed."""

    names: ClassVar[Mapping[str, Kind]] = {"use": "variants", "engine": "paraphrasers"}

    factor: Name | None = Field(
        None, description="The column of its levels; the family's own name if left out."
    )
    only: Only = Field(
        {}, description="Vary only where other factors have these levels; elsewhere, use its first level."
    )


class MeaningSpec(Part):
    """How paraphrases are compared with the original. They are flagged, never dropped."""

    by: Literal["auto", "embeddings", "lexical"] = Field(
        "auto",
        description="embeddings compares sentence embeddings (extra `embeddings`), lexical compares letters; "
        "auto uses embeddings if they are installed.",
    )
    threshold: Annotated[float, Field(ge=-1, le=1)] | None = Field(
        None,
        description="Paraphrases less similar than this are flagged; if left out, 0.5 for embeddings and 0.2 "
        "for letters.",
    )


class SampleSpec(Part):
    """A sample of the variants, if there are too many."""

    variants: Annotated[int, Field(ge=2)] | None = Field(
        None, description="Ask this many: the first one and others drawn at random; all if left out."
    )
    seed: int | None = Field(None, description="Seed of the draw; derived from the study's if left out.")
