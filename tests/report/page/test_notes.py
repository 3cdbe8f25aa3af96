"""Notes: each kind of warning once, with links both ways."""

from __future__ import annotations

from quaver.core.records import Estimate
from quaver.report.page.notes import Notes, marks
from quaver.report.table_rows import estimates_table
from quaver.report.tables.printed_tables import plain


def test_a_warning_of_many_rows_is_noted_once_and_rows_lead_to_it() -> None:
    few, flat = "only {} of 60 units make the error", "the bootstrap does not vary"
    estimates = [
        Estimate("accuracy", 0.5, cell={"variant": f"v{n}"}, warnings=(few.format(n),)) for n in range(3)
    ]
    estimates.append(Estimate("accuracy", 1.0, cell={"variant": "v3"}, warnings=(flat, few.format(0))))
    notes = Notes()
    first, second = notes.take(estimates, "figure-a", "A")
    assert notes.take(estimates[:1], "figure-b", "B") == [first]
    assert [(one.number, one.times, one.text, one.differing) for one in notes] == [
        (1, 5, few.format(0), True),
        (2, 1, flat, False),
    ]
    assert (first.places, second.places) == ({"figure-a": "A", "figure-b": "B"}, {"figure-a": "A"})
    marks = [row[-1] for row in estimates_table(estimates, notes.mark).rows]
    assert ['href="#note-1"' in mark for mark in marks] == [True] * 4
    assert ['href="#note-2"' in mark for mark in marks] == [False, False, False, True]
    assert [plain(mark).count("few") for mark in marks] == [1] * 4


def test_notes_that_share_a_phrase_are_marked_together() -> None:
    texts = ("only 2 of 9 items make the error", "only 3 of 9 items make the error: a rough interval")
    estimates = [Estimate("accuracy", 0.5, warnings=(text,)) for text in texts]
    shown = marks(Notes().take(estimates, "figure-a", "A"))
    assert [f'href="#note-{number}"' in shown for number in (1, 2)] == [True, True]
    assert plain(shown).count("few items decide") == 1
