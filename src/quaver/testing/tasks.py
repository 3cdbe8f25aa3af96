"""Tasks that the tests of evaluators share, by the name that the file of outputs uses."""

from quaver.core.records import Label, LabelSet, Level, Variant


def variant(answers: dict[str, str], *, explains: bool = False) -> Variant:
    """A variant that asks for these answers, by the label's code."""
    return Variant("v", {}, "", "{{ text }}", "{{ text }}", "Which?", "", answers, explains=explains)


def task(
    answers: dict[str, str], *labels: Label, level: Level = "nominal", explains: bool = False
) -> tuple[LabelSet, Variant]:
    """A label set, and a variant that asks for these answers."""
    return LabelSet(labels, level), variant(answers, explains=explains)


_VOTES = (
    Label("clinton", "Clinton", synonyms=("Bill Clinton",)),
    Label("dole", "Dole", synonyms=("Bob Dole",)),
)
_TONES = (
    Label("pos", "positive"),
    Label("neg", "negative"),
    Label("neu", "neutral"),
)
_SCALE = (
    Label("vn", "very negative", value=1),
    Label("neg", "negative", value=2),
    Label("neu", "neutral", value=3),
    Label("pos", "positive", value=4),
    Label("vp", "very positive", value=5),
)
_RELEVANCE = (Label("r", "relevant"), Label("n", "not relevant"))


def _two(p: str, n: str) -> tuple[LabelSet, Variant]:
    return task({"p": p, "n": n}, Label("p", p), Label("n", n))


TASKS: dict[str, tuple[LabelSet, Variant]] = {
    "names": task({"clinton": "Clinton", "dole": "Dole"}, *_VOTES),
    "letters": task({"clinton": "A", "dole": "B"}, *_VOTES),
    "swapped": task({"A": "B", "B": "A"}, Label("A", "Clinton"), Label("B", "Dole")),
    "digits": task({"clinton": "0", "dole": "1"}, *_VOTES),
    "tone": task({"pos": "positive", "neg": "negative", "neu": "neutral"}, *_TONES),
    "explained": task({"pos": "positive", "neg": "negative", "neu": "neutral"}, *_TONES, explains=True),
    "scale": task({label.code: label.name for label in _SCALE}, *_SCALE, level="ordinal"),
    "numbers": task(
        {label.code: str(number) for number, label in enumerate(_SCALE, 1)}, *_SCALE, level="ordinal"
    ),
    "choice": task({c: c for c in "ABCD"}, *(Label(c, c) for c in "ABCD")),
    "relevance": task(
        {"r": "relevant", "n": "not relevant"}, Label("r", "relevant"), Label("n", "not relevant")
    ),
    "russian": _two("положительный", "отрицательный"),
    "hindi": _two("सकारात्मक", "नकारात्मक"),
    "arabic": _two("إيجابي", "سلبي"),
    "thai": _two("เชิงบวก", "เชิงลบ"),
    "chinese": task({"p": "正面", "n": "负面"}, Label("p", "正面", synonyms=("积极",)), Label("n", "负面")),
}
