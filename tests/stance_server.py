"""A server that speaks OpenAI's protocol and labels docs/tutorials/reform.xlsx, not without errors."""

import time
from contextlib import contextmanager
from hashlib import sha256

from tests.local_engines import JsonServer

__all__ = ["SIGNS", "stance_server", "truth"]

SIGNS = {
    "favor": ("about time", "count me in", "best idea in years", "finally some air"),
    "against": ("no thanks", "keep it as it is", "they should be ashamed", "a waste of money"),
    "none": ("what day is it", "my train was late", "who won the match", "pizza tonight"),
}


def truth(text):
    """The label that a post deserves."""
    return next(label for label, signs in SIGNS.items() if any(one in text for one in signs))


def _chance(text):
    return int(sha256(text.encode()).hexdigest()[:8], 16) / 2**32


def answer(prompt):
    """The label; on one post in twenty it depends on the prompt, and one answer in a hundred names none."""
    post, label = prompt[prompt.index(" #") :][:7], truth(prompt)
    if _chance(post) < 0.05 and _chance(prompt) < 0.5:
        label = next(one for one in sorted(SIGNS, key=lambda one: _chance(post + one)) if one != label)
    wording = _chance(prompt + "?")
    return "I cannot say." if wording < 0.01 else f"Label: {label}." if wording < 0.3 else label


@contextmanager
def stance_server(seconds=0.0, gate=None):
    """Its base URL, for as long as the block runs; each post takes it so long, and until a gate opens."""

    def reply(path, body):
        if body is None:
            return {"data": [{"id": "gpt-5-mini"}]}
        time.sleep(seconds)
        if gate is not None:
            gate.wait(120)
        text = answer("\n".join(one["content"] for one in body["messages"]))
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        usage = {"prompt_tokens": 60, "completion_tokens": 5, "total_tokens": 65}
        return {"model": "gpt-5-mini", "choices": [choice], "usage": usage}

    server = JsonServer(reply)
    try:
        yield f"{server.url}/v1"
    finally:
        server.close()
