"""Batches as files that you hand to a program, such as ``vllm run-batch``, on this machine or another.

A batch is written as ``batches/NAME.jsonl`` in the study's folder. The program's results belong beside it, as
``NAME.out.jsonl``; they are collected once there is one for each request. Quaver starts no program.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from quaver._secrets import Keys
from quaver.core.batch import BatchLimits, BatchService, Gone, Lines, Look, NotNow, Unanswered
from quaver.core.records import Request, Response
from quaver.core.replaced_file import replace_bytes, replacing
from quaver.core.response_validation import printable
from quaver.errors import StoreError
from quaver.models.served.batch_http import MOST_LINE, BatchHttp, ChatLines, LineReader, object_of
from quaver.models.served.gemini_batches import GeminiBatches, check_body
from quaver.models.served.openai_batches import OpenAIBatches
from quaver.models.served.server_faults import Address
from quaver.models.served.server_reply import object_in
from quaver.models.served.wire import Wire


class FileBatches:
    """Batches in files.

    Args:
        folder: Where they are.
        lines: Makes lines of requests and reads what comes back for them.
    """

    kind = "file"
    limits = BatchLimits(requests=50_000, size=200 * 2**20, hours=0.0)
    uploads = True
    is_named = True

    def __init__(self, folder: Path, lines: ChatLines) -> None:
        self._folder, self._lines = folder, lines
        self.parts, self.kind_of, self.line = lines.parts, lines.kind_of, lines.line

    def upload(self, name: str, lines: Lines) -> str:
        """Write the file in one step."""
        path = self._folder / f"{name}.jsonl"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with replacing(path) as part, part.open("wb") as file:
                file.writelines(lines())
        except (OSError, StoreError) as error:
            raise NotNow(f"{path} cannot be written: {error}") from error
        return path.name

    def uploaded(self, name: str) -> str | None:
        """The file, if it is there."""
        return f"{name}.jsonl" if (self._folder / f"{name}.jsonl").is_file() else None

    def start(self, name: str, upload: str, lines: Lines) -> str:
        """Nothing to start: the rest is yours."""
        return name

    def started(
        self, name: str, upload: str, since: float, calls: int, known: Container[str]
    ) -> Sequence[str]:
        """The batch itself."""
        return [name]

    def look(self, batch: str) -> Look:
        """How many of the results are there."""
        path = self._folder / f"{batch}.jsonl"
        if not path.is_file():
            raise Gone(f"{path} is missing")
        wanted = {_id(found) for found in _objects(path)}
        there = {_id(found) for found in _objects(self._results(batch))} & wanted
        if there == wanted:
            return Look("done", done=len(there))
        given_up = (self._folder / f"{batch}.cancelled").is_file()
        return Look("cancelled" if given_up else "running", done=len(there))

    def results(self, batch: str, look: Look) -> Iterator[tuple[str, Any]]:
        """The lines of the program's results; a key that is among them goes from the file."""
        _strip(self._results(batch))
        for found in _objects(self._results(batch)):
            if name := _id(found):
                yield name, found

    def read(self, request: Request, came: Any) -> list[Response] | Unanswered:
        """A line of results as responses, or why there are none."""
        error, reply = came.get("error"), object_in(came.get("response"))
        if isinstance(reply.get("body"), dict | list):
            return self._lines.read(request, reply.get("status_code"), reply["body"])
        if error:
            said = error if isinstance(error, dict) else {"error": {"message": printable(error)}}
            return self._lines.read(request, reply.get("status_code") or 500, said)
        return Unanswered("the line has neither a reply nor an error")

    def cancel(self, batch: str) -> None:
        """Wait for no more results; those that are there count."""
        with suppress(StoreError):
            replace_bytes(self._folder / f"{batch}.cancelled", b"")

    def _results(self, batch: str) -> Path:
        return self._folder / f"{batch}.out.jsonl"


def _strip(path: Path) -> None:
    """Take the values of keys out of a file that another program has written."""
    keys = Keys()
    try:
        with path.open("rb") as file:
            if not any(map(keys.within, file)):
                return
            file.seek(0)
            with replacing(path) as part, part.open("wb") as stripped:
                stripped.writelines(map(keys.out_of_bytes, file))
    except FileNotFoundError:
        return
    except OSError as error:
        raise NotNow(f"{path} cannot be read: {error.strerror or error}") from error


def _objects(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file's lines; a line that is being written is left out."""
    try:
        with path.open("rb") as file:
            while line := file.readline(MOST_LINE):
                if found := object_of(line):
                    yield found
    except FileNotFoundError:
        return
    except OSError as error:
        raise NotNow(f"{path} cannot be read: {error.strerror or error}") from error


def _id(found: Mapping[str, Any]) -> str:
    name = found.get("custom_id")
    return name if isinstance(name, str) else ""


def service_of(
    wire: Wire, model: str, address: Address, secret: Callable[[], str], folder: Path, *, together: bool
) -> BatchService | None:
    """Who takes the batches of a model; None if nobody does."""
    server = wire.server
    if server.batch == "none":
        return None

    def connected() -> BatchHttp:
        key = secret()
        named = {"x-goog-api-key": key} if server.batch == "gemini" else {"authorization": f"Bearer {key}"}
        return BatchHttp(address, named if key else {}, key)

    if server.batch == "file":
        return FileBatches(folder, ChatLines(address, wire, together=together))
    if server.batch == "gemini":
        check_body(server.body)
        native = wire.spoken("gemini")
        return GeminiBatches(
            connected, address.url, model, native, LineReader(address, native, together=together)
        )
    return OpenAIBatches(connected, ChatLines(address, wire, together=together))
