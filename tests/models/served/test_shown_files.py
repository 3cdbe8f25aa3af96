"""What servers of three dialects are sent of pictures and recordings, by a run of a study."""

import base64
import json

import pytest
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from pydantic import TypeAdapter
from tests.pictures import gif, jpeg, keeping_server, png, shown, wav

from quaver import Study
from quaver.core.media import keep_media, medium_of, noted_medium
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
        assert "not counted yet" in study.plan().notes[-1]
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


def test_a_recording_is_sent_where_the_provider_takes_it(tmp_path):
    (tmp_path / "a.wav").write_bytes(wav())
    how = {"images": None, "audio": "image"}
    sound = _encoded(wav())
    with keeping_server() as (url, sent):
        for dialect in ("chat", "gemini"):
            (tmp_path / dialect).mkdir()
            (tmp_path / dialect / "a.wav").write_bytes(wav())
            rows = [{"image": "a.wav"}]
            study = study_of(tmp_path / dialect, DIALECTS[dialect][0](url), rows, **how)
            assert study.run().errors == 0
        chat, gemini = (body for _, body in sent)
        heard = {"type": "input_audio", "input_audio": {"data": sound, "format": "wav"}}
        assert shown(chat) == [heard]
        assert shown(gemini) == [{"inline_data": {"mime_type": "audio/wav", "data": sound}}]
        with pytest.raises(SpecError, match="audio/wav"):
            study_of(tmp_path, DIALECTS["messages"][0](url), [{"image": "a.wav"}], **how).run()
        assert len(sent) == 2


def test_a_batch_finds_its_pictures_where_the_study_keeps_them(tmp_path):
    kept = tmp_path / "media.db"
    (tmp_path / "a.png").write_bytes(png())
    medium = medium_of("a.png", str(tmp_path / "a.png"), "images")
    keep_media(kept, [medium])
    (tmp_path / "a.png").unlink()
    again = noted_medium(medium.noted, kept)
    assert (again.content(), again.noted) == (png(), medium.noted)
