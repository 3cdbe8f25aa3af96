"""``paraphrases.json``: paraphrases that models made, and what they took.

Paraphrases that cost something are made once. What is kept here is used by every later command and never made
again, unless that is asked for; the file can be read and edited, and goes with the study's folder.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from pydantic import TypeAdapter

from quaver.collect.run.ledger import Entry
from quaver.collect.run.model_answers import taken
from quaver.collect.run.progress import written
from quaver.core.calls import Call, Prompt, Request, Response
from quaver.core.model import Model
from quaver.core.records import Decoding
from quaver.design.paraphrase.paraphraser import Draft, NoWork, Paraphrase, ToAsk, Work
from quaver.study.sources.study_folder import StudyFolder

_PARAPHRASES = TypeAdapter(list[Paraphrase])
_COUNTS = ("calls", "errors", "prompt_tokens", "cached_tokens", "completion_tokens", "thinking_tokens")


class KeptParaphrases:
    """A study's ``paraphrases.json``; design asks it for paraphrases (`Keeper`).

    Args:
        files: The study's folder.
        model: Gives a model by its name in the study, or made from what would stand among the models.

    Attributes:
        made: What was made since ``make`` was called, in words.
        stands_in: Whether a plan is all that is wanted.
        foreseen: What making what is missing will ask, noted where a plan is all that is wanted.
        lacking: Whether something was asked for that is not there and might not be made.
    """

    def __init__(
        self, files: StudyFolder, model: Callable[[str | Mapping[str, Any]], tuple[str, Model]]
    ) -> None:
        self._files, self._model = files, model
        self._document = files.read("paraphrases.json")
        self._making = self._again = self._begun = False
        self._by: dict[str, Any] = {}
        self._remade: list[Mapping[str, Any]] = []
        self._watch: Callable[[str], None] = lambda _: None
        self._afford: Callable[[Request], None] = lambda _: None
        self.made: list[str] = []
        self.lacking = self.stands_in = False
        self.foreseen: list[ToAsk] = []

    def make(
        self,
        *,
        again: bool = False,
        watch: Callable[[str], None] = lambda _: None,
        afford: Callable[[Request], None] = lambda _: None,
    ) -> None:
        """From now on, have made what is missing."""
        self._making, self._again, self._watch, self._afford = True, again, watch, afford
        self._remade, self.made = [], []

    def foresee(self, left: ToAsk) -> None:
        """Note what making what is missing will ask."""
        self.foreseen.append(left)

    def rest(self) -> None:
        """From now on, have nothing made."""
        self._making = self._again = self.lacking = False

    def paraphrases(
        self, asked: Mapping[str, Any], blank: Draft, fill: Callable[[Draft, Work], Sequence[Paraphrase]]
    ) -> Sequence[Paraphrase]:
        """What is kept under ``asked``, filled up where something is missing and may be made."""
        kept: list[dict[str, Any]] = self._document.setdefault("drafts", [])
        entry = next((entry for entry in kept if entry["asked"] == asked), None)
        if self._again and entry is not None and asked not in self._remade:
            kept.remove(entry)
            entry = None
        self._remade.append(asked)
        draft = (
            blank
            if entry is None
            else replace(
                blank,
                paraphrases=_PARAPHRASES.validate_python(entry["paraphrases"]),
                asked=dict(entry["answers"]),
                dropped={group: dict(reasons) for group, reasons in entry["dropped"].items()},
            )
        )
        if not self._making:
            none = NoWork()
            try:
                return fill(draft, none)
            finally:
                self.lacking |= none.refused
        self._by, self._begun = {}, False
        try:
            return fill(draft, self)
        finally:
            if self._begun:  # what came is kept, whatever went wrong
                if entry is None:
                    entry = {"asked": dict(asked), "by": {}}
                    kept.append(entry)
                entry["by"] |= self._by
                entry["paraphrases"] = list(map(asdict, draft.paraphrases))
                entry |= {"answers": draft.asked, "dropped": draft.dropped}
                self._write()

    def begin(self, what: str) -> None:
        """Note and report what is about to be made."""
        self._begun = True
        self.made.append(what)
        self._watch(what)

    def ask(
        self, model: str | Mapping[str, Any], prompt: Prompt, decoding: Decoding, seed: int, count: int
    ) -> list[Response]:
        """Ask a model the same thing several times, and note what it took at once.

        It is spent, whatever becomes of the answers.
        """
        name, engine = self._model(model)
        self._by[name] = {"identity": engine.identity(), **engine.provenance()}
        calls = tuple(Call(f"paraphrase {seed + n}".encode(), 0, 0, n) for n in range(count))
        request = Request(name, prompt, decoding, (), seed, calls)
        self._afford(request)
        engine.prepare(count)
        responses = [response for _, responses in taken(engine, [request]) for response in responses]
        spent: list[dict[str, Any]] = self._document.setdefault("spent", [])
        entry = next((entry for entry in spent if entry["model"] == name and entry["asked"] == model), None)
        if entry is None:
            entry = {
                "model": name,
                "asked": model,
                "first": time.time(),
                **dict.fromkeys(_COUNTS, 0),
            }
            spent.append(entry)
        entry["last"] = time.time()
        for response in responses:  # as the store adds it up: what a model says nothing of counts as nothing
            entry["calls"] += 1
            entry["errors"] += response.finish == "error"
            entry["prompt_tokens"] += response.prompt_tokens or 0
            entry["cached_tokens"] += response.cached_tokens or 0
            entry["completion_tokens"] += written(response, len(responses))
            entry["thinking_tokens"] += response.thinking_tokens or 0
        self._write()
        return responses

    @property
    def spent(self) -> list[dict[str, Any]]:
        """What was spent on paraphrases, also on those that are no longer there: an entry a model.

        ``model`` is its name, ``asked`` what the study file says of it; ``calls``, ``errors``,
        ``prompt_tokens``, ``cached_tokens``, ``completion_tokens`` and ``thinking_tokens`` are numbers,
        ``first`` and ``last`` seconds since 1970.
        """
        return list(self._document.get("spent", ()))

    def for_lock(self) -> dict[str, Any]:
        """The lock file's entry for paraphrases: how models made them, and the tokens used."""
        made = [
            {**draft, "paraphrases": len(draft["paraphrases"])} for draft in self._document.get("drafts", ())
        ]
        spent = [
            {name: spending[name] for name in spending if name not in ("first", "last")}
            for spending in self.spent
        ]
        return {"made": made, "spent": spent}

    def _write(self) -> None:
        self._files.write("paraphrases.json", {"format": 1, **self._document})


def entries_of(spent: Iterable[Mapping[str, Any]]) -> list[Entry]:
    """What was spent on paraphrases, as entries of the ledger; the lock file does not say when."""
    rest = {"reused": None, "served_model": None, "fingerprint": None, "placed": False, "paraphrases": True}
    entries = []
    for spending in spent:
        known = {name: spending.get(name, 0.0) for name in ("model", "first", "last", *_COUNTS)}
        entries.append(Entry(**rest, **known))  # type: ignore[arg-type]
    return entries
