"""Verdicts and recommendations on simulated studies with a known truth, through the whole pipeline.

An annotator is a function from text and prompt to an answer, with a planted behaviour. What a study concludes
has to agree with it, whatever the seed.
"""

import hashlib
import html
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import pytest
from tests.studies import asked

from quaver.report.findings.recommendation import NextStep, Reason, Recommended

LABELS = ("favor", "against", "none")
PROMPTS = ("original", "b", "c", "d", "e")
SEEDS = (1, pytest.param(2, marks=pytest.mark.long))


class Asked(NamedTuple):
    """One call as an annotator sees it: item, prompt and repeat by number, the correct label, and chance."""

    item: int
    prompt: int
    repeat: int
    gold: str
    chance: Callable[..., float]

    def drawn(self, *of):
        """A label drawn at random, the same for the same things."""
        return LABELS[int(self.chance("label", *of) * len(LABELS))]

    def mostly(self, share, *of):
        """The correct label, but for a share of the draws."""
        return self.gold if self.chance("slip", *of) > share else self.drawn(*of)


Behaviour = Callable[[Asked], str]


def good(asked):
    return asked.mostly(0.03, asked.item, asked.prompt)


def perfect(asked):
    return asked.gold


def follows_the_prompt(asked):
    return LABELS[asked.prompt % 3] if asked.chance("sway", asked.item) < 0.7 else asked.gold


def drawn_by_prompt(asked):
    return asked.mostly(0.7, asked.item, asked.prompt)


def drawn_every_time(asked):
    return asked.mostly(0.7, asked.item, asked.prompt, asked.repeat)


def unreadable(asked):
    return asked.gold if asked.chance("bare", *asked[:3]) < 0.3 else "Well, it depends."


def refusing(asked):
    return "I'm sorry, but I can't help with that." if asked.chance("no", *asked[:3]) < 0.3 else asked.gold


def failing(asked):
    if asked.chance("fail", *asked[:3]) < 0.7:
        raise ConnectionError("the server is not there")
    return asked.gold


def often_failing(asked):
    if asked.chance("fail", *asked[:3]) < 0.25:
        raise ConnectionError("the server is not there")
    return asked.gold


def steady_and_wrong(asked):
    off = asked.chance("off", asked.item) < 0.4
    return LABELS[(LABELS.index(asked.gold) + 1) % 3] if off else asked.gold


def always_none(_):
    return "none"


def one_bad_prompt(asked):
    return asked.drawn(asked.item) if asked.prompt == 3 else good(asked)


def one_mute_prompt(asked):
    return "I cannot say." if asked.prompt == 3 else good(asked)


def one_good_prompt(asked):
    return asked.gold if asked.prompt == 2 else drawn_by_prompt(asked)


class Truth(NamedTuple):
    """A study's truth, and what must be concluded."""

    behaviour: Behaviour
    kind: Recommended
    reason: Reason
    step: NextStep
    prompt: str = ""
    items: int = 60
    gold: bool = True
    prompts: int = 5


STUDIES = {
    "good": Truth(good, "use", "right", "label the rest"),
    "good, 30 texts": Truth(perfect, "use", "right", "label the rest", items=30),
    "good, without gold labels": Truth(good, "use", "steady", "label by hand", gold=False),
    "unstable by prompt": Truth(drawn_by_prompt, "do not use", "unsteady", "revise the prompt"),
    "follows the prompt": Truth(
        follows_the_prompt, "do not use", "unsteady", "revise the prompt", gold=False
    ),
    "unstable on repetition": Truth(drawn_every_time, "do not use", "repetition", "lower the temperature"),
    "unreadable": Truth(unreadable, "do not use", "unreadable", "make answers readable"),
    "refusing": Truth(refusing, "do not use", "refused", "ask another model"),
    "failing calls": Truth(failing, "do not use", "failed", "ask again"),
    "a quarter of the calls failing": Truth(often_failing, "cannot tell", "failed", "ask again"),
    "steady and wrong": Truth(steady_and_wrong, "do not use", "wrong", "correct the prompt"),
    "one label always": Truth(always_none, "do not use", "one label", "name the labels"),
    "one bad prompt among good ones": Truth(
        one_bad_prompt, "use one prompt only", "odd prompts", "keep this prompt"
    ),
    "one bad prompt, without gold labels": Truth(
        one_bad_prompt, "use one prompt only", "odd prompts", "label by hand", gold=False
    ),
    "one prompt without labels": Truth(
        one_mute_prompt, "use one prompt only", "odd prompts", "label by hand", gold=False
    ),
    "one prompt clearly better": Truth(
        one_good_prompt, "use one prompt only", "best prompt", "keep this prompt", "c"
    ),
    "one good prompt, without gold labels": Truth(
        one_good_prompt, "do not use", "unsteady", "revise the prompt", gold=False
    ),
    "too few items": Truth(good, "cannot tell", "too few items", "add items", items=8),
    "one prompt": Truth(perfect, "cannot tell", "one prompt", "add prompts", gold=False, prompts=1),
    "one prompt, and right": Truth(
        perfect, "use one prompt only", "only prompt", "add prompts", "original", prompts=1
    ),
}


