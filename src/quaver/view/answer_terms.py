"""The fields of a query that are about answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from quaver.view.index_design import LOOPING, STATUSES, TRUNCATED
from quaver.view.query_language import Term
from quaver.view.query_scope import Block, Condition, either, of_cells, of_codes, of_columns
from quaver.view.term_values import COMPARED, TermMaker, is_none, number_in, one_of

ANSWERED = ("valid", *(one for one in STATUSES if one != "tied"))
"""The statuses of answers."""

IS_ANSWER = (
    *("right", "wrong", "flip", "modal", "error", "valid", "unlabelled", "truncated", "looping", "answered"),
    *("missing", "original"),
)
"""What an answer can be."""


class AnswerTerms(TermMaker):
    """Conditions on answers."""

    def label(self, term: Term) -> Condition:
        """Answers with a label, or without one."""
        codes: set[int] = set()
        for value in term.values:
            if is_none(value):
                codes.update(range(len(self.design.codes) + 1, self.size))
            else:
                codes.update(place + 1 for place in self.label_places(value))
        return of_codes(codes, self.size)

    def status(self, term: Term) -> Condition:
        """Answers by why they have no label."""
        codes: set[int] = set()
        for value in term.values:
            wanted = one_of(value, (*ANSWERED, "missing"), "status")
            codes.update(code for code, (_, status) in enumerate(self.design.meanings) if status == wanted)
        found = of_codes(codes, self.size)
        return found._replace(of_missing=0 in codes)

    def confidence(self, term: Term) -> Condition:
        """Answers by how sure the model was."""
        name = f"confidence-{self.scope.evaluator}"
        if is_none(term.values[0]):
            return of_cells(lambda block: block.plane(name, "float32") == 0)
        compared, number = COMPARED[term.op], np.float32(number_in(term))

        def holds(block: Block) -> Any:
            known = block.plane(name, "float32")  # 1 more than it is, since 0 stands for none
            return compared(known - np.float32(1), number) & (known > 0)

        return of_cells(holds)

    def length(self, term: Term) -> Condition:
        """Answers by their characters."""
        compared, number = COMPARED[term.op], number_in(term)
        return of_cells(lambda block: compared(block.plane("length", "uint32"), number))

    def answer(self, term: Term) -> Condition:
        """Answers that contain a text."""
        return either([self.contains("answers", "text", value.text) for value in term.values])

    def thinking(self, term: Term) -> Condition:
        """Answers whose thinking contains a text."""
        return either([self.contains("thinking", "thought", value.text) for value in term.values])

    def evaluators(self, term: Term) -> Condition:
        """Answers that another evaluator reads differently."""
        for value in term.values:
            one_of(value, ("differ",), "evaluators")
        others = self.scope.other_evaluators

        def holds(block: Block) -> Any:
            found = np.zeros(block.codes.shape, bool)
            for at in others:
                other = block.readings(at)
                found |= (other != block.codes) & (other > 0)
            return found

        return of_cells(holds)

    def contains(self, texts: str, plane: str, wanted: str) -> Condition:
        """Answers one of whose texts contains a text."""
        found = np.concatenate([[False], self.found(texts, wanted)])

        def holds(block: Block) -> Any:
            numbers = block.plane(plane, "uint32")
            return found[np.minimum(numbers, len(found) - 1)] & (numbers < len(found))

        return of_cells(holds)

    def state(self, name: str) -> Condition:
        """Answers that are what ``is`` names: one of ``IS_ANSWER``."""
        labels, status = len(self.design.codes), self.design.status_code
        codes: dict[str, Iterable[int]] = {
            "error": [status("error")],
            "valid": [*range(1, labels + 1), status("tied")],
            "unlabelled": range(labels + 1, self.size),
            "answered": range(1, self.size),
            "missing": [0],
        }
        if name in codes:
            return of_codes(codes[name], self.size)._replace(of_missing=name == "missing")
        tests: dict[str, Callable[[Block], Any]] = {
            "right": lambda block: (block.codes == block.gold) & (block.gold > 0),
            "wrong": lambda block: (block.codes != block.gold) & (block.gold > 0) & (block.codes > 0),
            "flip": lambda block: (block.codes != block.modal) & _labelled(block.codes, labels),
            "modal": lambda block: (block.codes == block.modal) & (block.modal > 0),
            "truncated": lambda block: (block.plane("flags", "uint8") & TRUNCATED) > 0,
            "looping": lambda block: (block.plane("flags", "uint8") & LOOPING) > 0,
        }
        if name == "original":
            own = self.design.prompts[:1]
            return of_columns([one.prompt in own for one in self.design.columns], self.scope)
        return of_cells(tests[name])


def _labelled(codes: Any, labels: int) -> Any:
    return (codes > 0) & (codes <= labels)
