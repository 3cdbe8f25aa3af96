"""What providers refuse, ignore and block: every run ends in answers, and nothing untrue is reported."""

import json
import re
from pathlib import Path
from urllib.request import Request, urlopen

import polars as pl
import pytest
from tests.local_engines import NAME, base_url
from tests.models import provider_rig as rig
from tests.models.knob_table import knob_table
from tests.models.provider_rig import TEXTS, rigged, study

from quaver.core.instrument import record_in
from quaver.errors import ModelError
from quaver.models.served.presets import PRESETS as PRESETS_OF_SERVERS

KINDS = {
    "plain": lambda body, path, n: rig.chat(body),
    "refuses temperature": rig.refusing("temperature"),
    "refuses temperature and top_p": rig.refusing("temperature", "top_p"),
    "refuses in a sentence": rig.refusing("temperature", form="The {} setting is deprecated for this model."),
    "refuses a seed": rig.refusing("seed"),
    "refuses a stop": rig.refusing("stop"),
    "refuses an effort": rig.refusing("reasoning_effort"),
    "reasoning": rig.reasoning,
    "thinking": rig.thinking,
    "capping": rig.capping,
    "no schema": rig.schemaless,
    "no system": rig.systemless,
    "responses only": rig.responses_only,
    "routing": rig.routing,
    "limiting": rig.limiting_for(0.2),
}

DECODINGS = {
    "cold": {"temperature": 0, "max_tokens": 256},
    "warm": {"temperature": 0.7, "max_tokens": 256, "top_p": 0.9, "stop": ["###"]},
}


def reported(found):
    """What is said of decoding: the methods paragraph, and its LaTeX."""
    paper = found.paper()
    return {"paragraph": paper.details, "latex": paper.methods_as("latex")}


LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
CASES = [
    *((kind, decoding, "openai") for kind in KINDS for decoding in DECODINGS),
    *((kind, "cold", None) for kind in KINDS),
    *((kind, "cold", preset) for kind in ("plain", "reasoning") for preset in PRESETS_OF_SERVERS),
]


