"""What a request asks: every parameter that an address or a body may have, declared once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictInt, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from quaver.core.arguments import excerpt, expectation
from quaver.errors import QuaverError

_MOST = 1 << 40

Natural = Annotated[int, Field(ge=0, le=_MOST)]


class Body(BaseModel):
    """The JSON object that a request which changes something may send; a mark has further members."""

    model_config = ConfigDict(extra="allow")

    item: str = ""
    column: Annotated[StrictInt, Field(ge=0, le=_MOST)] | None = None
    who: str | None = None


@dataclass(frozen=True, config=ConfigDict(populate_by_name=True))
class Given:
    """The content of a request.

    Attributes:
        query: The query line.
        evaluator: Whose readings; empty for the study's first.
        sort: The order of the rows.
        blind: Whether the models' labels are hidden.
        study: The study that the path names.
        name: The mark, chart, medium or file of the page that the path names.
        start: The first row, answer, item or cell.
        count: How many of these; each address has its own number where this is left out.
        left: The first column of a window of cells.
        width: How many columns it has.
        step: Of as many rows the first is shown.
        match: Whether cells come with what matches.
        excerpt: Characters of a text.
        item: An item's id.
        find: The item that rows are to stand around.
        column: An answer's column.
        against: The column of a prompt that an answer's prompt is compared with.
        who: Whose marks.
        content: What was sent.
    """

    query: Annotated[str, Field(validation_alias="q")] = ""
    evaluator: Annotated[str, Field(validation_alias="e")] = ""
    sort: str = "item"
    blind: bool = False
    study: str = ""
    name: str = ""
    start: Annotated[Natural, Field(validation_alias="from")] = 0
    count: Natural | None = None
    left: Natural = 0
    width: Natural = 0
    step: Natural = 1
    match: bool = False
    excerpt: Natural | None = None
    item: str = ""
    find: str = ""
    column: Natural = 0
    against: Natural | None = None
    who: str = ""
    content: bytes = b""

    @property
    def view(self) -> tuple[str, str, str]:
        """The view that is asked for."""
        return self.query, self.evaluator, self.sort

    def window(self, usual: int, most: int) -> slice:
        """The places that are asked for."""
        count = usual if self.count is None else min(self.count, most)
        return slice(self.start, self.start + count)

    def characters(self, usual: int) -> int:
        """How much of a text is asked for."""
        return usual if self.excerpt is None else min(self.excerpt, _LONGEST_EXCERPT)

    def body(self) -> Body:
        """The JSON object that was sent; empty if nothing was."""
        try:
            return Body.model_validate_json(self.content or b"{}")
        except ValidationError as error:
            raise refusal(error, "body") from None


_LONGEST_EXCERPT = 5_000
_GIVEN = TypeAdapter(Given)


def given_in(query: Mapping[str, str], path: Mapping[str, str], content: bytes = b"") -> Given:
    """The content of a request; an empty parameter counts as left out."""
    known: dict[str, Any] = {name: value for name, value in query.items() if value}
    known |= {"study": "", "name": "", **path}
    try:
        return _GIVEN.validate_python({**known, "content": content})
    except ValidationError as error:
        raise refusal(error) from None


def refusal(error: ValidationError, where: str = "") -> QuaverError:
    """The first thing that does not fit, as an error of Quaver's."""
    first = error.errors(include_url=False)[0]
    place = ".".join(part for part in (where, *map(str, first["loc"])) if part)
    given = excerpt(first["input"])
    return QuaverError("this does not fit", where=place, expected=expectation([first]), found=given)
