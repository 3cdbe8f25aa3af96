"""The options of a check, which ``quaver check`` and ``quaver.check`` share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from quaver.core.options import Option
from quaver.study.imports.import_options import TableOptions

BUNDLED: Final = "smollm2-135m-instruct"
"""The model that is asked where none is named."""


READERS: Final = ("marked_label", "label_match", "first_label", "answer_markers", "exact")
"""The evaluators that find one label in an answer's text, the default first."""


class CheckOptions(TableOptions, total=False):
    """How a check is made; every option may be left out.

    Attributes:
        text: The column of texts; recognised by its name or its length, if left out.
        labels: The labels to choose from; those in the column of gold labels, if left out.
        codebook: A table of the labels with their definitions, which the prompt then shows: the columns
            ``label``, ``definition`` and, if you like, ``example``. In place of ``labels``.
        model: ``provider/model`` (``openai/gpt-5-mini``, ``ollama/llama3.2``), the path of a GGUF file, the
            bundled model by default; or your own function ``annotate(text, prompt)`` or ``annotate(text)``.
        base_url: The address of the model's server, where it is not the provider's own. Left out, that in
            ``OPENAI_BASE_URL``, ``ANTHROPIC_BASE_URL`` or ``OLLAMA_HOST`` is used, where it is set.
        key_from: The environment variable with the key for that address, if it is not the provider's own: a
            key goes to no other address.
        price: What the model costs in US dollars a million tokens read and written: ``0.15/0.60``; ``0`` if
            it is free. That in the catalogue, if left out.
        effort: How much the model should think before it answers: ``low``, ``medium``, ``high`` …
        max_tokens: How long an answer may be; what a model thinks before it has room beyond that.
        gold: The column of gold labels; recognised by its name, if left out.
        hand_labels: How the texts with a gold label were picked: ``"random"``, from all of them, or
            ``"chosen"``. Left out, they are compared with the others.
        fields: Columns that are variables of their own, which one answer gives together: a label, a set
            (``tax;war``, or a column for each label: ``topic_tax``, ``topic_war``), a scale or a number.
        coders: Columns of several coders' labels; recognised by their values, if left out.
        id: The column of unique ids; recognised by its name, if left out.
        group: The column that says which texts belong together (author, thread): every interval then allows
            for their being alike.
        compare: Columns whose groups of texts are compared (party, language).
        ignore: Columns that are nothing of all this, though they look like it.
        instruction: What to ask about each text. A plain default asks which label fits best.
        paraphrase_with: A model that puts the instruction in other words, which are shown before they are
            used: the labelled model's name, or another's. Left out, what stands before your own instruction
            varies.
        language: That of the words that Quaver adds to the prompts, by its code: ``de``, ``fr``, ``zh``. Left
            out, it is that of the instruction, or of the texts.
        n: How many texts to ask about: they are drawn at random. Where others have gold labels, up to twice
            as many of these are asked about too, for the figures about correctness only.
        prompts: How many prompts: the instruction in other words and, from four on, each of these with the
            labels in two orders.
        repeats: How often each prompt asks about each text: twice, or five times where your function takes no
            prompt, if left out.
        evaluator: The rule that turns an answer into a label: by default the label that the answer marks,
            else the only one that it names (``marked_label``).
        temperature: How freely the model answers; 0 takes the most likely answer.
        to: The folder for answers, report and study file: by default beside the table and named after it, or
            ``check`` for data without a file.
        budget: US dollars to spend at most, which agrees to spending them.
        seed: Of the sample, and of every draw.
    """

    text: Annotated[str | None, Option("The column of texts.")]
    labels: Annotated[Sequence[str], Option('The labels to choose from: "favor, against, none".', ())]
    codebook: Annotated[str | Path | None, Option("A table of the labels with their definitions.")]
    model: Annotated[
        Any, Option("PROVIDER/MODEL (openai/gpt-5-mini, ollama/llama3.2) or a .gguf file.", BUNDLED)
    ]
    base_url: Annotated[str | None, Option("The address of the model's server, up to /v1.")]
    key_from: Annotated[str | None, Option("The environment variable with that address's key.")]
    price: Annotated[str | None, Option("US dollars a million tokens, read/written: 0.15/0.60, or 0.")]
    effort: Annotated[str | None, Option("How much the model thinks first: low, medium, high.")]
    max_tokens: Annotated[int | None, Option("The longest answer in tokens, without thinking.", least=1)]
    gold: Annotated[str | None, Option("The column of gold labels, if you have one.")]
    hand_labels: Annotated[
        Literal["random", "chosen"] | None, Option("How the texts with gold labels were picked.")
    ]
    fields: Annotated[Sequence[str], Option("Columns of several variables: tone,topics,amount.", ())]
    coders: Annotated[Sequence[str], Option("The columns of several coders: anna,ben.", ())]
    id: Annotated[str | None, Option("The column of unique ids.")]
    group: Annotated[str | None, Option("The column that says which texts belong together: author.")]
    compare: Annotated[Sequence[str], Option("Compare the texts by these columns: party,language.", ())]
    ignore: Annotated[Sequence[str], Option("Columns to ignore.", ())]
    instruction: Annotated[str | None, Option("What to ask about each text.")]
    paraphrase_with: Annotated[str | None, Option("A model that rewords your instruction.")]
    language: Annotated[str | None, Option("The language of the prompts: de, fr, zh.")]
    n: Annotated[int, Option("Ask about this many texts, plus those with gold labels.", 50, least=1)]
    prompts: Annotated[int, Option("Ask with this many prompts.", 10, least=1)]
    repeats: Annotated[int | None, Option("How often to ask each prompt; twice by default.", least=1)]
    evaluator: Annotated[str | None, Option("Read the answers with this evaluator.")]
    temperature: Annotated[float, Option("The temperature; 0 takes the most likely answer.", 0.0, least=0)]
    to: Annotated[str | Path | None, Option("The folder for answers and report.")]
    budget: Annotated[float | None, Option("Spend at most this many US dollars.", above=0)]
    seed: Annotated[int, Option("The seed; another one draws another sample.", 0)]
