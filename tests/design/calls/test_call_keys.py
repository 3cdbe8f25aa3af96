"""Golden keys: what decides an answer is part of its key, nothing else is, and no edit of the code moves one.

A key that changes makes every study ask again what it has paid for. Where one must change, the recipe
(``quaver.design.calls.call_plan``) gets another number.
"""

from dataclasses import fields, replace

import pytest

from quaver.core.calls import Message, Response
from quaver.core.records import Condition, Decoding, Item, Label, LabelSet, Variant
from quaver.design.calls import call_plan as call_keys
from quaver.design.calls.call_plan import Plan
from quaver.design.calls.experiment import Experiment
from quaver.design.prompts.follow_ups import Verbal

LABELS = LabelSet((Label("pos", "positive"), Label("neg", "negative")))
DRAWN = Decoding("drawn", temperature=0.7, seed=3)
PLAIN = Variant(
    "v",
    {"v": "v"},
    system="You are a coder.",
    layout="{{ text }}\n\n{{ instruction }}\n{{ postfix }}",
    text="{{ text }}",
    instruction="Is it positive or negative?",
    postfix="One word.",
    answers={"pos": "positive", "neg": "negative"},
)


def requests(decoding=DRAWN, variant=PLAIN, identity="weights", text="A façade.", repeats=2, items=1, **more):
    design = Experiment(
        LABELS,
        [Item(str(number), {"text": text}, **more) for number in range(items)],
        [variant],
        {decoding.name: decoding},
        [Condition("m", variant.id, decoding.name, repeats)],
    )
    return list(Plan(design, {"m": identity}).requests("m"))


def first(**changes):
    return requests(**changes)[0].calls[0].key.hex()


HELD = replace(DRAWN, constraint="labels")
DECIDING = {
    "nothing": ("b7903417e1659be105b993322d5cf3a2", {}),
    "identity": ("f318af16508c72972da751ddb26d20b0", {"identity": "other weights"}),
    "temperature": ("d279ad60e839df7157fe36b4c9da7148", {"decoding": replace(DRAWN, temperature=0.8)}),
    "greedy": ("dfb14614d649ee7b7e5ac5e35620a0a5", {"decoding": replace(DRAWN, temperature=0.0)}),
    "top_p": ("575f23678b7e934e1af32513ed358ed8", {"decoding": replace(DRAWN, top_p=0.9)}),
    "top_k": ("f6ffd11b000478fa63c0792f28f314f7", {"decoding": replace(DRAWN, top_k=40)}),
    "min_p": ("a8b47f5c05b98068508776b9e689c89f", {"decoding": replace(DRAWN, min_p=0.05)}),
    "repeat_penalty": ("8441ea6f9c037cd55bd9c5eacf252e90", {"decoding": replace(DRAWN, repeat_penalty=1.1)}),
    "max_tokens": ("09bd37f379862a5f6ca5d78dc29a7fb9", {"decoding": replace(DRAWN, max_tokens=9)}),
    "seed": ("db1b20545c4ebf2705ad4a99520baed1", {"decoding": replace(DRAWN, seed=4)}),
    "stop": ("10d249f257b0849b7a027423202502d9", {"decoding": replace(DRAWN, stop=("\n",))}),
    "constraint": ("bc6d9eadae0210e385816089ad0fb7fb", {"decoding": HELD}),
    "logprobs": ("ba0bd820a3bf987d4944e35725f97c82", {"decoding": replace(DRAWN, logprobs=5)}),
    "choices": (
        "fec6fa522fcb8a3c46019a0cb79a5ba0",
        {"decoding": HELD, "variant": replace(PLAIN, answers={"pos": "positive", "neg": "other"})},
    ),
    "order of choices": (
        "2d3b9c1d4ea6d639a3b7f2765d5ac28a",
        {"decoding": HELD, "variant": replace(PLAIN, answers={"neg": "negative", "pos": "positive"})},
    ),
    "schema": ("292773471b82ebcd769653104381f45c", {"variant": replace(PLAIN, schema='{"type": "object"}')}),
    "another schema": (
        "2cb9dcb755cc841492b2ecbf658bf58b",
        {"variant": replace(PLAIN, schema='{"type": "string"}')},
    ),
    "longer answers of a variant": (
        "9c5ecd71a015e539323e01ff77f36a0d",
        {"variant": replace(PLAIN, max_tokens=30)},
    ),
    "system": ("fb024234d827250b5ff275820dae62da", {"variant": replace(PLAIN, system="")}),
    "role": ("288c697a97959dba59347b29259b1867", {"variant": replace(PLAIN, frame="plain", system="")}),
    "instruction": ("73fe6431c746fd67b418c67d14c2e6d7", {"variant": replace(PLAIN, instruction="Positive?")}),
    "postfix": ("0ebee29c5bc43f4ed43bcfacda09892c", {"variant": replace(PLAIN, postfix="One word!")}),
    "layout": (
        "b4bd27d48225e542c941aef2d7e862c6",
        {"variant": replace(PLAIN, layout="{{ instruction }} {{ postfix }} {{ text }}")},
    ),
    "text": ("98220504db9986fd90cfbd719adb99bc", {"text": "A facade."}),
    "text in another Unicode form": ("e1f14d5fabab9e97c539ba5bbf93b345", {"text": "A fac\u0327ade."}),
    "half a character": ("805db58b1ff6e728d5f9c24dc1be1824", {"text": "A \ud83d."}),
}
"""What is changed -> the golden key, and the change."""


