"""Matrix products in the thread that asks for them, while a measure is computed.

NumPy's OpenBLAS splits a product over as many threads as there are cores, and these spin for some 25 ms
after each one. A measure's products are many and take a millisecond each: on a machine with nothing else to
do the other threads burn as much processor time as the work itself and save little; beside another process
every product waits for a time slice, and the measure takes ten times as long.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _pools() -> ThreadpoolController:
    """The BLAS libraries that are loaded when the first product is near: NumPy's."""
    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """Have BLAS use one thread; as many as before afterwards. Also a decorator: ``@one_thread()``."""
    with _pools().limit(limits=1, user_api="blas"):
        yield
