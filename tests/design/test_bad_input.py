"""Every wrong study file or file of items is one error that says where, what and what instead."""

import pytest
from tests.studies import ITEMS, STUDY, changed, resolved, written

from quaver.errors import ItemError, QuaverError, SpecError


def refused(folder, study=STUDY, items=ITEMS, name="items.csv"):
    with pytest.raises(QuaverError) as caught:
        resolved(written(folder, study, items, name))
    assert caught.value.where, "an error says where"
    return caught.value


ASKED = "Is this positive or negative?"
STUDIES = [
    (("  gold: truth", "  golden: truth"), "7: items.golden", "'gold'"),
    (("[positive, negative]", "[{code: a, nme: A}, b]"), "2: task.labels[0].nme", "'name'"),
    ("decoding:\n  hot:\n    temprature: 1", "14: decoding.hot.temprature", "'temperature'"),
    ("variants:\n  - use: instructions\n    text: {plain: Is it?}", "14: variants[0].text", "'texts'"),
    (
        "variants:\n  - use: instructions\n    texts: {plain: Is it?}\n    facter: words",
        "15: variants[0].facter",
        "'factor'",
    ),
    ("variants:\n  - instructions", "13: variants[0].texts", "missing"),
    (
        "variants:\n  - use: prompts\n    prompts:\n      digits: {postfixx: Say.}",
        "15: variants[0].prompts.digits",
        "postfix",
    ),
    (
        ("  instruction: Is this positive or negative?\n", "  system: Hello.\n"),
        "8: prompt.instruction",
        "missing",
    ),
    ("variants:\n  - {use: label_order, orders: 3}", "13: variants[0].orders", "'rotations'"),
    (
        ("  instruction: Is this positive or negative?", "  - Is this positive or negative?"),
        "8: prompt",
        "keys with values",
    ),
    (
        (ASKED, "Is it?\n  answers: {positive: Yes, negative: 'yes '}"),
        "10: prompt.answers.negative",
        "'Yes' and 'yes '",
    ),
    ((ASKED, "Is it?\n  answers: {positive: ' '}"), "10: prompt.answers", "empty"),
    ("decoding: {greedy: {temperature: 0, top_p: 0.5}}", "12: decoding.greedy.top_p", "top_p"),
    ("decoding: {greedy: {stop: [eg]}}", "12: decoding.greedy.stop[0]", "prompt.answers"),
    ("decoding: {greedy: {repeats: 0}}", "12: decoding.greedy.repeats", "found: 0"),
    ("decoding: {greedy: {temperature: .nan}}", "12: decoding.greedy.temperature", "found: nan"),
    ("decoding: {greedy: {temperature: -1}}", "12: decoding.greedy.temperature", "expected: 0 or more"),
    ("decoding: {}", "12: decoding", "no decoding"),
    ("budget: {calls: 0}", "12: budget.calls", "expected: 1 or more"),
    (("Is this positive", "Is {{ lables }} positive"), "9: prompt.instruction", "'labels'"),
    (("Is this positive", "Is {{ item.txt }} positive"), "9: prompt.instruction", "'text'"),
    (("{{ text }}", "{{ item['txt'] }}"), "6: items.text", "'text'"),
    (("{{ text }}", "{{ text | uper }}"), "6: items.text", "uper"),
    ((ASKED, "Is it?\n  layout: '{{ instruction }}'"), "10: prompt.layout", "{{ text }}"),
    (("  gold: truth", "  groups: [id, id]"), "7: items.groups[1]", "twice"),
    (("gold: truth", "gold: {column: truth, map: {p: positiv}}"), "7: items.gold.map.p", "'positive'"),
    (
        (
            "gold: truth",
            "groups: [truth]\nvariants: [{use: instructions, factor: truth, texts: {a: Is it?}}]",
        ),
        "8: variants[0]",
        "factor:",
    ),
    (
        "variants:\n  - {use: instructions, texts: {a: Is it?}}\n"
        "  - {use: prompts, factor: paraphrase, prompts: {b: {postfix: Say.}}}",
        "14: variants[1]",
        "factor:",
    ),
    (
        "variants: [{use: instructions, texts: {a: A}}, {use: paraphrases, factor: b, engine: surface}]",
        "12: variants[1]",
        "one family",
    ),
    ("variants: [{use: paraphrases, engine: surface, kk: 3}]", "12: variants[0]: kk", "'k'"),
    ("variants: [{use: paraphrases, engine: surface, k: 0}]", "12: variants[0]: k", "expected: 1 or more"),
    ("variants: [{use: paraphrases, engine: surface, kinds: [articles], k: 30}]", "12: variants[0]: k", "30"),
    ("variants: [{use: paraphrases, engine: file, path: none.csv}]", "none.csv", "relative"),
    (
        "variants: [{use: paraphrases, engine: llm, model: fake, temperatures: [0], k: 2}]",
        "12: variants[0]: temperatures",
        "k: 2",
    ),
    (
        "variants: [{use: paraphrases, engine: llm, model: fake, request: Reword!}]",
        "12: variants[0]: request",
        "{{ instruction }}",
    ),
    (
        "variants:\n  - {use: instructions, texts: {original: Is it?}}",
        "12: variants: factor paraphrase",
        "two levels",
    ),
    ("variants:\n  - {use: prompts, prompts: {}}", "12: variants: factor version", "no level"),
    (
        "variants:\n"
        "  - {use: instructions, factor: a, texts: {'1': One?, '1,b=2': Two?}}\n"
        "  - {use: prompts, factor: b, prompts: {'3': {postfix: 3}, '2,b=3': {postfix: 4}}}",
        "12: variants",
        "commas",
    ),
    (
        "variants:\n  - {use: prompts, prompts: {a: {postfix: Say., answers: {positiv: P}}}}",
        "13: variants[0]: prompts: a: answers",
        "'positive'",
    ),
    (("items.csv\n  id: id", "anes96\n  options: {yaer: 1996}"), "5: items.options.yaer", "remove it"),
    ((ASKED, "Is it?\n  explains: 7"), "10: prompt.explains", "found: 7"),
]
"""Parts of a study file that are wrong, beside the mistakes that people make (`tests/test_mistakes.py`)."""


