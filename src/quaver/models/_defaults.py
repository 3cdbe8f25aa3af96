"""What most models do alike."""

from __future__ import annotations

from collections.abc import Sequence

from quaver.core.calls import Message, Response
from quaver.core.response_validation import error_response


class Defaults:
    """A model that needs no preparation, counts no tokens and holds nothing open."""

    def prepare(self, repeats: int) -> None:
        """Nothing to prepare."""

    def count_tokens(self, prompts: Sequence[Sequence[Message]]) -> list[int] | None:
        """None: unknown before the model is asked."""
        return None

    def close(self) -> None:
        """Nothing to release."""


def sendable(text: str) -> str:
    """The text as UTF-8 can hold it: a lone surrogate becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def plain_text(messages: Sequence[Message]) -> str | None:
    """The text of a prompt that goes without a chat template; None where it goes through one."""
    return sendable(messages[0].content) if messages[0].role == "plain" else None


def too_long(tokens: int, room: int) -> Response:
    """The response to a prompt that is longer than the model's context."""
    reason = f"context overflow: the prompt has {tokens} tokens, the context {room}"
    return error_response(reason, prompt_tokens=tokens)


def before_stop(text: str, stops: Sequence[str]) -> str | None:
    """The text before the first of some stop texts; None where none of them occurs.

    >>> before_stop("yes. No", ["N", "."]), before_stop("yes", ["."])
    ('yes', None)
    """
    places = [index for stop in stops if (index := text.find(stop)) >= 0]
    return text[: min(places)] if places else None


def turns(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Messages as chat templates and servers take them."""
    return [{"role": role, "content": sendable(content)} for role, content in messages]


def grammar(choices: Sequence[str]) -> str:
    r"""A grammar in llama.cpp's language that allows nothing but the choices.

    >>> grammar(["yes", 'say "no"'])
    'root ::= "yes" | "say \\U00000022no\\U00000022"'
    """
    return "root ::= " + " | ".join(map(_literal, choices))


def _literal(choice: str) -> str:
    return '"' + "".join(f"\\U{ord(c):08X}" if c in '"\\' or not c.isprintable() else c for c in choice) + '"'
