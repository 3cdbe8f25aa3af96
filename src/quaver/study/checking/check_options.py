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
        text: The column of texts. Recognised by its name or its length, if left out.
        title: The column of titles that stand above the texts. Recognised by its name, where the texts are
            recognised.
        images: The column of pictures: paths inside the table's folder. The model sees these, and texts
            beside them only if ``text`` names their column. If left out, the one whose cells all name
            pictures, where no column holds texts.
        labels: The labels to choose from: "favor, against, none". Those in the column of gold labels, if left
            out.
        codebook: A table of the labels with their definitions. The prompt then shows these; the columns are
            ``label``, ``definition`` and, if you like, ``example``. In place of ``labels``.
        model: PROVIDER/MODEL (openai/gpt-5-mini, ollama/llama3.2) or a .gguf file. The bundled model, if left
            out; in Python also your own function ``annotate(text, prompt)`` or ``annotate(text)``.
        base_url: The address of the model's server, up to /v1. Left out, that in ``OPENAI_BASE_URL``,
            ``ANTHROPIC_BASE_URL`` or ``OLLAMA_HOST``, where it is set, or the provider's own.
        key_from: The environment variable with that address's key. A key goes to no other address than its
            provider's own, or the one for which it is named here.
        price: US dollars a million tokens, read/written: 0.15/0.60, or 0. That in the catalogue, if left out.
        effort: How much the model thinks first: low, medium, high.
        max_tokens: The longest answer in tokens, without thinking. What a model thinks has room beyond that.
        gold: The column of gold labels, if you have one. Recognised by its name, if left out.
        hand_labels: How the texts with gold labels were picked. ``"random"``, from all of them, or
            ``"chosen"``; left out, they are compared with the others.
        fields: Columns of several variables: tone,topics,amount. One answer gives them together: a label, a
            set (``tax;war``, or a column for each label: ``topic_tax``, ``topic_war``), a scale or a number.
        coders: The columns of several coders: anna,ben. Recognised by their values, if left out.
        id: The column of unique ids. Recognised by its name, if left out.
        group: The column that says which texts belong together: author. Every interval then allows for their
            being alike.
        split: Cut texts of more than this many tokens into parts, between paragraphs. A text's label is the
            one that most of its parts have, a number the highest; the study file can say how else.
        compare: Compare the texts by these columns: party,language.
        ignore: Columns to ignore. They are nothing of all this, though they look like it.
        instruction: What to ask about each text. A plain default asks which label fits best.
        paraphrase_with: A model that rewords your instruction. The new ones are shown before they are used.
            The labelled model's name, or another's; left out, what stands before your own instruction varies.
        language: The language of the prompts: de, fr, zh. That of the words that Quaver adds; left out, it is
            that of the instruction, or of the texts.
        n: Ask about this many texts, plus those with gold labels. They are drawn at random. Where others have
            gold labels, up to twice as many of these are asked about too, for the figures about correctness
            alone.
        prompts: Ask with this many prompts. The instruction in other words and, from four on, each of these
            with the labels in two orders.
        repeats: How often to ask each prompt; twice by default. Five times where your function takes no
            prompt.
        evaluator: Read the answers with this evaluator. By default the label that the answer marks, else the
            only one that it names (``marked_label``).
        temperature: The temperature; 0 takes the most likely answer.
        to: The folder for answers and report. By default beside the table and named after it, or ``check``
            for data without a file.
        budget: Spend at most this many US dollars. It agrees to spending them.
        seed: The seed; another one draws another sample. Every other draw follows it, too.
    """

    text: str | None
    title: str | None
    images: str | None
    labels: Sequence[str]
    codebook: str | Path | None
    model: Annotated[Any, Option(BUNDLED)]
    base_url: str | None
    key_from: str | None
    price: str | None
    effort: str | None
    max_tokens: Annotated[int | None, Option(least=1)]
    gold: str | None
    hand_labels: Literal["random", "chosen"] | None
    fields: Sequence[str]
    coders: Sequence[str]
    id: str | None
    group: str | None
    split: Annotated[int | None, Option(least=1)]
    compare: Sequence[str]
    ignore: Sequence[str]
    instruction: str | None
    paraphrase_with: str | None
    language: str | None
    n: Annotated[int, Option(50, least=1)]
    prompts: Annotated[int, Option(10, least=1)]
    repeats: Annotated[int | None, Option(least=1)]
    evaluator: str | None
    temperature: Annotated[float, Option(0.0, least=0)]
    to: str | Path | None
    budget: Annotated[float | None, Option(above=0)]
    seed: Annotated[int, Option(0)]
