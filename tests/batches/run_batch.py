"""What ``vllm run-batch`` does, over any server that speaks OpenAI's protocol: a file in, a file out."""

from __future__ import annotations

import json
from pathlib import Path

import httpx2

__all__ = ["run_batch"]


def run_batch(asked: Path, results: Path, server: str) -> int:
    """Send the lines of a batch file to a server, and write the results in OpenAI's format.

    Args:
        asked: The file of requests.
        results: The file of results.
        server: The server's address, without ``/v1``.

    Returns:
        How many requests there were.
    """
    lines = [json.loads(line) for line in asked.read_text(encoding="utf-8").splitlines()]
    with httpx2.Client(timeout=120) as client, results.open("w", encoding="utf-8") as file:
        for line in lines:
            reply = client.post(server + line["url"], json=line["body"])
            body = reply.json() if reply.content else {}
            response = {
                "status_code": reply.status_code,
                "request_id": f"vllm-{line['custom_id']}",
                "body": body,
            }
            found = {"id": "vllm-1", "custom_id": line["custom_id"], "response": response, "error": None}
            file.write(json.dumps(found) + "\n")
    return len(lines)
