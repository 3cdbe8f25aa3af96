"""What the commands show of a study's shards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from quaver.core.number_format import moment

if TYPE_CHECKING:
    from quaver.study.session import Study
    from quaver.study.sources.shards import ShardStatus


def shard_lines(shards: Sequence[ShardStatus]) -> Iterator[str]:
    """How many shards are finished, and what there is to say of each of the others."""
    if not shards:
        return
    done = sum(one.state == "finished" for one in shards)
    yield f"{done:,} of {len(shards):,} shards are finished."
    missing = [one.shard for one in shards if one.state == "missing"]
    if missing:
        yield f"Missing: {', '.join(missing)}. Run them with `quaver run --shard {missing[0]}`."
    for one in shards:
        if one.state in ("running", "stopped"):
            seen = f", as of {moment(one.seen)}" if one.seen else ""
            yield (
                f"Shard {one.shard}: {_state(one)}; {one.answered:,} of {one.calls:,} calls answered{seen}."
            )


def _state(one: ShardStatus) -> str:
    if one.state == "running":
        return f"running on {one.host}"
    stopped = {
        None: "killed, or its machine is gone",
        "interrupted": "interrupted",
        "batches": "out in batches",
    }
    why = stopped.get(one.ended, f"stopped at its share of the budget of {one.ended}")
    return f"{why}; run it again"


def shard_line(study: Study) -> str:
    """What a shard is about to ask, and what it may spend."""
    from quaver.study.sources.study_file_source import asking

    source = asking(study.source)
    whole, part = source.spec.budget, source.budget
    caps = [
        f"{value:,} of {getattr(whole, name):,} {name}"
        for name, value in (("calls", part.calls), ("tokens", part.tokens))
        if value is not None
    ]
    if part.money is not None:
        caps.append(f"${part.money:,.2f} of ${whole.money:,.2f}")
    share = f" Its share of the budget: {', '.join(caps)}." if caps else ""
    total = source.experiment.calls
    return f"Shard {source.share}: {source.calls:,} of {total:,} calls, in {source.folder}.{share}"
