"""A server that answers in JSON where a request holds it to a schema, and only there."""

import json
from contextlib import contextmanager
from hashlib import sha256

from tests.local_engines import JsonServer

__all__ = ["Held", "answer_of", "held_server"]


def answer_of(body):
    """What it answers: decided by the prompt and the seed, in JSON where a schema is sent along."""
    prompt = "\n".join(message["content"] for message in body["messages"])
    number = int(sha256(f"{prompt}|{body.get('seed')}".encode()).hexdigest()[:8], 16)
    told = (body.get("response_format") or {}).get("json_schema")
    if "certain" in body["messages"][-1]["content"]:
        return f"0.{number % 10}"
    if told is None:
        choices = (body.get("structured_outputs") or {}).get("choice") or ("positive", "negative")
        return str(choices[number % len(choices)])
    ((field, one),) = told["schema"]["properties"].items()
    return json.dumps({field: one["enum"][number % len(one["enum"])]})


class Held:
    """What the server saw: the bodies, in the order in which they came."""

    def __init__(self):
        self.bodies = []


@contextmanager
def held_server(port=0):
    """Its base URL, and what it saw, for as long as the block runs."""
    held = Held()

    def reply(path, body):
        if body is None:
            return {"data": [{"id": "tiny"}]} if path == "/v1/models" else {"version": "1.2.3"}
        held.bodies.append(body)
        text = answer_of(body)
        choice = {"index": 0, "finish_reason": "stop", "message": {"content": text}}
        if body.get("logprobs"):
            top = [{"token": text, "logprob": -0.25}, {"token": "other", "logprob": -1.75}]
            place = {"token": text, "logprob": -0.25, "top_logprobs": top[: body["top_logprobs"]]}
            choice["logprobs"] = {"content": [place]}
        usage = {"prompt_tokens": 40, "completion_tokens": 4, "total_tokens": 44}
        return {"model": "tiny-1", "system_fingerprint": "fp-1", "choices": [choice], "usage": usage}

    server = JsonServer(reply, port)
    try:
        yield f"{server.url}/v1", held
    finally:
        server.close()
