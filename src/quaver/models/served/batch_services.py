"""Who takes the batches of a server, by its preset."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from quaver.core.batch import BatchService
from quaver.models.served.batch_http import BatchHttp
from quaver.models.served.batch_lines import LineReader
from quaver.models.served.file_batches import FileBatches
from quaver.models.served.gemini_batches import GeminiBatches
from quaver.models.served.gemini_content import check_body
from quaver.models.served.openai_batches import OpenAIBatches
from quaver.models.served.presets import Preset
from quaver.models.served.server_faults import Address


def service_of(
    server: Preset, model: str, address: Address, secret: Callable[[], str], folder: Path, *, together: bool
) -> BatchService | None:
    """Who takes the batches of a model; None if nobody does.

    Args:
        server: What the server honours.
        model: The model's name there.
        address: Where it is.
        secret: Gives the key, or raises.
        folder: Where files for people to hand on are kept.
        together: Whether a request's calls are drawn together.
    """
    if server.batch == "none":
        return None

    def connected() -> BatchHttp:
        key = secret()
        return BatchHttp(address, {"authorization": f"Bearer {key}"} if key else {}, key)

    reader = LineReader(server, model, address, together=together)
    if server.batch == "file":
        return FileBatches(folder, reader)
    if server.batch == "gemini":
        check_body(server.body)

        def at_google() -> BatchHttp:
            key = secret()
            return BatchHttp(address, {"x-goog-api-key": key} if key else {}, key)

        return GeminiBatches(at_google, address.url, model, server.body, reader)
    return OpenAIBatches(connected, reader)
