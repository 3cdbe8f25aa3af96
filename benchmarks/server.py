"""Calls a second over HTTP: Quaver against inspect-ai and against a bare aiohttp loop, on one local server.

    python benchmarks/server.py [CALLS [ROUNDS]] [--connections 100] [--inspect PYTHON]

The server answers after 50 ms, so that 100 connections carry 2,000 calls a second at most; each client keeps
them busy. The server, and each client, is a
process of its own; peak memory is the operating system's figure for the client. The clients take turns, and
the medians are compared: of calls a second, and of processor time a call, which other work on the machine
changes less. inspect-ai is measured where it is installed (here, or in the Python that
``--inspect`` names), over the same server through its ``openai-api`` provider, on fewer calls, since it is
slow.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from machine import machine

LATENCY = 0.05


def serve(port: int) -> None:
    """The server: a fixed answer after 50 ms."""
    from aiohttp import web

    choice = {"index": 0, "message": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 20, "completion_tokens": 1, "total_tokens": 21}
    reply = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
    body = json.dumps(reply | {"choices": [choice], "usage": usage}).encode()

    async def complete(request: web.Request) -> web.Response:
        await request.read()
        await asyncio.sleep(LATENCY)
        return web.Response(body=body, content_type="application/json")

    async def models(request: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": "m"}]})

    application = web.Application()
    application.router.add_post("/v1/chat/completions", complete)
    application.router.add_get("/v1/models", models)
    web.run_app(application, host="127.0.0.1", port=port, print=None, access_log=None)


def texts(calls: int) -> list[str]:
    return [f"Text {n}: about as long as a short message, give or take." for n in range(calls)]


def bare(url: str, calls: int, connections: int) -> float:
    """Seconds of a loop that does nothing but send and parse."""
    import aiohttp

    async def run() -> float:
        numbers = iter(range(calls))
        connector = aiohttp.TCPConnector(limit=connections)
        async with aiohttp.ClientSession(connector=connector) as session:

            async def worker() -> None:
                for number in numbers:
                    message = {"role": "user", "content": f"Text {number}: Is this a greeting?"}
                    body = {"model": "m", "messages": [message], "max_tokens": 8, "temperature": 0}
                    async with session.post(f"{url}/chat/completions", json=body) as reply:
                        await reply.json()

            started = time.perf_counter()
            await asyncio.gather(*(worker() for _ in range(connections)))
            return time.perf_counter() - started

    return asyncio.run(run())


def study_of(url: str, calls: int, folder: Path, connections: int) -> Any:
    """A study of as many calls to the server, with its items in the folder."""
    from quaver.study.session import Study

    items = folder / "items.csv"
    if not items.exists():
        items.write_text(
            "id,text\n" + "\n".join(f'{n},"{text}"' for n, text in enumerate(texts(calls))) + "\n"
        )
    model = {"name": "m", "use": "openai_compatible", "model": "m", "base_url": url}
    document: dict[str, Any] = {
        "task": {"labels": ["yes", "no"]},
        "items": {"source": str(items), "id": "id", "text": "{{ text }}"},
        "prompt": {"instruction": "Is this a greeting?"},
        "models": [model | {"concurrency": connections}],
    }
    return Study.open(document, folder=folder / "study")


def quaver(url: str, calls: int, connections: int, folder: Path) -> float:
    """Seconds of ``Study.run``, planning and storing included."""
    study = study_of(url, calls, folder, connections)
    started = time.perf_counter()
    study.run()
    seconds = time.perf_counter() - started
    assert study.status().answered == calls
    return seconds


def inspect(url: str, calls: int, connections: int, folder: Path) -> float:
    """Seconds of inspect-ai for the same prompts, logs and all."""
    os.environ["LOCAL_BASE_URL"], os.environ["LOCAL_API_KEY"] = url, "none"
    from inspect_ai import Task
    from inspect_ai import eval as evaluate
    from inspect_ai.dataset import Sample
    from inspect_ai.solver import generate

    samples = [Sample(input=f"Text {n}: Is this a greeting?") for n in range(calls)]
    started = time.perf_counter()
    (log,) = evaluate(
        Task(dataset=samples, solver=generate()),
        model="openai-api/local/m",
        max_connections=connections,
        max_samples=connections,
        max_tokens=8,
        temperature=0,
        display="none",
        log_dir=str(folder / "logs"),
    )
    assert log.status == "success"
    return time.perf_counter() - started


def with_inspect() -> str | None:
    """A Python that has inspect-ai, if this one has."""
    return sys.executable if find_spec("inspect_ai") is not None else None


def measured(
    what: str, url: str, calls: int, connections: int, folder: Path, python: str = sys.executable
) -> dict[str, float]:
    """One client in a process of its own: calls a second and peak memory in MB."""
    command = [python, __file__, "--only", what, url, str(calls), str(connections), str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def only(what: str, url: str, calls: int, connections: int, folder: Path) -> None:
    def timed(work: Any) -> dict[str, float]:
        used = time.process_time()
        seconds = work()
        return {"seconds": seconds, "used": (time.process_time() - used) / calls}

    found = {
        "bare": lambda: timed(lambda: bare(url, calls, connections)),
        "quaver": lambda: timed(lambda: quaver(url, calls, connections, folder)),
        "inspect": lambda: timed(lambda: inspect(url, calls, connections, folder)),
    }[what]()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps(found | {"rate": calls / found["seconds"], "peak": peak}))


def started_server() -> tuple[subprocess.Popen[bytes], str]:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    process = subprocess.Popen([sys.executable, __file__, "--serve", str(port)])
    for _ in range(200):
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return process, f"http://127.0.0.1:{port}/v1"
        time.sleep(0.05)
    raise SystemExit("the server did not start")


def main() -> None:
    if sys.argv[1:2] == ["--serve"]:
        serve(int(sys.argv[2]))
        return
    if sys.argv[1:2] == ["--only"]:
        what, url, calls, connections, place = sys.argv[2:]
        only(what, url, int(calls), int(connections), Path(place))
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("calls", type=int, nargs="?", default=20_000)
    parser.add_argument("rounds", type=int, nargs="?", default=3)
    parser.add_argument("--connections", type=int, default=100)
    parser.add_argument("--inspect", metavar="PYTHON", default=with_inspect())
    asked = parser.parse_args()
    print(f"A server that answers after 50 ms, {asked.connections} connections, on {machine()}", flush=True)
    server, url = started_server()
    runs: dict[str, list[dict[str, float]]] = {what: [] for what in ("bare", "quaver", "inspect")}
    given = url, asked.calls, asked.connections
    python, fewer = asked.inspect, min(asked.calls, 2_000)
    try:
        for _ in range(asked.rounds):
            with tempfile.TemporaryDirectory() as folder:
                for what in ("bare", "quaver"):
                    runs[what].append(measured(what, *given, Path(folder)))
                again = measured("quaver", *given, Path(folder))
                if python is not None:
                    runs["inspect"].append(
                        measured("inspect", url, fewer, asked.connections, Path(folder), python)
                    )
    finally:
        server.kill()
    report(runs, again, asked.calls, fewer)


def report(runs: dict[str, list[dict[str, float]]], again: dict[str, float], calls: int, fewer: int) -> None:
    """Print the medians, and what follows from them."""

    def middle(what: str, name: str) -> float:
        return statistics.median(one[name] for one in runs[what])

    def ratio(name: str, what: str, other: str) -> float:
        return statistics.median(
            one[name] / another[name] for one, another in zip(runs[what], runs[other], strict=True)
        )

    def micro(what: str, name: str = "used") -> str:
        return f"{middle(what, name) * 1e6:.0f} µs"

    loop, ours = middle("bare", "rate"), middle("quaver", "rate")
    print(f"  bare aiohttp loop   {loop:9,.0f} calls/s, {micro('bare')} of processor time a call")
    print(
        f"  Quaver              {ours:9,.0f} calls/s, {micro('quaver')}, "
        f"peak {middle('quaver', 'peak'):.0f} MB (at most 300): {ratio('rate', 'quaver', 'bare'):.2f} of the "
        f"bare loop, {1 / ratio('used', 'quaver', 'bare'):.2f} by processor time (at least 0.75)"
    )
    print(f"  run again, finished: {again['seconds']:.2f} s for {calls:,}")
    if not runs["inspect"]:
        print("  inspect-ai is not installed (`--inspect PYTHON`): not compared")
        return
    theirs = middle("inspect", "rate")
    print(
        f"  inspect-ai          {theirs:9,.0f} calls/s, {micro('inspect')}, {fewer:,} calls: Quaver is "
        f"{ours / theirs:.1f} times as fast, {middle('inspect', 'used') / middle('quaver', 'used'):.1f} by "
        f"processor time (at least 30)"
    )


if __name__ == "__main__":
    main()
