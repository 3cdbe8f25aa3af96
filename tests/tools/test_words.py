"""The check of words finds what it should, where it stands, and nothing else."""

from tools.words import Keep, Word, count, findings, read_list

WORDS, _ = read_list()


def found(text, file="page.md"):
    return [(one.line, one.found) for one in findings(file, text, WORDS)]


def test_words_are_found_in_prose_identifiers_and_across_lines():
    assert found("Ten wordings.\nmake_wordings()") == [(1, "wordings"), (2, "wordings")]
    assert found("# what is to\n# be had") == [(1, "to # be had")]
    assert found("At 95 % of") == [(1, "95 %")]


def test_neighbours_of_a_word_are_left_alone():
    assert found("rewordings, recommend, outstanding, unlikely, 95% of, n % 7, n % 7 % 3") == []
    assert (
        found("Unlike the others, it can be told apart. Settings may be set, unless the file says otherwise.")
        == []
    )


def test_an_exception_holds_for_its_line_and_says_that_it_was_used():
    word = Word.of("told", "reported")
    keep, idle = Keep("a.py", "old_told", "a stored column", False), Keep("b.py", "told", "", False)
    left = list(findings("a.py", "old_told\ntold\n", [word], [keep, idle]))
    assert [str(one) for one in left] == ['a.py:2: "told": write reported']
    assert (keep.used, idle.used) == (True, False)
    assert count(left, [word]).splitlines()[1].split() == ["reported", "1", "1"]
