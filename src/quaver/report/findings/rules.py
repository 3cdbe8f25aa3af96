"""The rules of the decision, as one table: the first that holds says what to do with a model's labels.

``docs/verdicts.md`` prints the table (`rules_table`). "Surely" means that the whole interval is on that side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, NamedTuple

from quaver.core.column_names import in_words
from quaver.report.findings.judged_model import STEADY, Correctness, JudgedModel
from quaver.report.findings.recommendation import NextStep, Reason, Recommended

_USELESS: Final = 0.1
"""Where surely more of the answers than this have no label, they are of no use."""

_HALF: Final = 0.5
"""Where labels, or their noise, are closer to perfect than to chance."""

_FEW_TEXTS: Final = 10
"""Fewer texts with a label show nothing."""

_NEARLY_ALL: Final = 0.95
"""Where as many labels are the same, the others must follow the texts."""

_REPEATED: Final = 0.1
"""As many labels of one prompt may surely change when it is asked again."""

ORDERS: Final = frozenset({"label_order", "option_order", "order"})
FORMATS: Final = frozenset({"answer", "answer_format", "answers", "format", "formats", "output"})
"""Families of variants, and names of imported factors, for the order of labels and the form of the answer."""

_GOLD: Final = (
    "correct_answers",
    "wrong_labels",
    "gold_agreement",
    "gold_bias",
    "gold_total",
    "coders_differ",
)
_MOVES: Final = ("flips_prompts", "flips_agreement", "flips_repeats", "correct_answers")
_REST: Final = ("rest_agreement", "rest_wrong", "flips_prompts")
_BEST: Final = ("best_prompt_wrong", "best_prompt_better", "flips_prompts")
_ONE_LABEL: Final = ("label_in_use", "flips_agreement", "wrong_labels")
_ONE_PROMPT: Final = (*_GOLD, "flips_repeats")
_STABLE: Final = (*_GOLD, "flips_prompts", "flips_agreement")
_REPEATS: Final = ("flips_repeats", "flips_prompts", "flips_agreement")
_BARE: Final = ("unlabelled_answers", "failed_calls")


class Rule(NamedTuple):
    """One rule.

    Attributes:
        answers: What the answers show, in words.
        kind: What is recommended then.
        reason: Why.
        holds: Whether they show it.
        evidence: The estimates that decide.
        correct: Whether the labels that are spoken of are right.
        next_step: What to do next, where it is not what the reason asks for.
        prompt: The variant that is recommended; empty for none in particular.
    """

    answers: str
    kind: Recommended
    reason: Reason
    holds: Callable[[JudgedModel], bool]
    evidence: tuple[str, ...] = ()
    correct: Callable[[JudgedModel], Correctness] = lambda labels: "unknown"
    next_step: Callable[[JudgedModel], NextStep | None] = lambda labels: None
    prompt: Callable[[JudgedModel], str] = lambda labels: ""


def _given(labels: JudgedModel) -> Correctness:
    return labels.given_correct


def _reading_decides(labels: JudgedModel) -> bool:
    readers = labels.estimates.get("reader_disagreement")
    return readers is not None and "evaluators" in readers.details


def _is_failed(labels: JudgedModel) -> bool:
    return labels.value("failed_calls") >= _HALF


def _is_mute(labels: JudgedModel) -> bool:
    return not labels.has_labels or labels.low("unlabelled_answers") > _USELESS


def _has_few_texts(labels: JudgedModel) -> bool:
    few = not labels.has("label_in_use") or labels.estimates["label_in_use"].n < _FEW_TEXTS
    return few and labels.has_labels  # else they are unreadable


def _is_one_label(labels: JudgedModel) -> bool:
    used = labels.estimates["label_in_use"]
    follow = _one_prompt(labels) or labels.low("flips_agreement") > _HALF
    return used.details["labels"] == 1 or (used.number >= _NEARLY_ALL and not follow)


def _is_cut(labels: JudgedModel) -> bool:
    bare, cut = (labels.estimates.get(name) for name in ("unlabelled_answers", "truncated_answers"))
    return bare is not None and cut is not None and cut.number >= bare.number / 2 > 0


def _rest_is_usable(labels: JudgedModel) -> bool:
    steady, mute = labels.low("rest_agreement") >= STEADY, labels.low("rest_unlabelled") > _USELESS
    return steady and not mute and labels.rest_correct in ("right", "unknown")


def _best_is_better(labels: JudgedModel) -> bool:
    return labels.low("best_prompt_better") > 0 and labels.best_correct == "right"


def _says_nothing(labels: JudgedModel) -> bool:
    constant = labels.estimates["label_in_use"].value == 1.0
    return constant or labels.high("flips_agreement") < _HALF


def _gold_is_alike(labels: JudgedModel) -> bool:
    return labels.has("wrong_labels") and labels.estimates["wrong_labels"].value == 0.0


def _one_prompt(labels: JudgedModel) -> bool:
    return not labels.has("flips_prompts")


def _is_stable(labels: JudgedModel) -> bool:
    return labels.low("flips_agreement") >= STEADY


def _may_be_stable(labels: JudgedModel) -> bool:
    return labels.high("flips_agreement") >= STEADY


def _is_right(labels: JudgedModel) -> bool:
    return labels.given_correct in ("right", "as good as coders")


def _is_noise(labels: JudgedModel) -> bool:
    return labels.low("flips_noise") > _HALF


def _moved_by(families: frozenset[str]) -> Callable[[JudgedModel], bool]:
    def moved(labels: JudgedModel) -> bool:
        factor = labels.factor
        return bool(families & {labels.families.get(factor), in_words(factor)})

    return moved


def _both(*conditions: Callable[[JudgedModel], bool]) -> Callable[[JudgedModel], bool]:
    return lambda labels: all(holds(labels) for holds in conditions)


def _prompt_in_use(labels: JudgedModel) -> str:
    return str(labels.estimates["label_in_use"].details.get("prompt", ""))


def _rest(answers: str, *conditions: Callable[[JudgedModel], bool]) -> Rule:
    """Odd prompts left out, the others can be used."""
    return Rule(
        f"{answers}, but without a few odd prompts they are stable, and right where gold labels are known",
        "use one prompt only",
        "odd prompts",
        _both(*conditions, _rest_is_usable),
        _REST,
        lambda labels: labels.rest_correct,
        lambda labels: "keep this prompt" if labels.rest_correct == "right" else "label by hand",
        lambda labels: str(labels.estimates["rest_agreement"].details["prompt"]),
    )


def _best(answers: str, *conditions: Callable[[JudgedModel], bool]) -> Rule:
    """One prompt is right, and surely more often than the others."""
    return Rule(
        f"{answers}, but with one prompt they are right, surely more often than with the others",
        "use one prompt only",
        "best prompt",
        _both(*conditions, _best_is_better),
        _BEST,
        lambda labels: labels.best_correct,
        prompt=lambda labels: labels.estimates["best_prompt_better"].cell["variant"],
    )


def _wrong(
    answers: str,
    evidence: tuple[str, ...],
    holds: Callable[[JudgedModel], bool],
    correct: Callable[[JudgedModel], Correctness] = _given,
) -> list[Rule]:
    """Labels are wrong, or higher or lower than the gold labels throughout."""
    kinds: tuple[Literal["wrong", "biased"], ...] = ("wrong", "biased")
    return [
        Rule(
            f"{answers} {kind}",
            "do not use",
            kind,
            _both(holds, lambda labels, kind=kind: correct(labels) == kind),  # type: ignore[misc]
            evidence,
            correct,
        )
        for kind in kinds
    ]


def _chosen_texts(
    answers: str, evidence: tuple[str, ...], *conditions: Callable[[JudgedModel], bool]
) -> Rule:
    """Right where people labelled, who chose the texts."""
    return Rule(
        f"{answers} right, but the texts with hand labels were chosen",
        "cannot tell",
        "chosen texts",
        _both(*conditions, _is_right, lambda labels: labels.are_chosen),
        ("hand_labels", *evidence),
        lambda labels: "unclear",
    )


def _moved(by: str, reason: Reason, holds: Callable[[JudgedModel], bool]) -> Rule:
    """Labels change with the prompt, most of all with a part of it."""
    words = f"{_CHANGE}, most of all with {by}"
    return Rule(words, "do not use", reason, holds, _MOVES, lambda labels: labels.all_correct)


_MUTE: Final = "surely more than 10% of the answers have no label"
_ONLY: Final = "one prompt was tried, and its labels are"
_ARE: Final = "labels are stable, and"
_CHANGE: Final = "labels change with the prompt"

RULES: Final[tuple[Rule, ...]] = (
    Rule("there are no answers", "cannot tell", "no answers", lambda labels: not labels.evidence),
    Rule("half of the calls or more failed", "do not use", "failed", _is_failed, ("failed_calls",)),
    Rule(
        "fewer than 10 texts have a label",
        "cannot tell",
        "too few items",
        _has_few_texts,
        ("label_in_use",),
    ),
    Rule(
        "an evaluator decides: more than 10% of the answers mark another label than was read, or another "
        "evaluator gives another verdict",
        "cannot tell",
        "reading",
        _reading_decides,
        ("reader_disagreement",),
    ),
    _rest(_MUTE, _is_mute),
    _best(_MUTE, _is_mute),
    Rule(
        f"{_MUTE}, at least half of which were cut off",
        "do not use",
        "cut off",
        _both(_is_mute, _is_cut),
        _BARE,
    ),
    Rule(_MUTE, "do not use", "unreadable", _is_mute, _BARE),
    Rule(
        "surely more than 10% of the calls failed",
        "cannot tell",
        "failed",
        lambda labels: labels.low("failed_calls") > _USELESS,
        ("failed_calls",),
    ),
    Rule(
        "every label is the same, or 95% are and the others do not follow the texts; and the gold labels "
        "differ or are unknown",
        "do not use",
        "one label",
        _both(_is_one_label, _says_nothing, lambda labels: not _gold_is_alike(labels)),
        _ONE_LABEL,
    ),
    Rule(
        "95% of the labels or more are the same",
        "cannot tell",
        "one label",
        _is_one_label,
        _ONE_LABEL,
        next_step=lambda labels: "add items",
    ),
    Rule(
        "one prompt was tried, and asking again surely changes more than 10%",
        "do not use",
        "repetition",
        _both(_one_prompt, lambda labels: labels.low("flips_repeats") > _REPEATED),
        ("flips_repeats",),
    ),
    *_wrong(_ONLY, _ONE_PROMPT, _one_prompt),
    _chosen_texts(_ONLY, _ONE_PROMPT, _one_prompt),
    Rule(
        f"{_ONLY} right",
        "use one prompt only",
        "only prompt",
        _both(_one_prompt, _is_right),
        _ONE_PROMPT,
        _given,
        prompt=_prompt_in_use,
    ),
    Rule("one prompt was tried", "cannot tell", "one prompt", _one_prompt, _ONE_PROMPT, _given),
    *_wrong(f"{_ARE}", _STABLE, _is_stable),
    Rule(
        f"{_ARE} too few gold labels tell whether they are right",
        "cannot tell",
        "unclear gold",
        _both(_is_stable, lambda labels: labels.given_correct == "unclear"),
        _STABLE,
        _given,
    ),
    _chosen_texts(_ARE, _STABLE, _is_stable),
    Rule(
        f"{_ARE} right",
        "use",
        "right",
        _both(_is_stable, lambda labels: labels.given_correct == "right"),
        _STABLE,
        _given,
    ),
    Rule(
        f"{_ARE} differ from the gold labels no more often than a coder does from the others",
        "use",
        "as good as coders",
        _both(_is_stable, _is_right),
        _STABLE,
        _given,
    ),
    Rule(
        f"{_ARE} there are no gold labels", "use", "steady", _is_stable, ("flips_prompts", "flips_agreement")
    ),
    _rest(_CHANGE),
    _best(_CHANGE),
    *_wrong(
        "agreement may be 0.8 or more, but labels are",
        _GOLD,
        _may_be_stable,
        lambda labels: labels.all_correct,
    ),
    Rule(
        "agreement may be 0.8 or more",
        "cannot tell",
        "unclear",
        _may_be_stable,
        _MOVES,
        lambda labels: labels.all_correct,
    ),
    Rule(
        "asking again changes surely more than half as many labels as another prompt",
        "do not use",
        "repetition",
        _is_noise,
        _REPEATS,
        lambda labels: labels.all_correct,
    ),
    _moved("the order of labels or options", "moved by order", _moved_by(ORDERS)),
    _moved("the form of the answer", "moved by format", _moved_by(FORMATS)),
    _moved("anything else", "unsteady", lambda labels: True),
)


def rules_table() -> str:
    """The rules in Markdown, in their order."""
    rows = [f"| {rule.answers} | {rule.kind} | {rule.reason} |" for rule in RULES]
    return "\n".join(
        ["| what the answers show | recommendation | why (`reason`) |", "| --- | --- | --- |", *rows]
    )
