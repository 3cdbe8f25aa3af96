"""Seeds: every sample, shuffle and bootstrap derives its own from one root seed, by name."""

from __future__ import annotations

from hashlib import blake2b


def derive(root: int, *names: str) -> int:
    """The seed for a named purpose.

    Returns:
        A number below 2**63, the same on every machine and Python version.

    >>> derive(1, "sample") == derive(1, "sample") != derive(1, "bootstrap")
    True
    """
    text = "\x1f".join([str(root), *names])
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big") >> 1
