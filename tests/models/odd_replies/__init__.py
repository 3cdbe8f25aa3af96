"""Replies that no server should give, and that some do: what a client of one must outlive.

Each is what stands on the wire, and says what it may cost at most: nothing (the answer is there, and only
what goes with it is odd), the one call, or the work with this server. Whatever comes, it ends in an answer,
in an error response of that one call, or in one error that says what to do.

``player.playing`` serves them.
"""

from tests.models.odd_replies.bodies import bodies
from tests.models.odd_replies.fields import failures, fields
from tests.models.odd_replies.heads import heads, lines
from tests.models.odd_replies.odd_reply import ANSWER, Cost, OddReply

__all__ = ["ANSWER", "Cost", "OddReply", "odd_replies"]


def odd_replies():
    """All of them, each under a name of its own that stays the same from one release to the next."""
    return [*fields(), *bodies(), *failures(), *heads(), *lines()]
