"""Batches are handed to their provider: once, however often the process ends in between.

Before each step the store says that it is about to be taken, and afterwards what came of it. A step that was
about to be taken and has no outcome may have been taken: what it would have made is looked for by name
before it is taken again.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from quaver.collect.store.batch_rows import BatchRow
from quaver.collect.store.response_store import Store
from quaver.core.batch import BatchService, Gone, NotNow

SETTLES = 90.0
"""Seconds after which a start whose reply was lost has either arrived or will not any more."""

_CLOCKS_DIFFER = 600.0
"""Seconds by which a provider's clock may be behind."""


class BatchSender:
    """Hands the batches of one model to its provider.

    Args:
        store: Knows the steps that were taken.
        service: Speaks to the provider.
    """

    def __init__(self, store: Store, service: BatchService) -> None:
        self._store, self._service = store, service

    def send(self, row: BatchRow) -> BatchRow:
        """Take the steps that are left until a batch runs.

        Raises:
            NotNow: The provider takes none now, or its reply was lost.
            ModelError: The provider will not take it.
        """
        if self._service.uploads and row.upload is None:
            row = self._uploaded(row)
        alone = not any(other.model == row.model and other.sent for other in self._store.batches())
        self._store.set_batch(row.id, sent=time.time(), alone=int(alone))
        try:
            remote = self._service.start(row.name, row.upload or "", lambda: self._lines(row))
        except Gone as gone:  # the uploaded lines have expired
            self._store.set_batch(row.id, sent=None, upload=None, uploading=None, state="written")
            raise NotNow(str(gone)) from None
        except NotNow as fault:
            if not fault.unsure:
                self._store.set_batch(row.id, sent=None, refused=row.refused + int(fault.limited and alone))
            if fault.limited and alone and row.refused and row.requests > 1:
                # Twice too much although nothing else is queued: its requests go into smaller ones.
                self._store.set_batch(row.id, alone=2)
                self._store.close_batch(row, "failed", fault.reason)
            raise
        except Exception:
            self._store.set_batch(row.id, sent=None)
            raise
        return self._runs(row, remote)

    def find(self, row: BatchRow) -> BatchRow:
        """Look for a batch whose start was not answered; it may be sent again if it comes back unsent."""
        known = {one.remote for one in self._store.batches(open_only=False) if one.remote} | set(
            row.not_its_own
        )
        sent = row.sent or 0.0
        found = self._service.started(row.name, row.upload or "", sent - _CLOCKS_DIFFER, row.requests, known)
        if found:
            for other in found[1:] if self._service.is_named else ():  # nobody should pay for it twice
                self._service.cancel(other)
            return self._runs(row, found[0])
        if time.time() >= sent + SETTLES:
            self._store.set_batch(row.id, sent=None)
        return self._store.batch(row.id)

    def _uploaded(self, row: BatchRow) -> BatchRow:
        upload = self._service.uploaded(row.name) if row.uploading is not None else None
        if upload is None:
            self._store.set_batch(row.id, uploading=time.time())
            upload = self._service.upload(row.name, lambda: self._lines(row))
        self._store.set_batch(row.id, upload=upload, state="uploaded")
        return self._store.batch(row.id)

    def _runs(self, row: BatchRow, remote: str) -> BatchRow:
        self._store.set_batch(row.id, remote=remote, state="running", note=None)
        return self._store.batch(row.id)

    def _lines(self, row: BatchRow) -> Iterator[bytes]:
        return (
            self._service.line(name, request) + b"\n" for name, request in self._store.batch_requests(row)
        )
