"""Studies for simulated histories, and what people change about them between two runs."""

import copy

__all__ = ["edited", "first_study"]

LABELS = ["favor", "against", "neither"]
_PARAPHRASES = {"curt": "Favor, against or neither?", "long": "Say which: favor, against, neither."}


def _written(path, items):
    path.write_text("id,text\n" + "".join(f"i{k},Text {k} of a writer\n" for k in range(items)))
    return str(path)


def first_study(draw, home):
    """A study as it is first written."""
    study = {
        "name": "s",
        "task": {"labels": list(LABELS)},
        "items": {"source": _written(home / "items-3.csv", 3), "id": "id", "text": "{{ text }}"},
        "prompt": {"instruction": "What does the writer think?"},
        "variants": [{"use": "instructions", "texts": dict(_PARAPHRASES)}],
        "models": [_model("m", draw)],
        "decoding": {"greedy": {"temperature": 0}},
        "repeats": draw.choice((1, 2, 3)),
        "evaluators": ["first_label"],
        "measures": ["compliance"],
    }
    for _ in range(draw.randint(0, 3)):
        study = edited(study, draw, home)
    return study


def _model(name, draw):
    return {
        "name": name,
        "use": "openai_compatible",
        "preset": "vllm",
        "model": f"org/{name}",
        "retries": draw.choice((0, 2)),
        "timeout": 30,
        "patience": 100,
        "concurrency": draw.choice((1, 2, 5)),
    }


def edited(study, draw, home):
    """The study after one change."""
    study = copy.deepcopy(study)
    draw.choice(_EDITS)(study, draw, home)
    return study


def _items(study, draw, home):
    items = draw.choice((2, 3, 5))
    study["items"]["source"] = _written(home / f"items-{items}.csv", items)


def _repeats(study, draw, home):
    study["repeats"] = draw.choice((1, 2, 4))


def _decodings(study, draw, home):
    study["decoding"] = draw.choice(
        (
            {"greedy": {"temperature": 0}},
            {"warm": {"temperature": 1}},
            {"warm": {"temperature": 1, "logprobs": 3}},
            {"greedy": {"temperature": 0}, "held": {"temperature": 0, "constraint": "labels"}},
            {"greedy": {"temperature": 0}, "warm": {"temperature": 1, "seed": 5}},
        )
    )


def _variants(study, draw, home):
    study["variants"] = draw.choice(
        (
            [],
            [{"use": "instructions", "texts": dict(_PARAPHRASES)}],
            [{"use": "instructions", "texts": {"curt": _PARAPHRASES["curt"]}}],
            [{"use": "label_order"}],
        )
    )
    study["evaluators"] = ["first_label"]


def _labels(study, draw, home):
    study["task"]["labels"] = draw.choice((list(LABELS), [*LABELS, "both"]))


def _models(study, draw, home):
    study["models"] = [_model(name, draw) for name in draw.choice((("m",), ("m", "n"), ("n",)))]


def _measures(study, draw, home):
    study["measures"] = draw.choice((["compliance"], ["label_shares"], ["compliance", "inter_pss"]))


def _follow_ups(study, draw, home):
    study["follow_ups"] = draw.choice(([], ["constrained"], ["verbal_decimal"], ["first_token"]))


def _instruction(study, draw, home):
    study["prompt"]["instruction"] = draw.choice(("What does the writer think?", "Which is it?"))


_EDITS = (
    _items, _repeats, _decodings, _variants, _labels, _models, _measures, _follow_ups, _instruction,
)  # fmt: skip
