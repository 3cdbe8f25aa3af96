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
        check: The folder of the check to continue from. Or a study file. By default the check of these texts:
            the one in its usual folder, or a new one with the options given here.
        votes: Ask this many prompts about each text. Their most frequent label counts. The prompt that the
            check recommends, else five, if left out.
        error: The largest share of wrong labels to accept, such as 5%. Or ``0.05``: a sample is drawn
            for people to label, and labels are accepted as long as their tests allow it.
        by_hand: Texts that people label for that promise.
        returned: Files of labels that people have returned.
        backfill: A second model for texts to which the first gives no label. Written as ``model`` is; its
            labels are marked as its own.
        anyway: Label even if the check says “do not use”.
        batch: Ask in batches, at the provider's lower price.
        out: The labelled copy of the table.
    """

    check: str | Path | None
    votes: Annotated[int | None, Option(least=1)]
    error: Any
    by_hand: Annotated[int | None, Option(least=1)]
    returned: Sequence[str | Path]
    backfill: Any
    anyway: bool
    batch: bool
    out: str | Path | None