@pytest.mark.parametrize(("change", "where", "said"), STUDIES, ids=[one[1] for one in STUDIES])
def test_a_wrong_study_is_one_error_that_says_where(tmp_path, change, where, said):
    error = refused(tmp_path, changed(change))
    assert (f"study.yaml:{where}" if where[0].isdigit() else where) in str(error.where)
    assert said in str(error)
    assert "pydantic" not in str(error)


FILES = {
    "no items": ("items.csv", "id,text,truth\n", "study.yaml:4: items.source", "no items"),
    "empty file": ("items.csv", "", "study.yaml:4: items.source", "no items"),
    "duplicate id": ("items.csv", ITEMS + "a,x,\n", "items.csv:5: id", "'a'"),
    "no id": ("items.csv", ITEMS + ",x,\n", "items.csv:5: id", "no id"),
    "long row": ("items.csv", ITEMS + "d,x,,y\n", "items.csv:5", "4 cells"),
    "short row": ("items.csv", ITEMS + "d\n", "items.csv:5", "1 cell"),
    "row after a text of two lines": ("items.csv", ITEMS + 'd,"x\ny",\ne\n', "items.csv:7", "1 cell"),
    "open quotation mark": ("items.csv", ITEMS + 'd,"x,\n', "items.csv:5", "quotation"),
    "gold": ("items.csv", ITEMS + "d,x,Positiv\n", "items.csv:5: truth", "Positiv"),
    "not UTF-8": ("items.csv", ITEMS.encode() + b"d,caf\xe9,\n", "items.csv:5", "utf-8"),
    "two columns": ("items.csv", "id,text,id\n", "items.csv:1", "'id'"),
}


@pytest.mark.parametrize(("name", "content", "where", "said"), FILES.values(), ids=FILES)
def test_a_wrong_file_of_items_is_one_error_that_names_the_line(tmp_path, name, content, where, said):
    error = refused(tmp_path, STUDY, content, name)
    assert isinstance(error, ItemError)
    assert error.where == where
    assert said in str(error)


def test_gold_outside_the_label_set_suggests_the_nearest(tmp_path):
    error = refused(tmp_path, items=ITEMS + "d,x,Positiv\n")
    assert error.found == "Positiv"
    assert "positive, negative" in str(error.expected)
    assert "'positive'" in str(error.fix)


def test_gold_is_the_label_that_it_differs_from_in_capitals_and_white_space_alone(tmp_path):
    items = resolved(written(tmp_path, items=ITEMS + "d,x, POSITIVE\n")).items
    assert items[3].gold == "positive"


def test_items_in_another_encoding_say_how_to_name_it(tmp_path):
    items = (ITEMS + "d,café,\n").encode("cp1252")
    error = refused(tmp_path, items=items)
    assert "0xe9" in str(error)
    assert "encoding: cp1252" in str(error)
    named = changed(("  id: id", "  id: id\n  encoding: cp1252"))
    assert resolved(written(tmp_path, named, items)).items[3].fields["text"] == "café"


def test_utf_16_without_its_mark_is_an_error(tmp_path):
    error = refused(tmp_path, changed(("  id: id", "  encoding: utf-16")), ITEMS)
    assert str(error).startswith("items.csv")


def test_a_study_file_that_is_not_utf_8_names_the_line(tmp_path):
    path = written(tmp_path)
    path.write_bytes(STUDY.replace("this positive", "caf\xe9 positive").encode("latin-1"))
    with pytest.raises(SpecError, match="UTF-8") as caught:
        resolved(path)
    assert (caught.value.where, caught.value.found) == ("study.yaml:9", "byte 0xe9")


def test_no_study_file(tmp_path):
    with pytest.raises(SpecError, match="no such study"):
        resolved(tmp_path / "nothing.yaml")
    with pytest.raises(SpecError, match="folder"):
        resolved(tmp_path)


@pytest.mark.parametrize("text", ["", "   ", '"\n\n"'])
def test_an_item_without_text_is_an_error_that_names_its_line(tmp_path, text):
    error = refused_by_plan(written(tmp_path, items=ITEMS + f"d,{text},\n"))
    assert isinstance(error, ItemError)
    assert "item d" in error.problem
    assert str(error.where).startswith("items.csv:")


def refused_by_plan(path):
    from quaver.design.calls.call_plan import Plan

    with pytest.raises(QuaverError) as caught:
        list(Plan(resolved(path), {"fake": "f"}).requests("fake"))
    return caught.value


def test_several_mistakes_are_counted(tmp_path):
    error = refused(tmp_path, STUDY + "repeats: 0\nseed: x\nbudgett: 1\n")
    assert "(and 2 more)" in str(error)


def test_a_study_given_as_a_mapping_names_the_field():
    with pytest.raises(SpecError) as caught:
        resolved({"task": {"labels": ["a", "b"], "levle": "nominal"}})
    assert (caught.value.where, caught.value.found) == ("task.levle", "levle")
    assert "'level'" in str(caught.value.fix)
