"""Whether a paraphrase keeps the meaning: measured, not assumed.

Similarity is that of sentence embeddings (``embeddings``) or, without these, of letters: a lexical measure,
which is reported as such. Neither notices a negation. In addition: whether labels, numbers, placeholders and
the words that explain labels are still there, and how the length changed. Paraphrases are flagged, never
dropped.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from quaver.core.records import LabelSet, Variant
from quaver.design.factors.prompt_edits import ORIGINAL, LevelOfFactor
from quaver.design.paraphrase import embeddings
from quaver.design.paraphrase.protected_words import label_names, lost, lost_class_words
from quaver.design.spec import MeaningSpec

LEXICAL = "lexical: cosine of letter triples"
_THRESHOLDS = {embeddings.METHOD: 0.5, LEXICAL: 0.2}
_BAND = 0.1


By = Literal["auto", "embeddings", "lexical"]
Comparison = Callable[[By, str, Sequence[str]], tuple[str, list[float]]]
"""From method, original and paraphrases to the measure's name and the similarities (1 for identical)."""


def compare(by: By, original: str, paraphrases: Sequence[str]) -> tuple[str, list[float]]:
    """Similarities of paraphrases to the original; ``auto`` uses embeddings if they are installed."""
    if by == "embeddings" or (by == "auto" and embeddings.available()):
        return embeddings.METHOD, embeddings.similarities(original, paraphrases)
    return LEXICAL, [lexical(original, paraphrase) for paraphrase in paraphrases]


def lexical(one: str, other: str) -> float:
    """The cosine of the counts of letter triples, in lower case and with single spaces; 0 to 1.

    "a b" holds ␣a␣, a␣b and ␣b␣; "a c" shares the first of three, so 1/3:

    >>> round(lexical("a b", "a c"), 3)
    0.333
    """
    a, b = _triples(one), _triples(other)
    size = math.sqrt(sum(n * n for n in a.values()) * sum(n * n for n in b.values()))
    if not size:
        return 1.0 if one == other else 0.0
    return min(1.0, sum(count * b[triple] for triple, count in a.items()) / size)


def _triples(text: str) -> Counter[str]:
    spaced = f" {' '.join(text.casefold().split())} "
    return Counter(spaced[at : at + 3] for at in range(len(spaced) - 2))


def with_meaning(
    levels: Sequence[LevelOfFactor],
    prompt: Variant,
    labels: LabelSet,
    asked: MeaningSpec,
    comparison: Comparison = compare,
) -> list[LevelOfFactor]:
    """Levels that reword the instruction, each with a comparison of its meaning.

    Returns:
        The levels with covariates (``original``, ``distance_band``, ``flagged``, ``flags``, and ``distance``,
        which is 1 minus the similarity) and, in their origin under ``meaning``, the method, the similarity,
        what was lost, and the change in length.
    """
    texts = [level.edit(prompt).instruction for level in levels]
    method, similarities = comparison(asked.by, prompt.instruction, texts)
    threshold = _THRESHOLDS[method] if asked.threshold is None else asked.threshold
    names = label_names(labels, prompt.answers)
    found = []
    for level, text, similarity in zip(levels, texts, similarities, strict=True):
        gone = lost(prompt.instruction, text, names)
        if words := lost_class_words(prompt.instruction, text, prompt.postfix, labels, prompt.answers):
            gone["class words"] = words
        meaning = _meaning(prompt.instruction, text, gone, similarity)
        flags = _flags(meaning, threshold)
        compared = {"by": method, "threshold": threshold, **meaning, "flags": flags}
        found.append(
            replace(
                level,
                covariates={**level.covariates, **_covariates(level, meaning, flags)},
                origin={**level.origin, "meaning": compared},
            )
        )
    return found


def _meaning(
    original: str, text: str, gone: Mapping[str, Sequence[str]], similarity: float
) -> dict[str, Any]:
    return {
        "similarity": round(similarity, 4),
        "lost": gone,
        "length": round(_ratio(len(text), len(original)), 3),
        "words": round(_ratio(_words(text), _words(original)), 3),
    }


def _ratio(one: int, other: int) -> float:
    return one / other if other else 1.0


def _words(text: str) -> int:
    """The number of words and punctuation marks."""
    return len(re.findall(r"\w+|[^\w\s]", text))


def _flags(meaning: Mapping[str, Any], threshold: float) -> list[str]:
    found = []
    if meaning["similarity"] < threshold:
        found.append(f"similarity {meaning['similarity']:.2f} under {threshold:g}")
    found += [f"lost {kind}: {', '.join(some)}" for kind, some in meaning["lost"].items()]
    return found


def _covariates(
    level: LevelOfFactor, meaning: Mapping[str, Any], flags: Sequence[str]
) -> dict[str, str | float | bool]:
    original = level.name == ORIGINAL
    distance = round(max(0.0, 1 - meaning["similarity"]), 4)
    found: dict[str, str | float | bool] = {
        "original": original,
        "distance": distance,
        "flagged": bool(flags),
    }
    if not original:
        low = min(math.floor(distance / _BAND + 1e-9), round(1 / _BAND) - 1)
        found["distance_band"] = f"{low * _BAND:.1f} to {(low + 1) * _BAND:.1f}"
    if flags:
        found["flags"] = "; ".join(flags)
    return found