def simulated(folder, truth, seed, models=None, **more):
    """A study that was run with planted annotators."""

    def chance(*of):
        return int(hashlib.sha256(repr((seed, *of)).encode()).hexdigest()[:8], 16) / 2**32

    def correct(item):
        return LABELS[int(chance("gold", item) * 3)]

    def annotator(behaviour):
        times = Counter()

        def annotate(text, prompt):
            item, which = int(text.split()[1]), PROMPTS.index(prompt.split()[1])
            times[item, which] += 1
            return behaviour(Asked(item, which, times[item, which], correct(item), chance))

        return annotate

    behaviours = models or {"m": truth.behaviour}
    rows = [{"id": f"i{at}", "text": f"text {at}", "truth": correct(at)} for at in range(truth.items)]
    functions = {name: annotator(behaviour) for name, behaviour in behaviours.items()}
    texts = {name: f"Prompt {name}" for name in PROMPTS[1 : truth.prompts]}
    parts = {"prompt": {"instruction": "Prompt original"}, "repeats": 2, "seed": seed, **more}
    gold = "truth" if truth.gold else ""
    return asked(folder, rows, functions, LABELS, gold=gold, texts=texts, **parts)


def concluded(folder, truth, seed):
    card = simulated(folder, truth, seed).verdict()
    (one,) = card.recommendations
    return card, one


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", STUDIES)
def test_the_recommendation_agrees_with_the_truth(name, seed, tmp_path):
    truth = STUDIES[name]
    card, found = concluded(tmp_path, truth, seed)
    print(card)
    assert (found.kind, found.reason, found.next_step) == (truth.kind, truth.reason, truth.step)
    if truth.prompt:
        assert found.prompt.endswith(truth.prompt)
    if found.reason == "odd prompts":
        assert found.prompt
        assert not found.prompt.endswith("d")
        assert [name[-1] for name in found.evidence[0].details["without"]] == ["d"]
    assert (card.kind, card.step) == (truth.kind, truth.step)
    assert all(one.value is not None for one in found.evidence)
    assert len(card.lines) == 3


def test_of_several_models_each_has_its_own(tmp_path):
    study = simulated(
        tmp_path, STUDIES["good"], 5, {"fine": good, "swayed": follows_the_prompt, "mute": unreadable}
    )
    card = study.verdict()
    found = {one.model: (one.kind, one.reason) for one in card.recommendations}
    assert found == {
        "fine": ("use", "right"),
        "swayed": ("do not use", "unsteady"),
        "mute": ("do not use", "unreadable"),
    }
    assert (card.kind, card.step) == ("use", "label the rest")
    assert all(f"“{model}”" in card.lines[0] for model in found)


def test_a_study_file_s_own_thresholds_decide_what_is_right(tmp_path):
    def fifth_wrong(asked):
        return LABELS[(LABELS.index(asked.gold) + (asked.item % 6 == 0)) % 3]

    truth = STUDIES["good"]._replace(behaviour=fifth_wrong, items=120)
    _, bare = concluded(tmp_path / "bare", truth, 1)
    assert bare.kind != "use"
    for threshold, kind, reason in ((0.7, "use", "right"), (0.95, "do not use", "wrong")):
        limits = {"accuracy": threshold, "compliance": 0.9}
        profile = {"use": "readiness", "by": ["model"], "thresholds": limits}
        card = simulated(tmp_path / str(threshold), truth, 1, measures=[profile]).verdict()
        (found,) = card.recommendations
        assert (found.kind, found.reason) == (kind, reason)
        assert found.evidence[0].measure == "readiness"


def test_names_of_models_are_text_on_one_line(tmp_path):
    """And a verdict needs no measure that the study file names."""
    models = {"<b>f\ni</b>": good, "long " * 40: follows_the_prompt}
    card = simulated(tmp_path, STUDIES["good"], 1, models).verdict()
    assert "<b>f" not in card._repr_html_()
    assert "&lt;b&gt;f" in card._repr_html_()
    assert all(line.splitlines() == [line] for line in card.lines)
    assert max(map(len, card.lines)) < 500
    assert repr(card) == str(card) == "\n".join([card.reading, *card.lines])
    assert dict(card.facts) == dict(card.facts) | {"Texts": "60", "Prompts": "5", "Calls": "1,200"}


@pytest.mark.long
def test_the_report_opens_with_the_same_verdict(tmp_path):
    study = simulated(tmp_path, STUDIES["one bad prompt among good ones"], 2)
    page = study.report().read_text(encoding="utf-8")
    shown = study.verdict()
    assert all(html.escape(line) in page for line in (shown.verdict, shown.moves, shown.next_step))


def test_what_moves_the_labels_is_said_of_a_single_prompt_too(tmp_path):
    """Where the first sentence has said that asking again changes them, and no other prompt was tried."""
    calls = iter(range(10_000))
    rows = [{"id": at, "text": f"text {at}"} for at in range(30)]
    opened = asked(tmp_path / "s", rows, lambda text, prompt: "ab"[next(calls) * 7 % 10 > 6], "ab", repeats=4)
    found = opened.verdict()
    assert found.recommendations[0].reason == "repetition"
    assert any(sign.isalpha() for sign in found.moves)
