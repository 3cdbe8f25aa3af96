"""The table of knobs in ``docs/models.md``: the field of a request that each becomes, as the rig sees it."""

import json

from tests.models.provider_rig import chat, claude, gemini, responses_only, rigged

from quaver.core.calls import Call, Message, Prompt, Request
from quaver.core.instrument import KNOBS
from quaver.core.records import Decoding
from quaver.models.anthropic import Anthropic
from quaver.models.openai_compatible import OpenAICompatible
from quaver.models.served.dialects import DIALECTS
from quaver.models.served.presets import PRESETS

_DECODING = {"temperature": 0.7, "top_p": 0.9, "max_tokens": 64, "stop": ("###",), "constraint": "labels"}


def _plain(body, path, n):
    return chat(body)


def knob_rows():
    """A row for each preset and API: the field of the request that each knob becomes."""
    rows = [_row(name, "chat", _plain, preset=name) for name in PRESETS]
    rows.append(_row("`api: responses`", "responses", responses_only, preset="openai", api="responses"))
    rows.append(_row("`api: gemini`", "gemini", gemini, preset="gemini", api="gemini"))
    rows.append(_row("`use: anthropic`", "messages", claude))
    return rows


def _row(name, spoken, kind, **options):
    if spoken == "messages":  # the rig's refuses a temperature, which is then left out
        options = {"effort": "low"}
    else:
        options |= {"effort": "low"}
    logprobs = PRESETS[options["preset"]].logprobs if options.get("preset") and spoken == "chat" else 0
    decoding = Decoding("d", **_DECODING, logprobs=min(5, logprobs))
    messages = (Message("user", "good"),)
    calls = (Call(b"k" * 16, 0, 0, 0),)
    request = Request("m", Prompt(messages, "good", ""), decoding, ("pos", "neg"), 7, calls)
    with rigged(kind) as provider:
        url = provider.root if spoken == "messages" else provider.url
        made = Anthropic if spoken == "messages" else OpenAICompatible
        ((_, (response,)),) = made(model="m", base_url=url, **options).answer([request])
        body = provider.sent[0][2]
    fields = DIALECTS[spoken].fields
    cells = [next((f"`{one}`" for one in fields.get(knob, ()) if _has(body, one)), "–") for knob in KNOBS]
    assert json.loads(response.instrument)["instrument"].keys() >= {"temperature", "max_tokens"}
    return [name if name.startswith("`") else f"`{name}`", *cells]


def _has(body, field):
    for name in field.split("."):
        if not isinstance(body, dict) or name not in body:
            return False
        body = body[name]
    return True


def knob_table():
    """The table as Markdown."""
    heads = ["preset or API", *(name.replace("_", " ") for name in KNOBS)]
    lines = [heads, ["---"] * len(heads), *knob_rows()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    print(knob_table())
