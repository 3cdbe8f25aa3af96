"""Who is at work: the name of the account."""

from __future__ import annotations

import getpass


def account_name() -> str:
    """The name of the account that Quaver runs in; empty where the system knows none."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container's user without a name
        return ""