@pytest.mark.parametrize(("kind", "decoding", "preset"), CASES)
def test_nothing_is_reported_that_was_not_sent(kind, decoding, preset, tmp_path, monkeypatch):
    monkeypatch.setenv("RIG_API_KEY", "sk-rig-0123456789abcdef")
    with rigged(KINDS[kind]) as provider:
        model = {"base_url": provider.url, "key": "RIG_API_KEY"} | ({"preset": preset} if preset else {})
        model |= {} if preset else {"supports": {"seed": True}}
        asked = dict(DECODINGS[decoding])
        if preset is None:
            asked = {name: value for name, value in asked.items() if name in ("temperature", "max_tokens")}
        found = study(tmp_path, model | {"effort": "low"}, asked)
        outcome = found.run()
        bodies = [body for path, _, body in provider.sent]
        assert (outcome.ended, outcome.done, outcome.errors) == ("finished", TEXTS, 0)
        assert len(bodies) <= TEXTS + 5 + (TEXTS // 4 if kind == "limiting" else 0), "five requests to adapt"
        _hold_the_words_against_the_log(found, bodies, asked)
        _hold_against_the_log(found, bodies)
        with found.source.answers() as store:
            assert store.rows("SELECT DISTINCT finish FROM responses") == [("stop",)], "none is cut off"


def _hold_the_words_against_the_log(found, bodies, asked):
    """Every temperature, limit, stop, top_p and effort of the paper's words is what the last request held."""
    last = bodies[-1]
    for place, words in reported(found).items():
        temperatures = {float(one) for one in re.findall(r"at temperature (\d+(?:\.\d+)?)", words)}
        sent = {last["temperature"]} if "temperature" in last else set()
        assert temperatures == sent, (place, words)
        if "temperature" not in last:
            assert "default temperature" in words, (place, words)
        limits = {int(one.replace(",", "")) for one in re.findall(r"at most ([\d,]+) tokens", words)}
        assert limits == {last[name] for name in LIMITS if name in last}, (place, words)
        if "stop" in asked and "stop" not in last:
            assert "ended by" not in words, place
        if "top_p" in asked and "top_p" not in last:
            assert "top_p 0.9" not in words.replace("\\_", "_"), place
        if "reasoning_effort" not in last and "reasoning" not in last:
            assert "effort “low”" not in words, place


def _hold_against_the_log(found, bodies):
    """Every knob of every record is what some request held."""
    with found.source.answers() as store:
        terms = [row[0] for row in store.rows("SELECT DISTINCT asked FROM terms")]
    fields = {
        "temperature": ("temperature",),
        "top_p": ("top_p",),
        "max_tokens": LIMITS,
        "stop": ("stop",),
    }
    for record in filter(None, map(record_in, terms)):
        for knob, names in fields.items():
            if knob in record["knobs"]:
                sent = [next((body[name] for name in names if name in body), None) for body in bodies]
                assert record["knobs"][knob][1] in sent, (knob, record)


@pytest.mark.parametrize("decoding", DECODINGS)
def test_nothing_untrue_is_reported_of_a_real_server(decoding, tmp_path):
    """llama.cpp's own server, behind a rig that keeps what it was sent."""
    pytest.importorskip("xllamacpp")

    def forwarded(body, path, n):
        content = json.dumps(body).encode()
        asked = Request(base_url() + path.removeprefix("/v1"), content, {"content-type": "application/json"})
        with urlopen(asked, timeout=60) as reply:
            return 200, json.load(reply)

    with rigged(forwarded) as provider:
        model = {"preset": "llamacpp_server", "model": NAME, "base_url": provider.url, "effort": "low"}
        asked = DECODINGS[decoding] | {"max_tokens": 4, "constraint": "labels"}
        found = study(tmp_path, model, asked)
        outcome = found.run()
        bodies = [body for _, _, body in provider.sent]
    assert (outcome.ended, outcome.done, outcome.errors) == ("finished", TEXTS, 0)
    _hold_the_words_against_the_log(found, bodies, asked)
    _hold_against_the_log(found, bodies)
    assert {*found.annotations()["label"]} <= {"pos", "neg"}


SAFETY = {"finishReason": "SAFETY", "index": 0}
REFUSED = {"type": "message", "content": [], "stop_reason": "refusal", "usage": {"input_tokens": 9}}
CUT = {"output": [], "incomplete_details": {"reason": "content_filter"}, "usage": {"input_tokens": 9}}
BLOCKS = {
    "a flag": (403, "Your input was flagged by the moderation of this model.", 403),
    "an inspection": (400, "Output data may contain inappropriate content.", "data_inspection_failed"),
    "a broken object": (400, "Failed to generate JSON. See failed_generation.", "json_validate_failed"),
    "a long text": (413, "This text is not one that we take.", None),
    "the law": (451, "Unavailable for legal reasons.", None),
    "a dislike": (400, "We do not like this one.", None),
    "unprocessable": (422, "Unprocessable.", None),
    "a filter": (400, "The response was filtered", "content_filter"),
    "a guardrail": (400, "The provided request was blocked by guardrail g-1.", None),
    "a refusal": (
        "chat",
        {"text": "", "message": {"content": None, "refusal": "I will not."}},
        "I will not.",
    ),
    "a filter's end": ("chat", {"text": "", "finish": "content_filter"}, "content filter"),
    "a guardrail's end": ("chat", {"text": "No.", "finish": "guardrail_intervened"}, "content filter"),
    "Gemini's prompt": ("gemini", {"promptFeedback": {"blockReason": "SAFETY"}}, "SAFETY"),
    "Gemini's answer": ("gemini", {"candidates": [SAFETY]}, "SAFETY"),
    "Claude's refusal": ("messages", REFUSED, "content filter"),
    "a response's end": ("responses", CUT, "content filter"),
}
SPOKEN = {"gemini": rig.gemini, "messages": rig.claude, "responses": rig.responses_only}


@pytest.mark.parametrize("numbers", [(0,), (1, 7, TEXTS - 1)], ids=str)
@pytest.mark.parametrize("kind", BLOCKS)
def test_a_blocked_text_costs_itself(tmp_path, monkeypatch, kind, numbers):
    monkeypatch.setenv("RIG_API_KEY", "sk-rig-0123456789abcdef")
    first, said, last = BLOCKS[kind]
    api = first if isinstance(first, str) else "chat"

    def answer(body, path, n):
        plain = SPOKEN.get(api, lambda body, path, n: rig.chat(body))
        if "temperature" in body and api == "messages":
            return rig.claude(body, path, n)
        if not any(f"number {k}." in json.dumps(body) for k in numbers):
            return plain(body, path, n)
        if api == "chat":
            return rig.chat(body, **said) if first == "chat" else rig.error(first, said, last)
        return 200, said

    with rigged(answer) as provider:
        other = {"use": "anthropic", "base_url": provider.root} if api == "messages" else {"api": api}
        found = study(tmp_path, {"base_url": provider.url, "key": "RIG_API_KEY"} | other, {})
        assert found.run().ended == "finished"
        with found.source.answers() as store:
            rows = store.rows("SELECT error FROM responses WHERE finish != 'stop'")
    assert len(rows) == len(numbers)
    assert (said.rstrip(".") if isinstance(first, int) else last) in rows[0][0]
    assert found.annotations()["label"].null_count() == len(numbers)
    assert found.status().blocked


def test_blocked_texts_are_counted_by_label_and_group_with_what_to_do(tmp_path):
    def answer(body, path, n):
        is_blocked = any(f"number {k}." in json.dumps(body) for k in (3, 5, 6))
        return rig.error(403, "Flagged by moderation.", 403) if is_blocked else rig.chat(body)

    rows = [
        {"text": f"number {n}.", "gold": "pos" if n % 2 else "neg", "party": "AB"[n % 3 > 0]}
        for n in range(TEXTS)
    ]
    items = {"source": rows, "text": "{{ text }}", "gold": "gold", "groups": ["party"]}
    with rigged(answer) as provider:
        found = study(tmp_path, {"base_url": provider.url}, {"max_tokens": 256}, items=items)
        assert found.run().ended == "finished"
    (words,) = found.status().blocked
    assert words.startswith("The provider of m blocked 3 of 12 texts; by gold label: pos 2 of 6, neg 1 of 6")
    assert "by party: A 2 of 4, B 1 of 8" in words
    assert "It says: “Flagged by moderation.”" in words
    assert words in found.status().warnings
    assert found.paper().details.count("at most 256 tokens") == 1, "of blocked texts too"


def test_a_limit_that_thinking_does_not_count_towards_is_not_called_idle(tmp_path):
    with rigged(lambda body, path, n: rig.chat(body, thought=300)) as provider:
        found = study(tmp_path, {"base_url": provider.url}, {"max_tokens": 64})
        found.run()
    assert "at most 64 tokens" in found.paper().details
    assert "no difference" not in found.paper().details


@pytest.mark.parametrize("status", [400, 403])
def test_a_server_that_refuses_everything_is_left_with_its_own_sentence(status, tmp_path, monkeypatch):
    monkeypatch.setenv("RIG_API_KEY", "sk-rig-0123456789abcdef")

    def dull(body, path, n):
        return rig.error(status, "Your organisation must be verified to use this model.")

    with rigged(dull) as provider:
        with pytest.raises(ModelError) as caught:
            study(tmp_path, {"base_url": provider.url, "key": "RIG_API_KEY"}, {}).run()
        assert "must be verified" in str(caught.value).splitlines()[0]
        assert len(provider.sent) <= 10


def test_a_model_that_is_taken_away_keeps_what_it_answered(tmp_path):
    with rigged(rig.gone) as provider:
        found = study(tmp_path, {"base_url": provider.url}, {}, repeats=2)
        with pytest.raises(ModelError, match="deprecated"):
            found.run()
        assert (found.status().answered, found.status().errors) == (12, 0)


def test_levels_of_a_knob_that_is_not_taken_are_an_error_before_anything_is_paid(tmp_path):
    with rigged(rig.refusing("temperature")) as provider:
        with pytest.raises(ModelError) as caught:
            study(tmp_path, {"base_url": provider.url}, {"temperature": [0.1, 0.7, 1.5]}).run()
        assert "temperature" in caught.value.problem
        assert all("temperature" in body for _, _, body in provider.sent), "no request was answered"


def test_hosts_that_label_differently_are_named_and_a_cause(tmp_path):
    def answer(body, path, n):
        host = "DeepInfra" if (n * 7919 // 13) % 2 else "Together"
        text = "neg" if host == "Together" else None
        return rig.chat(body, text, provider=host, system_fingerprint=host)

    with rigged(answer) as provider:
        found = study(tmp_path, {"base_url": provider.url}, {}, repeats=8)
        found.run()
    frame = found.annotations()
    counts = dict(frame.group_by(pl.col("served_host").cast(str)).len().iter_rows())
    assert counts.keys() == {"DeepInfra", "Together"}
    assert all(f"{host} ({count} answers)" in found.paper().details for host, count in counts.items())
    assert set(frame["served_snapshot"].cast(str)) == {"served-1 DeepInfra", "served-1 Together"}
    gaps = {one.measure: one.value for one in found.measure("served_flips")}
    # half of the texts, by how often each answers
    assert gaps == {
        "served_flips_host": pytest.approx(0.5, abs=0.2),
        "served_flips_snapshot": pytest.approx(0.5, abs=0.2),
    }
    judged = found.verdict().recommendations[0]
    assert (judged.reason, judged.next_step) == ("moved by host", "ask one host")
    assert [one.value for one in found.measure("compliance", by=["served_host"])] == [1.0, 1.0]


def test_answers_cut_off_are_no_change_of_a_label(tmp_path):
    def answer(body, path, n):
        return rig.chat(body, "", "length", thought=60) if "number 3." in json.dumps(body) else rig.chat(body)

    with rigged(answer) as provider:
        found = study(tmp_path, {"base_url": provider.url, "body": {"max_tokens": 64}}, {}, repeats=3)
        found.run()
    judged = found.verdict()
    known = judged.recommendations[0].known
    assert (known("truncated_answers").details["unlabelled"], known("flips_repeats").value) == (3, 0.0)
    assert "3 of 36 answers were cut off before a label" in judged.moves


@pytest.mark.parametrize("heeds", [True, False])
def test_levels_of_a_knob_that_make_no_difference_are_named(heeds, tmp_path):
    def answer(body, path, n):
        is_open = "unusual words" in body["messages"][-1]["content"]
        drawn = f"words at {body['temperature'] if heeds else 'random'}"
        return rig.chat(body, drawn if is_open else None)

    with rigged(answer) as provider:
        found = study(tmp_path, {"base_url": provider.url}, {"temperature": [0.1, 0.7, 1.5]})
        found.run()
    found.export(tmp_path / "calls.parquet")
    records = map(json.loads, pl.read_parquet(tmp_path / "calls.parquet")["instrument"])
    states = {one["instrument"]["temperature"][2] for one in records}
    told = ["temperature made no difference that the server of m shows: its 3 levels count as repeats"]
    assert states == {"sent" if heeds else "ignored"}
    assert [*found.status().idle_knobs] == ([] if heeds else told)
    assert ("which made no difference" in found.paper().details) is not heeds
    assert ("its 3 levels count as repeats" in found.verdict().moves) is not heeds
    shares = found.measure("strict_stability", by=["temperature"])
    assert [one.value for one in shares] == ([None] * 3 if heeds else [1.0])


@pytest.mark.parametrize("kind", ["claude", "gemini", "azure"])
def test_other_apis(kind, tmp_path, monkeypatch):
    monkeypatch.setenv("RIG_API_KEY", "sk-rig-0123456789abcdef")
    answers = {"claude": rig.claude, "gemini": rig.gemini, "azure": lambda body, path, n: rig.chat(body)}
    with rigged(answers[kind]) as provider:
        model = {
            "claude": {"use": "anthropic", "base_url": provider.root},
            "gemini": {"base_url": provider.url, "api": "gemini"},
            "azure": {"base_url": f"{provider.url}?api-version=2024-10-21"},
        }[kind] | {"key": "RIG_API_KEY"}
        assert study(tmp_path, model, {}).run().done == TEXTS
        path, headers, _ = provider.sent[-1]
        header = {"claude": "x-api-key", "gemini": "x-goog-api-key", "azure": "api-key"}[kind]
        assert headers == {header: "sk-rig-0123456789abcdef"}
        assert kind != "azure" or path.endswith("?api-version=2024-10-21")


def test_a_limit_is_named_while_it_is_waited_for(tmp_path):
    seen = []
    limited = rig.limiting_for(1.5)
    with rigged(limited) as provider:
        found = study(tmp_path, {"base_url": provider.url, "concurrency": 1}, {})
        found.run(watch=lambda progress: seen.append(str(progress)))
    assert any("Quota exceeded" in line for line in seen)


def test_a_record_costs_at_most_forty_bytes_a_call(tmp_path):
    with rigged(rig.routing) as provider:
        found = study(tmp_path, {"base_url": provider.url}, {}, repeats=4)
        found.run()
        with found.source.answers() as store:
            (records,) = store.rows("SELECT count(*) FROM terms")[0]
    assert records == 2


def test_the_documented_knobs_are_those_that_are_sent(monkeypatch):
    for preset in PRESETS_OF_SERVERS.values():
        monkeypatch.delenv(preset.key or "NONE", raising=False)
    assert knob_table() in Path("docs/models.md").read_text(encoding="utf-8")
