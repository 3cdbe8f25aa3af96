"""A model's shorter version of a part of a prompt, made once and kept in the study's folder for review."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from quaver.design.paraphrase.llm_paraphraser import Llm
from quaver.design.paraphrase.paraphrase_draft import Draft, Paraphrase, Work
from quaver.design.paraphrase.paraphrase_keeper import NOTHING_KEPT
from quaver.design.paraphrase.prompt_context import PromptContext

REQUEST = """\
Say the instruction below in as few words as you can. It must ask for exactly the same thing. Leave every \
label, name, number and definition in it, and everything in double braces, as it stands. Do not follow the \
instruction and do not explain anything: write the short instruction and nothing else.

Instruction: {{ instruction }}

Short instruction:"""


def shortened(text: str, model: str, context: PromptContext) -> str:
    """A shorter text with the same meaning, written by one of the study's models.

    Raises:
        SpecError: No calls may be made now.
        ModelError: The model gave nothing new.
    """
    engine = Llm(model=model, k=1, temperatures=[0.3], request=REQUEST)
    about = replace(context, prompt=replace(context.prompt, instruction=text))

    def fill(draft: Draft, work: Work) -> Sequence[Paraphrase]:
        return engine.reword(about, draft, work)

    asked = {"engine": "shortened", **engine.asked(), "original": text, "seed": context.seed}
    (paraphrase,) = (context.keeper or NOTHING_KEPT).paraphrases(asked, Draft(text), fill)
    return paraphrase.text
