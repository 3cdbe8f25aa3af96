"""The current key of every call that has a key under an older recipe (``call_keys``)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from quaver.design.calls.call_plan import CHUNK, Plan, Stored


def rekeyed(old: Plan, new: Plan, model: str, stored: Stored) -> Iterator[tuple[bytes, bytes]]:
    """Each call's key under the old recipe, and under the new one.

    Args:
        old: The plan under the old recipe.
        new: The same plan under the new one.
        model: The model's name in the study.
        stored: Gives the responses stored under old keys: follow-ups quote them.
    """
    pairs = zip(old.requests(model), new.requests(model), strict=True)
    while chunk := list(islice(pairs, CHUNK)):
        done = stored([call.key for before, _ in chunk for call in before.calls])
        for before, after in chunk:
            calls = list(zip(before.calls, after.calls, strict=True))
            yield from ((one.key, other.key) for one, other in calls)
            known = [(one, other) for one, other in calls if one.key in done]
            if not known:
                continue
            answers = [done[one.key] for one, _ in known]
            followed = old.following(before.part(tuple(one for one, _ in known)), answers)
            following = new.following(after.part(tuple(other for _, other in known)), answers)
            for one, other in zip(followed, following, strict=True):
                yield one.calls[0].key, other.calls[0].key
