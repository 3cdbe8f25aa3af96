"""One model of a run: the requests that it can be sent, and how it is asked them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from quaver.collect.run.feed import Feed
from quaver.collect.run.model_answers import taken_in_groups
from quaver.core.conversation import Conversing, converse, in_thread
from quaver.core.meter import Meter, Metered
from quaver.core.model import Answered, Model

Take = Callable[[Sequence[Answered]], object]


class AskedModel:
    """A model that is asked in a run: on the event loop where it answers there, else in a thread of its own.

    Args:
        name: Its name in the study.
        model: It.
        source: Its number in the store.
        feed: The requests that it can be sent, which learns what is stored.

    Attributes:
        meter: Counts replies that become no answer, if there can be any.
    """

    def __init__(self, name: str, model: Model, source: int, feed: Feed) -> None:
        self.name, self.source, self.feed = name, source, feed
        self._model = model
        self.meter: Meter | None = model.meter if isinstance(model, Metered) else None

    async def ask(self, take: Take) -> BaseException | None:
        """Ask until nothing is left or the budget is used up; returns what ended it earlier, if anything."""
        try:
            if isinstance(self._model, Conversing):
                await converse(self._model, self.feed.next, take, lambda: self.feed.has_more)
                return None
            return await in_thread(lambda: self._work(take), f"quaver-{self.name}")
        except BaseException as error:  # raised again in the thread that waits
            return error

    def _work(self, take: Take) -> None:
        left = True
        while left:
            for group in taken_in_groups(self._model, iter(self.feed)):
                if group:
                    take(group)
            left = self.feed.wait()
