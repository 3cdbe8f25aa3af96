"""The options of labelling, which ``quaver label`` and ``quaver.label`` share: those of a check, and more."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from quaver.core.options import Option
from quaver.study.checking.check_options import CheckOptions


class LabelOptions(CheckOptions, total=False):
    """How texts are labelled; every option may be left out.

    Attributes:
        check: The folder of a check, or a study file, to go on from. By default the check of these texts: the
            one in its usual folder, or a new one with the options given here.
        votes: How many prompts to ask about each text, whose most frequent label counts: the one that the
            check recommends, else five, if left out.
        error: The share of accepted labels that may be wrong, such as ``0.05`` or ``5%``: a sample is drawn
            for people to label, and labels are accepted as long as their tests allow it.
        by_hand: How many texts that sample has.
        returned: Files of labels that people gave, to take back.
        backfill: A second model, which is asked about the texts to which the first gives no label: written as
            ``model`` is. Its labels are marked as its own.
        anyway: Whether to label although the check says that these labels should not be used.
        batch: Whether to ask in batches, where the provider takes them.
        out: The labelled copy of the table.
    """

    check: Annotated[str | Path | None, Option("The folder of the check to continue from.")]
    votes: Annotated[int | None, Option("Ask this many prompts about each text.", least=1)]
    error: Annotated[Any, Option("Accept labels of which at most this share is wrong, such as 5%.")]
    by_hand: Annotated[int | None, Option("Texts that people label for that promise.", least=1)]
    returned: Annotated[Sequence[str | Path], Option("Files of labels that people have returned.", ())]
    backfill: Annotated[Any, Option("A second model for texts to which the first gives no label.")]
    anyway: Annotated[bool, Option("Label even if the check says “do not use”.", False)]
    batch: Annotated[bool, Option("Ask in batches, at the provider's lower price.", False)]
    out: Annotated[str | Path | None, Option("The labelled copy of the table.")]
