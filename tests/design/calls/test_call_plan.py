"""The order of work, the keys, the seeds, and what is left out."""

from collections import Counter
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quaver.core.calls import Response
from quaver.core.records import Condition, Decoding, Item, Label, LabelSet, Variant
from quaver.design.calls.call_plan import Plan
from quaver.design.calls.experiment import Experiment
from quaver.design.calls.lock_file import fingerprint

LABELS = LabelSet((Label("pos", "positive"), Label("neg", "negative")))
TEXT_FIRST = "{{ text }}\n\n{{ instruction }}\n{{ postfix }}"
INSTRUCTION_FIRST = "{{ instruction }}\n{{ postfix }}\n\n{{ text }}"
GREEDY = Decoding("greedy")


def variant(name, **parts):
    asked = {
        "system": "",
        "layout": TEXT_FIRST,
        "text": "{{ text }}",
        "instruction": "Is it positive or negative?",
        "postfix": "One word.",
        "answers": {"pos": "positive", "neg": "negative"},
    }
    return Variant(name, {"v": name}, **(asked | parts))


def experiment(texts, variants, decodings=(GREEDY,), repeats=1, models=("m",), **fields):
    items = [
        Item(str(number), {"text": text} | {name: column[number] for name, column in fields.items()})
        for number, text in enumerate(texts)
    ]
    conditions = [
        Condition(model, one.id, decoding.name, repeats)
        for model in models
        for one in variants
        for decoding in decodings
    ]
    return Experiment(LABELS, items, variants, {d.name: d for d in decodings}, conditions)


def plan(asked, identity="weights"):
    return Plan(asked, {condition.model: identity for condition in asked.conditions})


def calls(asked, identity="weights", model="m"):
    return [call for request in plan(asked, identity).requests(model) for call in request.calls]


# ----------------------------------------------------------------------------- order


def prompts_in_order(made):
    for _, _, prompt in made.order.prompts():
        yield "\x1e".join(content for _, content in prompt.messages)


def fewest(prompts):
    """Nodes of the tree of all prompts: no order leaves fewer characters to read."""
    tree = {}
    nodes = 0
    for prompt in prompts:
        node = tree
        for character in prompt:
            if character not in node:
                node[character] = {}
                nodes += 1
            node = node[character]
    return nodes


def read(prompts):
    """Characters left where what a prompt shares with the one before it is not read again."""
    total, before = 0, ""
    for prompt in prompts:
        shared = next(
            (i for i, (a, b) in enumerate(zip(before, prompt, strict=False)) if a != b),
            min(len(before), len(prompt)),
        )
        total += len(prompt) - shared
        before = prompt
    return total


VOTERS = [
    f"I am {age} years old, live in {place}, and {party}."
    for age, place, party in product(
        (34, 51, 67), ("the countryside", "a town", "a big city"), ("vote often", "vote seldom")
    )
]
PARAPHRASES = [
    variant(f"{w}{f}{layout[:5]}", layout=layout, instruction=paraphrase, postfix=postfix)
    for layout in (TEXT_FIRST, INSTRUCTION_FIRST)
    for w, paraphrase in enumerate(
        ("Who will this person vote for?", "Who gets their vote?", "Whom do they choose?")
    )
    for f, postfix in enumerate(("Answer 0 or 1.", "Answer with a name.", "Answer A or B."))
]
TEXT_FIRST_PARAPHRASES = [v for v in PARAPHRASES if v.layout == TEXT_FIRST]
INSTRUCTION_FIRST_PARAPHRASES = [v for v in PARAPHRASES if v.layout == INSTRUCTION_FIRST]
SHORT_AND_LONG = [
    replace(v, id=f"{v.id}{name}", text=text)
    for v in TEXT_FIRST_PARAPHRASES
    for name, text in (("short", "{{ text }}"), ("long", "{{ text }} I am a {{ party }}."))
]
DIFFERENT = [
    replace(v, id=f"{v.id}{name}", text=text)
    for v in TEXT_FIRST_PARAPHRASES
    for name, text in (("one", "{{ text }}"), ("other", "Party: {{ party }}. {{ text }}"))
]
SYSTEMS = [
    replace(v, id=f"{v.id}{system}", system=system)
    for v in TEXT_FIRST_PARAPHRASES
    for system in ("", "You are a careful coder.", "You are a careful reader of texts.")
]

