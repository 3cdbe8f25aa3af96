"""A server that faults on purpose, as a program of its own that can be killed and started again.

    python faulty_server.py PORT OPTIONS_AS_JSON LOG

It writes a line to LOG for every call that it answers well. What it answers is a hash of the prompt and
seed, so that a test knows what must be stored.
"""

import asyncio
import json
import random
import sys
import time
from collections import deque
from hashlib import sha256
from pathlib import Path

from aiohttp import web

FAULTS = (
    "408", "409", "429", "500", "502", "503", "504", "529",
    "reset", "stall", "empty", "cut", "not json", "no choices", "error inside",
)  # fmt: skip

_BURST = 10.0
"""Calls that it takes at once beyond its rate."""


def answer_to(prompt, seed):
    """What it answers."""
    return sha256(f"{prompt}|{seed}".encode()).hexdigest()[:8]


def completion(body):
    """A well-formed reply."""
    prompt = body["messages"][-1]["content"] if "messages" in body else body["prompt"]
    seed = body.get("seed")
    choices = [
        {
            "index": index,
            "message": {
                "role": "assistant",
                "content": answer_to(prompt, None if seed is None else seed + index),
            },
            "finish_reason": "stop",
        }
        for index in range(body.get("n", 1))
    ]
    usage = {"prompt_tokens": len(prompt) // 4, "completion_tokens": 3, "total_tokens": len(prompt) // 4 + 3}
    return {"id": "x", "model": "served-1", "system_fingerprint": "fp-1", "choices": choices, "usage": usage}


class Faulty:
    """Answers, faults at random, and takes no more than so many calls a second.

    Args:
        faults: Share of calls that fault.
        kinds: Which faults.
        rate: Calls a second that it takes; None for any number.
        latency: Seconds to an answer, at most; they come out of order.
        stall: Seconds for which a stalled call hangs.
        seed: Of the faults.
        always: A status and body that it answers everything with.
        page: What it answers instead of a list of its models.
        key: What it must be shown.
        log: File that gets a line for every good answer.
    """

    def __init__(
        self,
        *,
        faults=0.0,
        kinds=FAULTS,
        rate=None,
        latency=0.0,
        stall=30.0,
        seed=0,
        always=None,
        page="",
        key="",
        log=None,
    ):
        self.faults, self.kinds, self.rate = faults, tuple(kinds), rate
        self.latency, self.stall = latency, stall
        self.always, self.page, self.key = always, page, key
        self.log = log.open("a", buffering=1) if log else None
        self.draw = random.Random(seed)
        self.bodies = deque(maxlen=1000)
        self.headers = deque(maxlen=10)
        self.good = []
        self.seen = 0
        self._level, self._at = _BURST, time.monotonic()

    def application(self):
        """To be run."""
        application = web.Application(client_max_size=2**24)
        application.router.add_post("/v1/chat/completions", self.complete)
        application.router.add_post("/v1/completions", self.complete)
        application.router.add_get("/v1/models", self.models)
        return application

    async def models(self, request):
        if self.key and request.headers.get("Authorization") != f"Bearer {self.key}":
            return web.json_response({"error": {"message": f"bad key {self.key}"}}, status=401)
        if self.page:
            return web.Response(text=self.page, content_type="text/html")
        return web.json_response({"data": [{"id": "m"}]})

    async def complete(self, request):
        body = await request.json()
        self.bodies.append(body)
        self.headers.append(dict(request.headers))
        self.seen += 1
        if self.key and request.headers.get("Authorization") != f"Bearer {self.key}":
            return web.json_response({"error": {"message": f"bad key {self.key}"}}, status=401)
        if self.always:
            return web.json_response(self.always[1], status=self.always[0])
        if self.rate is not None and not self._has_room():
            return web.json_response(
                {"error": {"message": "slow down"}}, status=429, headers={"Retry-After": "1"}
            )
        if self.draw.random() < self.faults:
            return await self._fault(request, self.draw.choice(self.kinds), body)
        if self.latency:
            await asyncio.sleep(self.draw.uniform(0, self.latency))
        self.good.append(time.monotonic())
        if self.log:
            prompt = body["messages"][-1]["content"]
            self.log.write(json.dumps([time.time(), prompt, body.get("seed")]) + "\n")
        return web.json_response(completion(body))

    def _has_room(self):
        now = time.monotonic()
        self._level = min(_BURST, self._level + (now - self._at) * (self.rate or 0))
        self._at = now
        if self._level < 1:
            return False
        self._level -= 1
        return True

    async def _fault(self, request, kind, body):
        if kind.isdigit():
            headers = {"Retry-After": "0"} if kind in ("429", "503") else {}
            return web.json_response(
                {"error": {"message": f"fault {kind}"}}, status=int(kind), headers=headers
            )
        if kind == "stall":
            await asyncio.sleep(self.stall)
            return web.json_response(completion(body))
        if kind in ("reset", "cut"):
            if kind == "cut":
                whole = json.dumps(completion(body)).encode()
                response = web.StreamResponse(headers={"Content-Length": str(len(whole))})
                await response.prepare(request)
                await response.write(whole[: len(whole) // 2])
            request.transport.close()
            return web.Response() if kind == "reset" else response
        text = {
            "empty": "",
            "not json": "<html>Bad gateway</html>",
            "no choices": json.dumps({"choices": []}),
            "error inside": json.dumps({"error": {"message": "upstream"}}),
        }[kind]
        return web.Response(text=text, content_type="application/json")


def main(port, options, log):
    faulty = Faulty(**options, log=log)
    web.run_app(faulty.application(), host="127.0.0.1", port=port, print=None, access_log=None)


if __name__ == "__main__":
    main(int(sys.argv[1]), json.loads(sys.argv[2]), Path(sys.argv[3]))
