"""The parameters of a request, checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from quaver.errors import QuaverError
from quaver.view.grid_view import Shape
from quaver.view.viewed_study import Asked


class Parameters:
    """What a request asks.

    Args:
        query: What stands behind the question mark.
        path: The parts of the path that have names.
        body: What was sent with it.
    """

    def __init__(self, query: Mapping[str, str], path: Mapping[str, Any], body: bytes = b"") -> None:
        self._query, self._path, self.content = query, path, body

    def path(self, name: str) -> str:
        """A part of the path; empty where there is none."""
        return str(self._path.get(name, ""))

    def text(self, name: str) -> str:
        """A parameter; empty if it is left out."""
        return self._query.get(name, "")

    def flag(self, name: str) -> bool:
        """A parameter that is on or off."""
        return self._query.get(name, "") in ("1", "true", "yes")

    def number(self, name: str, otherwise: int, *, most: int = 1 << 40) -> int:
        """A whole number from 0 on, no more than ``most``.

        Raises:
            QuaverError: It is none.
        """
        text = self._query.get(name, "")
        if not text:
            return otherwise
        if not (text.isascii() and text.isdigit() and len(text) < 16):
            raise QuaverError("this is not a number", where=name, expected="a whole number", found=text)
        return min(int(text), most)

    def asked(self) -> Asked:
        """The view that it asks for."""
        return Asked(
            query=self.text("q").strip(),
            evaluator=self.text("e"),
            shape=Shape(
                sort=self.text("sort") or "item",
                by=self.text("by") or "design",
                matching=self.text("columns") == "matching",
                folded=self.text("fold") == "repeat",
            ),
            models=self.text("model"),
            prompts=self.text("prompt"),
            decodings=self.text("decoding"),
            repeats=self.text("repeat"),
        )

    def body(self) -> dict[str, Any]:
        """The JSON object that was sent; empty if nothing was.

        Raises:
            QuaverError: It is none.
        """
        try:
            found = json.loads(self.content or b"{}")
        except (ValueError, RecursionError) as error:
            raise QuaverError("this is not JSON", where="body", found=str(error)) from None
        if not isinstance(found, dict):
            raise QuaverError("this is not a JSON object", where="body", found=type(found).__name__)
        return found

    def whole_number(self, name: str) -> int:
        """A whole number in the JSON object, from 0 on.

        Raises:
            QuaverError: It is none.
        """
        value = self.body().get(name)
        if type(value) is not int or not 0 <= value < 1 << 40:
            found = json.dumps(value)[:80]
            raise QuaverError("this is not a number", where=name, expected="a whole number", found=found)
        return value