ORDERS = {
    "text first": (VOTERS, TEXT_FIRST_PARAPHRASES),
    "instruction first": (VOTERS, INSTRUCTION_FIRST_PARAPHRASES),
    "both": (VOTERS, PARAPHRASES),
    "one text the beginning of the other": (VOTERS, SHORT_AND_LONG),
    "two texts that begin differently": (VOTERS, DIFFERENT),
    "system messages": (VOTERS, SYSTEMS),
    "first and last item alike": ([*VOTERS, VOTERS[0]], PARAPHRASES),
    "first item the beginning of the last": (["A", *VOTERS, "A\n\nWho"], PARAPHRASES),
    "one item": (VOTERS[:1], SHORT_AND_LONG),
    "items of one letter": (list("abcdefgh"), PARAPHRASES),
}


@pytest.mark.parametrize(("texts", "variants"), ORDERS.values(), ids=ORDERS)
def test_the_order_of_work_shares_what_can_be_shared(texts, variants):
    party = ["Democrat", "Republican", "Independent"] * len(texts)
    made = plan(experiment(texts, variants, party=party))
    prompts = list(prompts_in_order(made))
    assert len(prompts) == len(texts) * len(variants)
    assert read(prompts) == made.order.survey["new_characters"]
    assert made.order.survey["characters"] == sum(map(len, prompts))
    assert read(prompts) <= 1.1 * fewest(prompts)


def test_an_instruction_that_holds_the_item_is_written_for_each_item():
    asked = experiment(
        VOTERS[:4],
        [variant("a", instruction="Is {{ item.name }} for it?"), variant("b", instruction="Is it so?")],
        name=["Ann", "Bob", "Eve", "Kim"],
    )
    written = list(prompts_in_order(plan(asked)))
    assert sum("Is Bob for it?" in prompt for prompt in written) == 1
    assert all(
        ("Is Ann" in prompt) == (VOTERS[0] in prompt and "Is it so" not in prompt) for prompt in written
    )


# ------------------------------------------------------------------------------ keys

BASE = experiment(["one", "two"], [variant("a"), variant("b", instruction="Good or bad?")], repeats=2)
DRAWN = Decoding("drawn", temperature=1.0, seed=1)


def with_decoding(decoding):
    return experiment(["one", "two"], BASE.variants, [decoding], 2)


# ----------------------------------------------------------------------------- twins


def test_models_that_serve_the_same_are_asked_apart():
    asked = experiment(["one"], [variant("a")], models=["m", "n"])
    assert {call.key for call in calls(asked, model="m")}.isdisjoint(
        call.key for call in calls(asked, model="n")
    )


@given(
    texts=st.lists(
        st.sampled_from(["a", "b", "ab", "a\n\nb", "", "é"]).map(lambda t: t + "."), min_size=1, max_size=6
    ),
    paraphrases=st.lists(st.sampled_from(["Q?", "Q", "R?"]), min_size=1, max_size=4),
    layouts=st.sampled_from([TEXT_FIRST, INSTRUCTION_FIRST]),
    repeats=st.integers(1, 3),
)
@settings(max_examples=60)
def test_every_call_once_with_a_key_of_its_own(texts, paraphrases, layouts, repeats):
    variants = [
        variant(str(index), instruction=paraphrase, layout=layouts)
        for index, paraphrase in enumerate(paraphrases)
    ]
    asked = experiment(texts, variants, [GREEDY, DRAWN], repeats)
    found = calls(asked)
    assert len({call.key for call in found}) == len(found) == asked.calls
    places = Counter((call.condition, call.item, call.repeat) for call in found)
    assert set(places.values()) == {1}
    assert found == calls(asked)


# ------------------------------------------------------------------- what is left out


