"""Gemini's Batch API: one request that holds all others; the batch's description then holds all results.

The reference: https://ai.google.dev/gemini-api/docs/batch-api. Whatever it says, results may come in another
order than requests, so that each is known by its key alone. A batch that expired has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from quaver.core.batch import Lines, Look, Unanswered
from quaver.core.calls import Request, Response
from quaver.core.response_validation import printable, token_count
from quaver.errors import ModelError
from quaver.models.served.batch_http import PAGES, STATES, HttpBatches, counts_in, joined, name_in, seconds_in
from quaver.models.served.dialects import GEMINI_API
from quaver.models.served.server_options import compact_json
from quaver.models.served.server_reply import object_in, objects_in

_STATUSES = {1: 429, 3: 400, 5: 404, 7: 403, 8: 429, 9: 400, 16: 401}
"""The status of a reply with one of Google's codes; any other passes. What was cancelled has only waited."""


class GeminiBatches(HttpBatches):
    """Batches of one model at Google."""

    kind = "gemini"
    most_requests, most_bytes, hours = 2_000, 18 * 2**20, 48.0
    cancelling, most_reply = ":cancel", 2**26

    def line(self, request_id: str, request: Request) -> bytes:
        """One of the batch's requests."""
        return compact_json({"request": self._wire.body(request), "metadata": {"key": request_id}})

    def start(self, name: str, upload: str, lines: Lines) -> str:
        """Send the requests as a batch of this name."""
        head = f'{{"batch":{{"displayName":"{name}","inputConfig":{{"requests":{{"requests":['
        content = head.encode() + joined(lines) + b"]}}}}"
        path = GEMINI_API.path(self._address.model, ()).replace(":generate", ":batchGenerate")
        return _called(self._ask("POST", path, content=content))

    def look(self, batch: str) -> Look:
        """Where a batch stands; one that ended early has no results, or those that are there."""
        document = self._ask("GET", self._path(batch))
        about, error = (object_in(document.get(part)) for part in ("metadata", "error"))
        state = STATES.get(str(about.get("state")).removeprefix("BATCH_STATE_").lower(), "running")
        counts = counts_in(about.get("batchStats"), "successfulRequestCount", "failedRequestCount")
        done, refused = counts if state in ("running", "collected") or _inlined(document) else (0, 0)
        made = seconds_in(about.get("createTime"))
        return Look(
            state=state,
            done=done,
            refused=refused,
            expires=made and made + self.hours * 3600,
            words=printable(error.get("message") or ""),
            queue=error.get("code") == 8,
        )

    def results(self, batch: str, look: Look) -> Iterator[tuple[str, Any]]:
        """The results in a batch's description.

        Raises:
            ModelError: None of them says which request it answers.
        """
        results = _inlined(self._ask("GET", self._path(batch)))
        named = {str(object_in(result.get("metadata")).get("key")): result for result in results}
        if look.done and not named.keys() - {"None"}:
            raise ModelError(
                "the results of a batch do not say which request each of them answers",
                where=f"{self._address.url}{self._path(batch)}",
                expected="a key in the metadata of each, as it was sent",
                fix="run again later; `--cancel-batches` gives the batch up, whose calls can then be asked "
                "without batches",
            )
        yield from named.items()

    def read(self, request: Request, came: Any) -> list[Response] | Unanswered:
        """A result as a response, or why there is none."""
        if isinstance(came.get("response"), dict):
            return self._read(request, 200, came["response"])
        code = token_count(object_in(came.get("error")).get("code")) or 500
        return self._read(request, _STATUSES.get(code, code), came)

    def _may_be(self, batch: Mapping[str, Any], name: str, requests: int) -> bool:
        """Whether it has this name."""
        return bool(object_in(batch.get("metadata")).get("displayName") == name)

    def _pages(self) -> Iterator[dict[str, Any]]:
        """The batches in the provider's list, which is left out where it is empty."""
        token: Any = ""
        for _ in range(PAGES):
            page = self._ask("GET", f"{self.root}?pageSize=20&pageToken={quote(str(token))}")
            yield from (
                {**operation, "id": _called(operation)} for operation in objects_in(page.get("operations"))
            )
            if not (token := page.get("nextPageToken")):
                return


def _called(operation: Mapping[str, Any]) -> str:
    return name_in(operation, "name").removeprefix("batches/")


def _inlined(operation: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The results in a batch's description, which has them in one place or in two."""
    about = object_in(operation.get("metadata"))
    output = object_in(operation.get("response")) or object_in(about.get("output"))
    return objects_in(object_in(output.get("inlinedResponses")).get("inlinedResponses"))