@pytest.mark.parametrize("name", DECIDING)
def test_what_decides_an_answer_is_in_its_key(name):
    golden, change = DECIDING[name]
    assert first(**change) == golden


def test_who_says_what_decides_and_where_a_message_ends():
    """Also where a message holds what stands between two of them."""

    def key(*messages):
        said = [Message(role, content) for role, content in messages]
        return call_keys.request_keys(call_keys.condition_hash("weights", "[]"), said, 0, 1)[1][0]

    made = [
        key(("system", "a"), ("user", "b")),
        key(("user", "a"), ("user", "b")),
        key(("system", "ab"), ("user", "")),
        key(("system", "auserb")),
        key(("system", "a\x1fuser\x1fb")),
        key(("system", "auser\x1f1\x1fb")),
    ]
    assert len(set(made)) == len(made)


def test_the_golden_keys_are_of_every_field_and_of_todays_recipe():
    """Whoever changes the recipe raises its number and changes the golden keys."""
    assert call_keys.RECIPE == 1
    assert len({golden for golden, _ in DECIDING.values()}) == len(DECIDING)
    assert {one.name for one in fields(Decoding)} - set(DECIDING) == {"name", "grid"}


@pytest.mark.parametrize(
    "change",
    [
        {"decoding": replace(DRAWN, name="other")},
        {"decoding": replace(DRAWN, grid=("temperature",))},
        {"variant": replace(PLAIN, id="w")},
        {"variant": replace(PLAIN, factors={"w": "w"})},
        {"variant": replace(PLAIN, covariates={"distance": 0.5})},
        {"variant": replace(PLAIN, origin={"family": "x"})},
        {"variant": replace(PLAIN, label_field="label")},
        {"variant": replace(PLAIN, answers={"pos": "yes", "neg": "no"})},  # nothing holds it to these
        {"gold": "pos"},
        {"groups": {"party": "red"}},
        {"repeats": 5},
        {"items": 3},
    ],
)
def test_what_does_not_decide_an_answer_is_not(change):
    assert first(**change) == DECIDING["nothing"][0]


def test_a_seed_of_what_is_not_drawn_does_not_decide():
    greedy = replace(DRAWN, temperature=0.0)
    assert first(decoding=replace(greedy, seed=4)) == first(decoding=greedy) == DECIDING["greedy"][0]


def test_repeats_and_occurrences_have_keys_and_seeds_of_their_own():
    found = [(one.seed, [call.key.hex() for call in one.calls]) for one in requests(items=2)]
    assert found == [
        (930190758, ["b7903417e1659be105b993322d5cf3a2", "0621ac895684279129c27c4a2b74519d"]),
        (456360367, ["1a33b6b183a3413bee43588bfa98b3e4", "0336471ed8a97b884a29bfc4584003f8"]),
    ]


def test_a_condition_that_asks_the_same_has_keys_of_its_own():
    design = Experiment(
        LABELS,
        [Item("0", {"text": "A façade."})],
        [PLAIN],
        {"one": replace(DRAWN, name="one"), "two": replace(DRAWN, name="two")},
        [Condition("m", "v", "one", 1), Condition("m", "v", "two", 1)],
    )
    found = [one.calls[0].key.hex() for one in Plan(design, {"m": "weights"}).requests("m")]
    assert found == [DECIDING["nothing"][0], "f277a5dc5b9f7e90ea1871a406582ac0"]


def follow_up(question="Sure?", answer="positive", repeat=0, identity="w"):
    design = Experiment(
        LABELS,
        [Item("0", {"text": "A façade."})],
        [PLAIN],
        {"drawn": DRAWN},
        [Condition("m", "v", "drawn", 2), Condition("m", "v", "drawn", 2, "sure", 0)],
        follow_ups={"sure": Verbal(question=question)},
    )
    plan = Plan(design, {"m": identity})
    (request,) = plan.requests("m")
    answers = [Response("positive")] * 2
    answers[repeat] = Response(answer)
    return plan.following(request, answers)[repeat].calls[0].key.hex()


def test_the_key_of_a_follow_up_takes_in_what_it_follows():
    assert [
        follow_up(),
        follow_up(question="Certain?"),
        follow_up(answer="negative"),
        follow_up(repeat=1),
        follow_up(identity="x"),
    ] == [
        "5ba4038612a7e2bae0ef025ccc1143de",
        "d77fcaa3440b87e98ddbf8ac8f731bde",
        "873c2a588e0e5f76800a80b325b94258",
        "59dcaf7c8fa0e677b9c67d6272f922de",
        "9686c85ff7028aeedf220dfa63eedbc6",
    ]