def test_what_is_stored_is_left_out_and_nothing_else():
    asked = experiment(["one", "two"], [variant("a")], [DRAWN], repeats=6)
    every = {request.calls[0].item: request for request in plan(asked).requests("m")}
    stored = {call.key for call in every[0].calls if call.repeat in (0, 3)} | {
        call.key for call in every[1].calls
    }
    left = list(plan(asked).requests("m", lambda given: stored.intersection(given)))
    assert [[call.repeat for call in request.calls] for request in left] == [[1, 2], [4, 5]]
    assert [request.seed - every[0].seed for request in left] == [1, 4]
    assert [call for request in left for call in request.calls] == [
        call for call in every[0].calls if call.key not in stored
    ]


def test_seeds_differ_between_prompts_and_fit_an_engine():
    asked = experiment([str(number) for number in range(200)], [variant("a")], [DRAWN], repeats=3)
    seeds = [request.seed for request in plan(asked).requests("m")]
    assert len(set(seeds)) == 200
    assert all(0 <= seed < 2**31 - 3 for seed in seeds)


def test_requests_are_drawn_as_they_are_wanted():
    asked = experiment([str(number) for number in range(2000)], [variant("a")])
    looked_up = []
    requests = plan(asked).requests("m", lambda given: looked_up.append(len(given)) or ())
    next(requests)
    assert sum(looked_up) < 2000


# ----------------------------------------------------------------------- fingerprint


def test_the_fingerprint_changes_with_what_a_study_asks():
    prints = {
        fingerprint(asked, {"m": identity})
        for asked, identity in [
            (BASE, "w"),
            (BASE, "v"),
            (with_decoding(DRAWN), "w"),
            (experiment(["one", "three"], BASE.variants, repeats=2), "w"),
            (experiment(["one", "two"], BASE.variants, repeats=3), "w"),
            (experiment(["one", "two"], BASE.variants[:1], repeats=2), "w"),
        ]
    }
    assert len(prints) == 6
    assert fingerprint(BASE, {"m": "w"}) in prints


@given(
    done=st.sets(st.integers(0, 5), max_size=5),
    schema=st.sampled_from(["", '{"type": "object"}']),
    constraint=st.sampled_from(["none", "labels"]),
    frame=st.sampled_from(["chat", "plain"]),
    temperature=st.sampled_from([0.0, 0.7]),
)
@settings(max_examples=60)
def test_the_rest_of_a_request_differs_in_calls_and_seed_alone(done, **parts):
    drawn = Decoding(
        "d", constraint=parts.pop("constraint"), temperature=parts.pop("temperature"), logprobs=2
    )
    asked = experiment(["one"], [variant("a", **parts)], [drawn], repeats=6)
    (whole,) = plan(asked).requests("m")
    stored = {call.key: Response("x") for call in whole.calls if call.repeat in done}
    rest = list(plan(asked).requests("m", lambda _: stored))
    assert [call for one in rest for call in one.calls] == [c for c in whole.calls if c.repeat not in done]
    for one in rest:
        assert one._replace(calls=whole.calls, seed=whole.seed) == whole
        assert one.seed == whole.seed + one.calls[0].repeat


@given(
    texts=st.lists(st.sampled_from(["a", "b", "ab", "a b", "é"]), min_size=1, max_size=5),
    parts=st.lists(
        st.fixed_dictionaries(
            {
                "instruction": st.sampled_from(["Q?", "a", "", "Is {{ item['text'] }} good?"]),
                "system": st.sampled_from(["", "Be good.", "a"]),
                "layout": st.sampled_from(
                    [
                        TEXT_FIRST,
                        INSTRUCTION_FIRST,
                        "{{ text }}",
                        "{{ text }}{{ text }}",
                        "a{{ text | upper }}",
                    ]
                ),
                "frame": st.sampled_from(["chat", "plain"]),
            }
        ),
        min_size=1,
        max_size=4,
    ),
)
@settings(max_examples=150)
def test_prompts_that_occur_twice_are_found(texts, parts):
    made = plan(experiment(texts, [variant(str(at), **part) for at, part in enumerate(parts)]))
    prompts = list(prompts_in_order(made))
    assert made.order.survey["twins"] == {hash(prompt) for prompt in prompts if prompts.count(prompt) > 1}
