"""Long texts are cut where the study file says: in order, without gaps, in linear time."""

import random
import time
from itertools import pairwise

import pytest
from tests.studies import resolved

from quaver.core.records import Label, LabelSet
from quaver.design.items.text_parts import CHARACTERS_A_TOKEN, cut, joined_label
from quaver.design.prompts.rendering import PromptWriter
from quaver.design.spec.items_spec import SplitSpec
from quaver.errors import ItemError, SpecError

PIECES = ["a", "bc", "def.", 'g!"', " ", "  ", "\n", "\n\n", "\r\n\r\n", "。", "\t", "😀", "x" * 25]


def words_of(text, split):
    return [text[begin:end] for begin, end in cut(text, split)]


@pytest.mark.parametrize("seed", range(5))
def test_parts_cover_a_text_in_order_and_only_a_word_is_longer_than_the_limit(seed):
    draw = random.Random(seed)
    for _ in range(100):
        text = "".join(draw.choices(PIECES, k=draw.randrange(60)))
        split = SplitSpec(tokens=(n := draw.randint(1, 8)), overlap=draw.randint(0, n // 2), by="paragraphs")
        places = cut(text, split)
        if len(text) <= CHARACTERS_A_TOKEN * n or not text.strip():
            assert places == ((0, len(text)),)
            continue
        covered = {at for begin, end in places for at in range(begin, end)}
        assert all(at in covered for at, sign in enumerate(text) if not sign.isspace())
        for begin, end in places:
            part = text[begin:end]
            assert part == part.strip() != ""
            assert len(part) <= CHARACTERS_A_TOKEN * n or len(part.split()) == 1
        for (begin, end), (after, last) in pairwise(places):
            assert begin < after
            assert end < last
            assert end - after <= CHARACTERS_A_TOKEN * split.overlap


def test_texts_are_cut_at_the_coarsest_boundary_that_there_is():
    text = "One two. Three.\n\nFour five six. Seven eight.\n\nNine."
    assert words_of(text, SplitSpec(tokens=7)) == [
        "One two. Three.",
        "Four five six. Seven eight.",
        "Nine.",
    ]
    assert words_of(text, SplitSpec(tokens=4)) == [
        "One two. Three.",
        "Four five six.",
        "Seven eight.",
        "Nine.",
    ]
    assert words_of(text, SplitSpec(tokens=7, by="sentences")) == [
        "One two. Three.",
        "Four five six. Seven eight.",
        "Nine.",
    ]
    assert words_of("one\ntwo three\nfour", SplitSpec(tokens=3)) == ["one", "two three", "four"]
    assert words_of("他来了。她走了。", SplitSpec(tokens=1, by="sentences")) == ["他来了。", "她走了。"]


def test_the_end_of_a_part_is_the_beginning_of_the_next():
    text = "Alpha beta gamma. Delta. Epsilon zeta eta. Theta."
    assert words_of(text, SplitSpec(tokens=6, overlap=3, by="sentences")) == [
        "Alpha beta gamma. Delta.",
        "Delta. Epsilon zeta eta.",
        "zeta eta. Theta.",
    ]


HOSTILE = {
    "no spaces": "x" * 5_000_000,
    "line breaks": "\n" * 5_000_000,
    "emoji": "😀" * 5_000_000,
    "dots": "." * 5_000_000,
    "line breaks between letters": "a" + "\n" * 5_000_000 + "b",
    "indents": ("a\n" + " " * 3000) * 1666,
    "CRLF": "A line of text.\r\n\r\n" * 263_000,
    "words": "word " * 1_000_000,
}


@pytest.mark.parametrize(
    ("name", "by"),
    [*((name, "paragraphs") for name in HOSTILE), ("dots", "sentences"), ("words", "sentences")],
)
def test_a_hostile_text_takes_linear_time(name, by):
    text, split = HOSTILE[name], SplitSpec(tokens=2000, overlap=100, by=by)
    begun = time.process_time()
    half = cut(text[: len(text) // 2], split)
    middle = time.process_time()
    whole = cut(text, split)
    ended = time.process_time()
    assert len(half) <= len(whole)
    assert ended - middle < 5 * (middle - begun) + 1
    assert ended - begun < 30


STANCES = LabelSet((Label("favor", "in favor"), Label("against", "against"), Label("neither", "neither")))
GRADES = LabelSet(tuple(Label(str(n), f"grade {n}") for n in (1, 2, 3)), "ordinal")
SCALE = LabelSet((Label("b", "b", value=4.0), Label("a", "a", value=-1.0)), "interval")
NUMBERS = LabelSet((), "ratio", are_numbers=True)
TOPICS = LabelSet((Label("tax", "tax"), Label("war", "war"), Label("art", "art")), "jaccard")


@pytest.mark.parametrize(
    ("join", "of", "parts", "label", "status"),
    [
        # a named label, if any part has it
        (("any", "favor"), STANCES, ["against", "favor", "against"], "favor", "valid"),
        (("any", "favor"), STANCES, ["favor", None, None], "favor", "valid"),
        (("any", "favor"), STANCES, ["against", None, "against"], None, "refused"),
        (("any", "favor"), STANCES, ["against", "against", "neither"], "against", "valid"),
        (("any", "favor"), STANCES, ["against", "neither"], None, "no_label"),
        (("any", "favor"), STANCES, [None, None], None, "refused"),
        # the majority of the parts with a label
        (("majority", ""), STANCES, ["against", "favor", "favor"], "favor", "valid"),
        (("majority", ""), STANCES, ["against", None, None], "against", "valid"),
        (("majority", ""), STANCES, ["against", "favor"], None, "no_label"),
        (("majority", ""), STANCES, ["against", "favor", None], None, "no_label"),
        (("majority", ""), STANCES, [None], None, "refused"),
        # the highest
        (("max", ""), GRADES, ["1", "2", "1"], "2", "valid"),
        (("max", ""), GRADES, ["2", None], None, "refused"),
        (("max", ""), NUMBERS, ["9", "10.5", "-1"], "10.5", "valid"),
        (("max", ""), NUMBERS, ["9", None], None, "refused"),
        (("max", ""), SCALE, ["a", "b", "a"], "b", "valid"),
        # sets
        (("any", ""), TOPICS, ["art;tax", "[]", "tax"], "tax;art", "valid"),
        (("any", ""), TOPICS, ["[]", "[]"], "[]", "valid"),
        (("any", ""), TOPICS, ["tax", None], None, "refused"),
    ],
)
def test_labels_are_joined_as_in_this_table(join, of, parts, label, status):
    statuses = ["refused" if part is None else "valid" for part in parts]
    assert joined_label(join, parts, statuses, of)[:2] == (label, status)


def test_the_status_of_parts_without_a_label_is_the_most_frequent_one():
    found = joined_label(("majority", ""), [None] * 3, ["no_label", "empty", "no_label"], STANCES)
    assert found == (None, "no_label", "3 of 3 parts without a label")


SHOWN = ("title", "speech", "part", "parts")
SPLIT = {"tokens": 4, "column": "speech"}
STUDY = {
    "task": {"labels": ["favor", "against"]},
    "items": {
        "source": "speeches.csv",
        "id": "id",
        "text": "{{ title }}: {{ speech }}",
        "split": SPLIT,
    },
    "prompt": {"instruction": "Which?"},
    "models": [{"name": "m", "use": "function"}],
}
SPEECHES = "id,title,speech,part2\n17,Steel,One two three. Four five six.,x\n18,Coal,One.,x\n"


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "speeches.csv").write_text(SPEECHES)

    def changed(rows=SPEECHES, task=None, **items):
        (tmp_path / "speeches.csv").write_text(rows)
        return STUDY | {"items": STUDY["items"] | items, "task": task or STUDY["task"]}

    return changed


def test_parts_that_are_not_joined_are_items_in_a_group_of_their_text(study):
    rows = SPEECHES.replace("Steel", "favor").replace("Coal", "against")
    experiment = resolved(study(rows, split=SPLIT | {"join": "none"}, gold="title"))
    assert experiment.in_parts is experiment
    assert [(item.id, item.groups["whole_text"], item.gold) for item in experiment.items] == [
        ("17#1", "17", None),
        ("17#2", "17", None),
        ("18", "18", "against"),
    ]
    (note,) = experiment.notes
    assert "1 of 2 texts" in note
    assert "2 parts" in note


@pytest.mark.parametrize(
    ("changes", "kind", "found"),
    [
        ({"split": {"tokens": 3}}, SpecError, "speech, title"),
        ({"rows": SPEECHES.replace("part2", "part")}, ItemError, "found: part"),
        ({"rows": SPEECHES.replace("18,", "17#2,")}, ItemError, "17#2"),
    ],
)
def test_a_wrong_split_is_one_error_that_says_where(study, changes, kind, found):
    with pytest.raises(kind) as error:
        resolved(study(**changes))
    assert "split" in error.value.where or "items" in error.value.where
    assert found in str(error.value)


def test_a_part_is_an_item_with_the_other_columns_of_its_text(study):
    experiment = resolved(study())
    assert [item.id for item in experiment.items] == ["17", "18"]
    parts = [(one.id, *map(one.fields.get, SHOWN)) for one in experiment.in_parts.items]
    assert parts == [
        ("17#1", "Steel", "One two three.", 1, 2),
        ("17#2", "Steel", "Four five six.", 2, 2),
        ("18", "Coal", "One.", 1, 1),
    ]
    hashes = {resolved(study(split=SPLIT | {"tokens": n})).items_hash for n in (4, 4, 3, 99)}
    assert len(hashes) == 3, "they change with the parts"
    experiment = resolved(study(text="{{ part }}/{{ parts }}: {{ speech }}", split={"tokens": 4}))
    text = PromptWriter(experiment.variants[0], experiment.labels).text
    shown = ["1/2: One two three.", "2/2: Four five six.", "1/1: One."]
    assert [*map(text, experiment.in_parts.items)] == shown


def test_prompts_are_asked_once_for_all_splits_and_so_are_their_follow_ups(study):
    splits = {"split": SPLIT | {"tokens": [4, 100], "by": ["paragraphs", "sentences"]}}
    more = {"models": [{"name": name, "use": "function"} for name in "ab"]}
    texts = {"use": "instructions", "texts": {"short": "Who?"}}
    verbal = {"use": "verbal", "question": "Sure?"}
    experiment = resolved(study(**splits) | more | {"variants": [texts], "follow_ups": [verbal]})
    assert experiment.levels["split"] == [
        f"{n} tokens / {by}" for n in (4, 100) for by in ("paragraphs", "sentences")
    ]
    asked = experiment.in_parts
    assert [variant.id for variant in asked.variants] == ["paraphrase=original", "paraphrase=short"]
    assert [(one.model, one.parent) for one in asked.conditions] == [
        *(("a", None), ("a", None), ("b", None), ("b", None)),
        *(("a", 0), ("a", 1), ("b", 2), ("b", 3)),
    ]
    # by sentences and by paragraphs, the text is cut alike; 100 tokens leave it whole, and 18 always is
    parts = [(one.id, *map(one.fields.get, SHOWN)) for one in asked.items]
    assert parts == [
        ("17#1", "Steel", "One two three.", 1, 2),
        ("17#2", "Steel", "Four five six.", 2, 2),
        ("17#3", "Steel", "One two three. Four five six.", 1, 1),
        ("18", "Coal", "One.", 1, 1),
    ]
    assert experiment.calls == 4 * 8
