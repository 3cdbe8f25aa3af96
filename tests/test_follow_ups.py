"""Follow-ups in a study: planned, asked once, read, and asked again where the answer changed."""

import json

import pytest
from tests.studies import STUDY, written

from quaver.errors import SpecError, StoreError, UnknownName
from quaver.study.session import Study

SMALL = STUDY.replace(
    "{name: fake, use: function}", "{name: fake, use: llamacpp, model: smollm2-135m-instruct, context: 256}"
) + (
    "repeats: 2\ndecoding: {drawn: {temperature: 1.0, max_tokens: 6}}\n"
    "evaluators:\n  - first_label\n  - constrained\n  - {use: logprob, of: first_token}\n"
    "  - {use: verbal_confidence, name: decimal}\n"
    "  - {use: verbal_confidence, name: percentage, of: verbal_percentage}\n"
    "measures: [compliance]\n"
)
ASKING = STUDY + "follow_ups:\n  - {use: verbal, name: sure, question: Sure?}\n"


def by_evaluator(frame):
    return {name: part for (name,), part in frame.group_by("evaluator")}


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    made = Study.open(written(tmp_path_factory.mktemp("followed"), SMALL))
    made.run()
    return made


@pytest.mark.long
def test_every_follow_up_of_every_answer_is_planned_and_asked(study):
    # 3 items: 2 answers each, a token each, and for each answer a label and two confidences.
    assert study.plan().calls == 3 * (2 + 1 + 2 * 3)
    now = study.status()
    assert (now.answered, now.errors, now.unplaced, now.total) == (27, 0, 0, 27)
    assert study.run().done == 0


@pytest.mark.long
def test_each_is_read_by_its_evaluator(study):
    parts = by_evaluator(study.rescore())
    assert {name: part.height for name, part in parts.items()} == {
        "first_label": 6,
        "constrained": 6,
        "logprob": 3,
        "decimal": 6,
        "percentage": 6,
    }
    assert parts["constrained"]["status"].unique().to_list() == ["valid"]
    assert parts["logprob"]["confidence"].null_count() == 0
    assert parts["logprob"]["repeat"].unique().to_list() == [0]
    columns = ["item", "repeat", "label", "status"]
    assert (
        parts["decimal"]
        .select(columns)
        .sort(columns)
        .equals(parts["first_label"].select(columns).sort(columns))
    )


@pytest.mark.long
def test_what_is_asked_is_in_the_lock(study):
    lock = json.loads((study.folder / "study.lock.json").read_text(encoding="utf-8"))
    assert lock["follow_ups"]["constrained"] == [["assistant", "…\n\nFinal answer: "]]
    assert lock["follow_ups"]["first_token"] == []
    assert [role for role, _ in lock["follow_ups"]["verbal_decimal"]] == ["assistant", "user"]


@pytest.mark.long
def test_what_was_stored_before_is_followed_up_later(tmp_path):
    path = written(tmp_path, SMALL.partition("evaluators:")[0])
    plain = Study.open(path)
    assert plain.run().done == 6
    path.write_text(SMALL)
    later = Study.open(path)
    outcome = later.run()
    assert (outcome.before, outcome.done, outcome.missing) == (6, 21, 0)
    assert Study.open(path).run().done == 0


class Answers:
    """A function that is asked in parts: it fails where it is told to."""

    def __init__(self):
        self.prompts = []
        self.failing = False

    def __call__(self, text, prompt, messages):
        self.prompts.append(text)
        if messages[-1]["content"] == "Sure?":
            return messages[-2]["content"] + ", 0.9"
        if self.failing and "hate" in text:
            raise ValueError("no")
        return "positive"


def test_a_failed_answer_is_followed_once_it_is_there(tmp_path):
    path, answers = written(tmp_path, ASKING), Answers()
    answers.failing = True
    study = Study.open(path, functions={"fake": answers})
    outcome = study.run()
    assert (outcome.ended, outcome.done, outcome.errors, outcome.missing) == ("finished", 5, 1, 0)
    assert study.run().done == 0
    answers.failing = False
    outcome = Study.open(path, functions={"fake": answers}).run(retry_errors=True)
    assert (outcome.done, outcome.errors, outcome.missing) == (2, 0, 0)
    now = Study.open(path, functions={"fake": answers}).status()
    assert (now.answered, now.errors, now.unplaced, now.total) == (6, 0, 0, 6)


def test_an_interrupted_run_goes_on_with_its_follow_ups(tmp_path):
    path, answers = written(tmp_path, ASKING + "budget: {calls: 4}\n"), Answers()
    assert Study.open(path, functions={"fake": answers}).run().done == 4
    path.write_text(ASKING)
    assert Study.open(path, functions={"fake": answers}).run().done == 2
    assert len(answers.prompts) == 6


def test_a_function_that_sees_no_messages_cannot_be_followed_up(tmp_path):
    study = Study.open(written(tmp_path, ASKING), functions={"fake": lambda text, prompt: "positive"})
    with pytest.raises(SpecError, match="answered before"):
        study.plan()


@pytest.mark.parametrize(
    ("line", "error", "said"),
    [
        ("evaluators: [{use: exact, of: sur}]", UnknownName, "did you mean 'sure'"),
        ("evaluators: [constrained]", SpecError, "'fake' cannot"),
        ("evaluators: [{use: logprob, of: first_token}]", SpecError, "'fake' cannot give"),
    ],
)
def test_what_cannot_be_asked_is_an_error(tmp_path, line, error, said):
    path = written(tmp_path, ASKING + line + "\n")
    with pytest.raises(error, match=said):
        Study.open(path, functions={"fake": Answers()}).plan()


def test_the_same_follow_up_twice_is_an_error(tmp_path):
    path = written(tmp_path, ASKING + "  - {use: verbal, name: again, question: Sure?}\n")
    with pytest.raises(SpecError, match="asked for twice"):
        Study.open(path, functions={"fake": Answers()}).plan()


def test_reading_what_was_never_asked_is_an_error(tmp_path):
    study = Study.open(written(tmp_path), functions={"fake": Answers()})
    study.run()
    with pytest.raises(StoreError, match="constrained"):
        study.rescore(["constrained"])


@pytest.mark.long
def test_stated_confidence_is_not_compared_unless_it_is_named(study):
    seconds = {one.cell.get("second") for one in study.measure("evaluator_flips", resamples=0)}
    assert seconds == {"constrained", "logprob"}
    named = study.measure("evaluator_flips", second="decimal", resamples=0)
    assert {one.cell.get("second") for one in named} == {"decimal"}
