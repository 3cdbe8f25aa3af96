"""Every wrong study file or file of items is one error that says where, what and what instead."""

import pytest
from tests.studies import ITEMS, STUDY, resolved, written

from quaver.design.paraphrase.paraphraser import NotMade
from quaver.errors import ItemError, QuaverError, SpecError, UnknownName


def changed(old, new, text=STUDY):
    assert text.count(old) == 1
    return text.replace(old, new)


def refused(folder, study=STUDY, items=ITEMS, name="items.csv"):
    with pytest.raises(QuaverError) as caught:
        resolved(written(folder, study, items, name))
    assert caught.value.where, "an error says where"
    return caught.value


STUDIES = {
    "unknown key": (STUDY + "repeates: 3\n", SpecError, "study.yaml:12: repeates", "'repeats'"),
    "unknown key inside": (
        changed("  gold: truth", "  golden: truth"),
        SpecError,
        "study.yaml:7: items.golden",
        "'gold'",
    ),
    "unknown key of a label": (
        changed("[positive, negative]", "[{code: a, nme: A}, b]"),
        SpecError,
        "study.yaml:2: task.labels[0].nme",
        "'name'",
    ),
    "unknown key of a decoding": (
        STUDY + "decoding:\n  hot:\n    temprature: 1\n",
        SpecError,
        "study.yaml:14: decoding.hot.temprature",
        "'temperature'",
    ),
    "settings of no decoding": (
        STUDY + "decoding:\n  temperature: 0.7\n",
        SpecError,
        "study.yaml:13: decoding.temperature",
        "greedy: {temperature",
    ),
    "unknown option of a plug-in": (
        STUDY + "variants:\n  - use: instructions\n    text: {plain: Is it?}\n",
        SpecError,
        "study.yaml:14: variants[0].text",
        "'texts'",
    ),
    "misspelt key beside a plug-in's options": (
        STUDY + "variants:\n  - use: instructions\n    texts: {plain: Is it?}\n    facter: words\n",
        SpecError,
        "study.yaml:15: variants[0].facter",
        "'factor'",
    ),
    "missing option of a plug-in": (
        STUDY + "variants:\n  - instructions\n",
        SpecError,
        "study.yaml:13: variants[0].texts",
        "missing",
    ),
    "unknown option inside a plug-in's": (
        STUDY + "variants:\n  - use: formats\n    formats:\n      digits: {postfixx: Say.}\n",
        SpecError,
        "study.yaml:15: variants[0].formats.digits",
        "postfix",
    ),
    "unknown plug-in": (
        STUDY + "variants:\n  - use: instruction\n    texts: {}\n",
        UnknownName,
        "study.yaml:13: variants[0]",
        "'instructions'",
    ),
    "missing part": (
        changed("prompt:\n  instruction: Is this positive or negative?\n", ""),
        SpecError,
        "study.yaml: prompt",
        "missing",
    ),
    "missing key": (
        changed("  instruction: Is this positive or negative?\n", "  system: Hello.\n"),
        SpecError,
        "study.yaml:8: prompt.instruction",
        "missing",
    ),
    "duplicate label codes": (
        changed("[positive, negative]", "\n    - positive\n    - negative\n    - positive"),
        SpecError,
        "study.yaml:5: task.labels[2]",
        "twice",
    ),
    "an option of none of the kinds that it may have": (
        STUDY + "variants:\n  - {use: label_order, orders: 3}\n",
        SpecError,
        "study.yaml:13: variants[0].orders",
        "'rotations'",
    ),
    "a list where keys belong": (
        changed("  instruction: Is this positive or negative?", "  - Is this positive or negative?"),
        SpecError,
        "study.yaml:8: prompt",
        "expected: keys with values",
    ),
    "one label": (
        changed("[positive, negative]", "[positive]"),
        SpecError,
        "study.yaml:2: task.labels",
        "expected: 2 or more",
    ),
    "labels answered alike": (
        changed("Is this positive or negative?", "Is it?\n  answers: {positive: Yes, negative: 'yes '}"),
        SpecError,
        "study.yaml:10: prompt.answers.negative",
        "'Yes' and 'yes ' cannot be told apart in an answer",
    ),
    "a label answered with nothing": (
        changed("Is this positive or negative?", "Is it?\n  answers: {positive: ' '}"),
        SpecError,
        "study.yaml:10: prompt.answers",
        "empty",
    ),
    "answer for a label that is not there": (
        changed("Is this positive or negative?", "Is it?\n  answers:\n    positve: 'yes'"),
        SpecError,
        "study.yaml:11: prompt.answers.positve",
        "'positive'",
    ),
    "zero repeats": (STUDY + "repeats: 0\n", SpecError, "study.yaml:12: repeats", "expected: 1 or more"),
    "a greedy decoding that cuts the distribution": (
        STUDY + "decoding: {greedy: {temperature: 0, top_p: 0.5}}\n",
        SpecError,
        "study.yaml:12: decoding.greedy.top_p",
        "top_p",
    ),
    "a stop inside an answer": (
        STUDY + "decoding: {greedy: {stop: [eg]}}\n",
        SpecError,
        "study.yaml:12: decoding.greedy.stop[0]",
        "prompt.answers",
    ),
    "zero repeats of a decoding": (
        STUDY + "decoding: {greedy: {repeats: 0}}\n",
        SpecError,
        "study.yaml:12: decoding.greedy.repeats",
        "found: 0",
    ),
    "temperature that is no number": (
        STUDY + "decoding: {greedy: {temperature: .nan}}\n",
        SpecError,
        "study.yaml:12: decoding.greedy.temperature",
        "found: nan",
    ),
    "negative temperature": (
        STUDY + "decoding: {greedy: {temperature: -1}}\n",
        SpecError,
        "study.yaml:12: decoding.greedy.temperature",
        "expected: 0 or more",
    ),
    "no decoding": (STUDY + "decoding: {}\n", SpecError, "study.yaml:12: decoding", "no decoding"),
    "budget of nothing": (
        STUDY + "budget: {calls: 0}\n",
        SpecError,
        "study.yaml:12: budget.calls",
        "expected: 1 or more",
    ),
    "two models of one name": (
        STUDY + "  - {name: fake, use: llamacpp}\n",
        SpecError,
        "study.yaml:10: models",
        "twice",
    ),
    "template field that no column has": (
        changed("{{ text }}", "{{ txet }}"),
        UnknownName,
        "study.yaml:6: items.text",
        "'text'",
    ),
    "template field that nothing has": (
        changed("Is this positive", "Is {{ lables }} positive"),
        UnknownName,
        "study.yaml:9: prompt.instruction",
        "'labels'",
    ),
    "column that no item has": (
        changed("Is this positive", "Is {{ item.txt }} positive"),
        UnknownName,
        "study.yaml:9: prompt.instruction",
        "'text'",
    ),
    "column in brackets that no item has": (
        changed("{{ text }}", "{{ item['txt'] }}"),
        UnknownName,
        "study.yaml:6: items.text",
        "'text'",
    ),
    "template without a column": (
        changed("{{ text }}", "text"),
        SpecError,
        "study.yaml:6: items.text",
        "{{ text }}",
    ),
    "template that is none": (
        changed("{{ text }}", "{{ text }"),
        SpecError,
        "study.yaml:6: items.text",
        "{% raw %}",
    ),
    "filter that is none": (
        changed("{{ text }}", "{{ text | uper }}"),
        SpecError,
        "study.yaml:6: items.text",
        "uper",
    ),
    "template without quotation marks": (
        changed('"{{ text }}"', "{{ text }}"),
        SpecError,
        "study.yaml:6: items.text",
        "quot",
    ),
    "layout without the item's text": (
        changed("Is this positive or negative?", "Is it?\n  layout: '{{ instruction }}'"),
        SpecError,
        "study.yaml:10: prompt.layout",
        "{{ text }}",
    ),
    "gold column": (
        changed("gold: truth", "gold: thruth"),
        UnknownName,
        "study.yaml:7: items.gold",
        "'truth'",
    ),
    "id column": (changed("id: id", "id: ids"), UnknownName, "study.yaml:5: items.id", "'id'"),
    "group column": (
        changed("  gold: truth", "  groups: [id, autor]"),
        UnknownName,
        "study.yaml:7: items.groups[1]",
        "id, text, truth",
    ),
    "column of the group that is resampled": (
        changed("  gold: truth", "  group: autor"),
        UnknownName,
        "study.yaml:7: items.group",
        "id, text, truth",
    ),
    "group twice": (
        changed("  gold: truth", "  groups: [id, id]"),
        SpecError,
        "study.yaml:7: items.groups[1]",
        "twice",
    ),
    "gold map to a label that is not there": (
        changed("gold: truth", "\n    gold: {column: truth, map: {p: positiv}}").replace(
            "  \n    gold", "  gold"
        ),
        UnknownName,
        "study.yaml:7: items.gold.map.p",
        "'positive'",
    ),
    "factor that is a group": (
        changed("  gold: truth", "  groups: [truth]")
        + "variants:\n  - {use: instructions, factor: truth, texts: {a: Is it?}}\n",
        SpecError,
        "study.yaml:13: variants[0]",
        "factor:",
    ),
    "factor twice": (
        STUDY
        + "variants:\n  - {use: instructions, texts: {a: Is it?}}\n"
        + "  - {use: formats, factor: paraphrase, formats: {b: {postfix: Say.}}}\n",
        SpecError,
        "study.yaml:14: variants[1]",
        "factor:",
    ),
    "two families that reword": (
        STUDY
        + "variants:\n  - {use: instructions, texts: {a: Is it?}}\n"
        + "  - {use: paraphrases, factor: other, engine: surface}\n",
        SpecError,
        "study.yaml:14: variants[1]",
        "one family",
    ),
    "unknown engine": (
        STUDY + "variants: [{use: paraphrases, engine: surfaces}]\n",
        UnknownName,
        "study.yaml:12: variants[0]",
        "'surface'",
    ),
    "unknown option of an engine": (
        STUDY + "variants: [{use: paraphrases, engine: surface, kk: 3}]\n",
        SpecError,
        "study.yaml:12: variants[0]: kk",
        "'k'",
    ),
    "k out of range": (
        STUDY + "variants: [{use: paraphrases, engine: surface, k: 0}]\n",
        SpecError,
        "study.yaml:12: variants[0]: k",
        "expected: 1 or more",
    ),
    "more paraphrases than there are": (
        STUDY + "variants: [{use: paraphrases, engine: surface, kinds: [articles], k: 30}]\n",
        SpecError,
        "study.yaml:12: variants[0]: k",
        "30",
    ),
    "a file of paraphrases that is not there": (
        STUDY + "variants: [{use: paraphrases, engine: file, path: none.csv}]\n",
        ItemError,
        "none.csv",
        "relative",
    ),
    "several paraphrases at temperature 0": (
        STUDY + "variants: [{use: paraphrases, engine: llm, model: fake, temperatures: [0], k: 2}]\n",
        SpecError,
        "study.yaml:12: variants[0]: temperatures",
        "k: 2",
    ),
    "a request without the instruction": (
        STUDY + "variants: [{use: paraphrases, engine: llm, model: fake, request: Reword!}]\n",
        SpecError,
        "study.yaml:12: variants[0]: request",
        "{{ instruction }}",
    ),
    "paraphrases that are not made yet": (
        STUDY + "variants: [{use: paraphrases, engine: llm, model: fake}]\n",
        NotMade,
        "study.yaml:12: variants[0]",
        "`quaver variants STUDY`",
    ),
    "level twice": (
        STUDY + "variants:\n  - {use: instructions, texts: {original: Is it?}}\n",
        SpecError,
        "study.yaml:12: variants: factor paraphrase",
        "two levels",
    ),
    "factor without a level": (
        STUDY + "variants:\n  - {use: formats, formats: {}}\n",
        SpecError,
        "study.yaml:12: variants: factor format",
        "no level",
    ),
    "levels whose combinations have one name": (
        STUDY
        + "variants:\n"
        + "  - {use: instructions, factor: a, texts: {'1': One?, '1,b=2': Two?}}\n"
        + "  - {use: formats, factor: b, formats: {'3': {postfix: 3}, '2,b=3': {postfix: 4}}}\n",
        SpecError,
        "study.yaml:12: variants",
        "commas",
    ),
    "format for a label that is not there": (
        STUDY + "variants:\n  - {use: formats, formats: {a: {postfix: Say., answers: {positiv: P}}}}\n",
        UnknownName,
        "study.yaml:13: variants[0]: format a: answers",
        "'positive'",
    ),
    "source of items": (changed("items.csv", "anes69"), UnknownName, "study.yaml:4: items.source", ".csv"),
    "file of items": (changed("items.csv", "item.csv"), ItemError, "item.csv", "relative"),
    "encoding": (changed("id: id", "encoding: utf8-ish"), ItemError, "items.encoding", "utf8-ish"),
    "option of items": (
        changed("items.csv\n  id: id", "anes96\n  options: {yaer: 1996}"),
        SpecError,
        "study.yaml:5: items.options.yaer",
        "remove it",
    ),
    "not a mapping": ("- task\n", SpecError, "study.yaml", "quaver init"),
    "nothing": ("", SpecError, "study.yaml", "quaver init"),
    "key twice": (STUDY + "models: []\n", SpecError, "study.yaml:12", "remove one"),
    "tab": (changed("  labels", "\tlabels"), SpecError, "study.yaml:2", "spaces"),
    "colon": (
        changed("Is this positive or negative?", "Say: positive or negative: which?"),
        SpecError,
        "study.yaml:9",
        "colon",
    ),
    "number for a boolean": (
        changed("Is this positive or negative?", "Is it?\n  explains: 7"),
        SpecError,
        "study.yaml:10: prompt.explains",
        "found: 7",
    ),
    "boolean for a code": (
        changed("[positive, negative]", "[true, false]"),
        SpecError,
        "study.yaml:2: task.labels[0]",
        "quot",
    ),
}


@pytest.mark.parametrize(("study", "kind", "where", "said"), STUDIES.values(), ids=STUDIES)
def test_a_wrong_study_is_one_error_that_says_where(tmp_path, study, kind, where, said):
    error = refused(tmp_path, study)
    assert type(error) is kind
    assert where in str(error.where)
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
    named = changed("  id: id", "  id: id\n  encoding: cp1252")
    assert resolved(written(tmp_path, named, items)).items[3].fields["text"] == "café"


def test_utf_16_without_its_mark_is_an_error(tmp_path):
    error = refused(tmp_path, changed("  id: id", "  encoding: utf-16"), ITEMS)
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
