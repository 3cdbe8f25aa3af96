"""How a gold sample was drawn and labelled, in sentences for a methods section."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from quaver.core.number_format import count


def gold_sentences(sample: Mapping[str, Any]) -> list[str]:
    """The design with its seed, the coders with their agreement, and what is still open.

    Args:
        sample: What the study says of its gold sample; empty where none was drawn.

    >>> gold_sentences({"design": "simple", "drawn": 20, "population": 90, "rounds": 1, "seed": 7,
    ...     "probabilities": [0.2, 0.2], "coders": [{"coder": "ada"}], "labelled": 19})[0]
    'A gold sample of 20 of the 90 items was drawn in 1 round by simple sampling (probability 0.20; seed 7).'
    """
    if not sample.get("design"):
        return []
    low, high = sample["probabilities"]
    chances = f"probability {low:.2f}" if high - low < 1e-9 else f"probabilities {low:.2f} to {high:.2f}"
    by = f" by {' and '.join(sample['by'])}" if sample.get("by") else ""
    when = f" until {sample['date']}" if sample.get("date") else ""
    found = [
        f"A gold sample of {sample['drawn']:,} of the {sample['population']:,} items was drawn in "
        f"{count(sample['rounds'], 'round')}{when} by {sample['design']} sampling{by} ({chances}; "
        f"seed {sample['seed']})."
    ]
    coders = f"{count(len(sample['coders']), 'coder')} labelled it"
    if agreement := sample.get("agreement"):
        alpha = "undefined" if agreement["value"] is None else f"{agreement['value']:.2f}"
        coders += (
            f"; {count(sample['twice'], 'item')} have labels of several coders (Krippendorff's alpha "
            f"{alpha}, {agreement['details']['percent']:.0%} of the pairs of labels agree)"
        )
    settled = Counter(dict(sample.get("decided", {})).values())
    for rule, who in (("adjudicator", "an adjudicator"), ("majority", "the majority of coders")):
        if settled[rule]:
            coders += f"; {count(settled[rule], 'disagreement')} settled by {who}"
    found.append(coders + ".")
    if lacking := sample["drawn"] - sample["labelled"]:
        found.append(f"{count(lacking, 'drawn item')} without a gold label so far.")
    return found
