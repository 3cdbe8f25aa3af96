"""What servers of three dialects are sent of pictures and recordings, by a run of a study."""

import base64
import json

import pytest
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from pydantic import TypeAdapter
from tests.pictures import gif, jpeg, keeping_server, png, shown

from quaver import Study
from quaver.errors import SpecError


def study_of(folder, model, rows, **items):
    lines = [json.dumps({"id": str(at)} | row) for at, row in enumerate(rows)]
    (folder / "items.jsonl").write_text("\n".join(lines))
    document = {
        "task": {"labels": ["cat", "dog"]},
        "items": {"source": "items.jsonl", "id": "id", "images": "image"} | items,
        "prompt": {"instruction": "Which animal is it?", "system": "You look at pictures."},
        "models": [{"name": "m", "model": "m"} | model],
        "decoding": {"d": {"max_tokens": 5}},
    }
    (folder / "study.yaml").write_text(json.dumps(document))
    return Study.open(folder / "study.yaml")


def _encoded(content):
    return base64.b64encode(content).decode()


DIALECTS = {
    "chat": (
        lambda url: {"use": "openai_compatible", "base_url": f"{url}/v1"},
        lambda kind, content: {
            "type": "image_url",
            "image_url": {"url": f"data:image/{kind};base64,{_encoded(content)}"},
        },
    ),
    "messages": (
        lambda url: {"use": "anthropic", "base_url": url},
        lambda kind, content: {
            "type": "image",
            "source": {"type": "base64", "media_type": f"image/{kind}", "data": _encoded(content)},
        },
    ),
    "gemini": (
        lambda url: {"use": "openai_compatible", "base_url": f"{url}/v1beta", "api": "gemini"},
        lambda kind, content: {"inline_data": {"mime_type": f"image/{kind}", "data": _encoded(content)}},
    ),
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_server_receives_the_bytes_of_a_picture_once(dialect, tmp_path):
    model, part = DIALECTS[dialect]
    (tmp_path / "a.png").write_bytes(png())
    (tmp_path / "b.jpg").write_bytes(jpeg())
    rows = [{"image": "a.png\nb.jpg", "said": ""}, {"image": "b.jpg", "said": "Look!"}]
    with keeping_server() as (url, sent):
        study = study_of(tmp_path, model(url), rows, text="{{ said }}")
        assert study.run().errors == 0
        asked = [body for _, body in sent]
        assert sorted(map(len, map(shown, asked))) == [1, 2]
        both = next(body for body in asked if len(shown(body)) == 2)
        assert shown(both) == [part("png", png()), part("jpeg", jpeg())]
        assert shown(next(body for body in asked if body is not both)) == [part("jpeg", jpeg())]
        turns = both.get("contents") or both["messages"]
        *_, last = turns[-1].get("parts") or turns[-1]["content"]
        assert last["text"].startswith("Which animal is it?")
        if dialect == "messages":
            TypeAdapter(MessageCreateParamsNonStreaming).validate_python(both)
        if dialect == "chat":
            TypeAdapter(CompletionCreateParamsNonStreaming).validate_python(both)
        before = len(sent)
        assert Study.open(tmp_path / "study.yaml").run().done == 0
        assert len(sent) == before
    frame = study.annotations()
    assert frame["label"].cast(str).to_list() == ["cat", "cat"]


def test_what_a_provider_does_not_take_is_an_error_before_anything_is_sent(tmp_path):
    (tmp_path / "a.gif").write_bytes(gif())
    with keeping_server() as (url, sent):
        study = study_of(tmp_path, DIALECTS["gemini"][0](url), [{"image": "a.gif"}])
        with pytest.raises(SpecError, match="cannot take files of the type image/gif") as caught:
            study.run()
        assert "image/webp" in caught.value.fix
        assert not sent
