"""``quaver.check`` and ``quaver check``: planted annotators get the verdict that they deserve."""

import csv
import shlex
import sys
from pathlib import Path

import polars as pl
import pytest
from tests.spreadsheets import write_xlsx
from tests.studies import checked

import quaver
from quaver.cli.main import main
from quaver.errors import ItemError, MissingKey, QuaverError, SpecError, StoreError, Unavailable, UnknownName
from quaver.study.checking.check_design import left_to_ask, prepared_check, spends

LABELS = ("favor", "against", "none")
_WORDS = {"favor": "love", "against": "hate", "none": "see"}
TEXTS = [(f"I {_WORDS[LABELS[n % 3]]} tax number {n}.", LABELS[n % 3]) for n in range(30)]

ANNOTATORS = """

def good(text, prompt):
    return "favor" if "love" in text else "against" if "hate" in text else "none"

def inside(text):
    return good(text, None)
"""


def good(text, prompt):
    return next((label for label, word in _WORDS.items() if word in text), "none")


@pytest.fixture
def texts(tmp_path, monkeypatch):
    """A spreadsheet's CSV with texts and gold labels, in the current folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "texts.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("id", "tweet", "stance"), *((n, *row) for n, row in enumerate(TEXTS))])
    return path


def said(monkeypatch, *arguments):
    """Run a command as at a prompt that is no terminal."""
    monkeypatch.setattr(sys, "argv", ["quaver", *arguments])
    monkeypatch.setattr("sys.stdin.isatty", lambda: False, raising=False)
    main()


def prepared(data, **said_of_it):
    """A check that is not run, with the defaults of everything that is not said."""
    return prepared_check(data, **{"model": good, "prompts": 4, **said_of_it})


def test_what_to_type_next_can_be_typed(texts, monkeypatch, capsys):
    """A function is named again; one that holds its own instruction is not asked in other words as it is."""
    (texts.parent / "planted_annotators.py").write_text(ANNOTATORS, encoding="utf-8")

    def typed(*words):
        with pytest.raises(SystemExit) as ended:
            said(monkeypatch, *words)
        assert ended.value.code in (0, None)
        return capsys.readouterr().out

    try:
        check = ("check", "texts.csv", "--gold", "stance", "--prompts", "4", "--function")
        shown = typed(*check, "planted_annotators:inside", "--to", "inside")
        (step,) = (line for line in shown.splitlines() if line.startswith("Next: "))
        assert "label(text, prompt)" in step
        shown = typed(*check, "planted_annotators:good")
        (step,) = (line for line in shown.splitlines() if line.startswith("Next: quaver "))
        assert "texts-labelled.csv" in typed(*shlex.split(step)[2:])
    finally:
        sys.modules.pop("planted_annotators")


def test_labels_that_follow_their_order_are_asked_in_several_orders(texts):
    """By what made the prompts: a check has a name of its own for the order of the labels."""

    def last(text, prompt):
        return good(text, prompt) if int(text[-2]) % 2 else max(LABELS, key=prompt.rfind)

    found = checked(texts, gold="stance", model=last, prompts=4).verdict
    (one,) = found.recommendations
    assert (found.kind, one.reason, found.step) == ("do not use", "moved by order", "vote over orders")


@pytest.mark.parametrize("instruction", [None, "Is the author for or against?"])
def test_prompts_that_only_open_otherwise_are_no_other_words(texts, instruction):
    found = checked(texts, gold="stance", model=good, prompts=4, instruction=instruction)
    assert ("none of them rewords the instruction" in found.verdict.verdict) == (instruction is not None)


def test_a_text_on_which_the_function_raises_is_in_the_verdict(texts):
    def strict(text, prompt):
        if text.endswith(" 7."):
            raise ValueError("cannot read this")
        return good(text, prompt)

    (found,) = checked(texts, gold="stance", model=strict, prompts=4).verdict.recommendations
    (failed,) = (one for one in found.unvouched if one.measure == "failed_calls")
    assert (failed.details["items"], failed.n) == (1, 30)


def test_a_function_with_a_prompt_of_its_own_is_asked_again_only(texts):
    def own(text):
        return good(text, "")

    found = checked(texts, gold="stance", model=own)
    assert found.study.experiment.calls == 30 * 5
    assert found.verdict.kind in ("use", "use one prompt only")
    other = checked(texts, gold="stance", model=lambda text: "favor", to="other")
    identities = {one.study.source.models.popitem()[1].identity() for one in (found, other)}
    assert len(identities) == 2, "two functions are two models"


# ------------------------------------------------------------------ what is recognised


@pytest.mark.long
def test_a_list_of_texts_and_a_frame(texts):
    found = checked([text for text, _ in TEXTS], labels=LABELS, model=good, prompts=2)
    assert found.file == Path("check/study.yaml")
    assert len(quaver.Study.open("check", functions={"good": good}).experiment.items) == 30
    frame = pl.DataFrame(TEXTS, schema=["my text", "gold"], orient="row")
    found = checked(frame, model=good, prompts=2, to="of-frame")
    assert found.study.spec.items.text == {"text": "{{ item['my text'] }}"}


def test_a_spreadsheet_is_checked_where_it_lies(tmp_path):
    path = write_xlsx(tmp_path / "texts.xlsx", [["My tweet", "Gold"], *TEXTS])
    found = checked(path, model=good, prompts=2)
    assert found.file == tmp_path / "texts-check" / "study.yaml"
    assert found.study.spec.items.source == "../texts.xlsx"
    assert found.verdict.kind == "use"


@pytest.mark.long
def test_a_small_check_on_the_bundled_model(texts, monkeypatch, capsys):
    command = "check texts.csv --gold stance --n 10 --prompts 2 --to found"
    with pytest.raises(SystemExit) as ended:
        said(monkeypatch, *command.split())
    assert ended.value.code in (0, None)
    shown = capsys.readouterr().out
    assert "10 of 30" in shown
    assert "30 texts × 2 prompts" in shown
    assert "Next: " in shown
    assert Path("found/report.html").is_file()
    assert "constraint: labels" in Path("found/study.yaml").read_text(encoding="utf-8")


def test_groups_are_proposed_and_named_columns_stand_in_the_study_file(tweets):
    taken = {(one.role, one.column) for one in prepared(tweets).taken}
    assert {
        ("id", "tweet_id"),
        ("gold label", "hand_label"),
        ("compare?", "party"),
        ("group?", "author"),
    } <= taken
    found = prepared(tweets, id="tweet_id", group="author", compare=["party"], to="named")
    items = found.study.spec.items
    assert (items.id, items.group, set(items.groups)) == ("tweet_id", "author", {"author", "party"})
    assert found.study.experiment.items[0].id.startswith("t")
    assert not {"compare?", "group?"} & {one.role for one in found.taken}
    for wrong in ({"id": "party"}, {"group": "nobody"}, {"compare": ["party", "party"]}):
        with pytest.raises(QuaverError):
            prepared(tweets, **wrong)


def test_what_most_coders_say_is_the_true_label(tmp_path):
    rows = [
        {"text": text, "anna": gold, "ben": gold.upper(), "cleo": "none" if n % 5 else gold}
        for n, (text, gold) in enumerate(TEXTS)
    ]
    found = prepared(rows, coders=["anna", "ben", "cleo"], labels=LABELS, to=tmp_path / "a")
    assert [item.gold for item in found.study.experiment.items] == [gold for _, gold in TEXTS]


def test_other_spellings_of_a_label_are_that_label(texts):
    texts.write_text(texts.read_text().replace(",favor", ",Favor "))
    found = prepared(texts, gold="stance", labels=LABELS)
    assert found.table.also == {"Favor": "favor"}
    assert [item.gold for item in found.study.experiment.items] == [label for _, label in TEXTS]


def test_a_sample_is_drawn_by_its_seed_and_says_so(texts):
    drawn = []
    for seed, to in ((0, "a"), (0, "b"), (1, "c")):
        items = prepared(texts, gold="stance", n=9, seed=seed, to=to).study.experiment.items
        drawn.append([item.id for item in items if not item.beside])
        assert sum(item.beside for item in items) == 2 * 9, "every text has a gold label"
    assert len(drawn[0]) == 9
    assert drawn[0] == drawn[1] != drawn[2]
    assert ("texts", "9 of 30") in [
        (one.role, one.column) for one in prepared(texts, gold="stance", n=9).taken
    ]


def test_texts_with_a_true_label_are_asked_about_beside_those_that_are_drawn(texts):
    rows = [
        "id,tweet,stance",
        *(f"{n},{text},{label * (n % 5 == 0)}" for n, (text, label) in enumerate(TEXTS)),
    ]
    bare = texts.with_name("bare.csv")
    bare.write_text("\n".join(row.rsplit(",", 1)[0] for row in rows), encoding="utf-8")
    texts.write_text("\n".join(rows), encoding="utf-8")
    options = {"model": good, "prompts": 2, "n": 10, "labels": LABELS}
    found = checked(texts, **options)
    items = found.study.experiment.items
    drawn, beside = ([item for item in items if item.beside is one] for one in (False, True))
    assert len(drawn) == 10
    assert {item.id for item in items if item.gold} == {str(n) for n in range(0, 30, 5)}
    assert all(item.gold for item in beside)
    assert any(
        len(beside) == int(one.column.split()[-1])
        for one in found.taken
        if one.role == "texts" and "and" in one.column
    )
    (right,) = found.study.measure("accuracy", by=["model"])
    assert right.n == 6
    plain = checked(bare, **options).study
    assert [item.id for item in plain.experiment.items] == [item.id for item in drawn]
    for name in ("inter_pss", "label_shares", "compliance"):
        own, others = found.study.measure(name), plain.measure(name)
        assert [(one.value, one.low, one.n) for one in own] == [(one.value, one.low, one.n) for one in others]
    flips = {one.measure: one for one in found.verdict.evidence}
    assert all(one.n <= 10 for name, one in flips.items() if name.startswith("flips"))


def test_of_many_true_labels_each_label_is_there(tmp_path):
    rows = [
        f"a text that is number {n},{'rare' if n == 33 else 'common' if n % 2 else ''}" for n in range(90)
    ]
    path = tmp_path / "texts.csv"
    path.write_text("\n".join(["tweet,gold", *rows]), encoding="utf-8")
    items = prepared(path, n=5, prompts=1).study.experiment.items
    assert sum(item.beside for item in items) == 10
    assert "rare" in {item.gold for item in items}


def test_no_paraphrase_is_in_doubt(texts):
    for instruction in (None, "Is the author of this tweet in favor of {the tax}?"):
        found = prepared(
            texts, gold="stance", prompts=20, instruction=instruction, to=f"of {instruction}"[:9]
        )
        variants = found.study.experiment.variants
        assert len(variants) == 20
        assert not [one.id for one in variants if one.covariates.get("flagged")]


# --------------------------------------------------------------------------- the file


def test_the_study_file_is_one_to_go_on_from(texts, monkeypatch):
    found = quaver.check(texts, gold="stance", model=good, prompts=4)
    opened = quaver.Study.open("texts-check", functions={"good": good})
    assert opened.run().done == 0, "everything is answered"
    edited = found.file.read_text().replace("fits this text best?", "suits this text?")
    found.file.write_text(edited)
    with pytest.raises(QuaverError, match="edited") as caught:
        quaver.check(texts, gold="stance", model=good, prompts=4)
    assert str(found.file.parent) in str(caught.value.fix)
    assert found.file.read_text() == edited
    assert quaver.Study.open("texts-check", functions={"good": good}).run().done > 0


def test_odd_names_are_only_text(tmp_path):
    path = tmp_path / "a: {b} #.csv"
    path.write_text(
        '"{{ x }}","a ""b"" \' #"\n' + "".join(f"a long text number {n},{'yn'[n % 2]}\n" for n in range(9))
    )
    found = prepared(path, gold='a "b" \' #', instruction="Say {{ answers }} # {% if %}")
    item = found.study.experiment.items[3]
    assert item.gold == "n"
    assert found.study.spec.name == "a: {b} #"
    assert "{{ answers }} # {% if %}" in found.study.source.plan.order.prompts().__next__()[2].question


# ---------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("said_of_it", "error", "fix"),
    [
        ({"gold": "stance", "labels": ("favor", "against")}, ItemError, "--labels"),
        ({"gold": "tweet", "text": "stance"}, QuaverError, "--gold"),
        ({"gold": "stance", "model": "missing.gguf"}, Unavailable, "check the path"),
        ({"gold": "stance", "model": ""}, UnknownName, "PROVIDER/MODEL"),
        ({"gold": "stance", "text": "stance"}, QuaverError, "of its own"),
        ({"gold": "stance", "to": "texts.csv"}, StoreError, "texts.csv"),
        ({"gold": "stance", "prompts": 200}, QuaverError, "study file"),
        ({"gold": "stance", "sheet": "One"}, SpecError, "sheet"),
    ],
)
def test_every_mistake_names_its_fix(texts, said_of_it, error, fix):
    """Those beside the mistakes that are made in any table and study file."""
    with pytest.raises(error) as caught:
        left_to_ask(prepared(texts, **said_of_it).study)
    assert fix in str(caught.value)


@pytest.mark.parametrize(
    ("content", "fix"),
    [
        ("", "no texts"),
        ("tweet,gold\n", "no texts"),
        ("a;b|c\nd;e|f\n", "--separator"),
        ("text,gold\n,a\n,b\n", "no row has anything to label"),
        (None, "no such file"),
    ],
)
def test_a_file_that_holds_no_texts(tmp_path, content, fix):
    if content is not None:
        (tmp_path / "a.csv").write_text(content)
    with pytest.raises(ItemError) as caught:
        prepared(tmp_path / "a.csv", labels=("a", "b"), text="text" if fix.startswith("no row") else None)
    assert fix in str(caught.value)


# ------------------------------------------------------------------------------- money


def test_nothing_is_spent_without_a_key_and_consent(texts, monkeypatch):
    options = {"gold": "stance", "model": "openai/gpt-4o-mini"}
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(MissingKey) as caught:
        quaver.check(texts, **options, yes=True)
    assert "OPENAI_API_KEY" in str(caught.value.fix)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-" + "0" * 40)
    with pytest.raises(QuaverError, match="spend money") as caught:
        quaver.check(texts, **options)
    assert "600 calls for $" in str(caught.value.found)
    assert "yes=True" in str(caught.value.fix)
    with pytest.raises(SystemExit):
        said(monkeypatch, "check", "texts.csv", "--gold", "stance", "--model", "openai/gpt-4o-mini")
    assert not Path("texts-check/responses.db").exists()
    found = prepared(texts, **options, budget=0.5)
    assert (found.study.spec.budget.money, spends(found.study)) == (0.5, True)


@pytest.mark.parametrize("model", ["ollama/llama3.2", "smollm2-135m-instruct", good])
def test_what_runs_here_costs_nothing(texts, model):
    assert not spends(prepared(texts, gold="stance", model=model).study)


# ------------------------------------------------------------------------- the columns


@pytest.fixture
def tweets(tmp_path, monkeypatch):
    """A table with an id, a day, an author who repeats, a party, and a gold label of some texts."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "tweets.csv"
    rows = [(f"t{n}", f"author{n % 40}", "left" if n % 2 else "right", *TEXTS[n % 30]) for n in range(120)]
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("tweet_id", "author", "party", "tweet", "hand_label"), *rows])
    return path


def test_a_table_from_a_spreadsheet_with_semicolons_needs_no_option(tmp_path):
    rows = [
        f"{n};I {('back', 'reject')[n % 2]} the tax, number {n};{('favor', 'against')[n % 2]}"
        for n in range(8)
    ]
    path = tmp_path / "tweets.csv"
    path.write_text("\n".join(["nr;tweet;stance (hand)", *rows]))
    found = prepared(path)
    assert found.study.spec.items.separator == ";"
    assert {one.role: one.column for one in found.taken}["gold label"] == "stance (hand)"
    (why,) = [one.why for one in found.taken if one.role == "instruction"]
    assert "TARGET" in why


def test_a_model_at_an_address_needs_no_provider(tweets):
    (asked,) = prepared(tweets, model="mine", base_url="http://127.0.0.1:8000/v1").study.spec.models
    assert (asked.use, asked.options["base_url"]) == ("openai_compatible", "http://127.0.0.1:8000/v1")
    (asked,) = prepared(
        tweets, model="vllm/mine", base_url="http://127.0.0.1:8000/v1", to="other"
    ).study.spec.models
    assert (asked.options["preset"], asked.options["base_url"]) == ("vllm", "http://127.0.0.1:8000/v1")
    with pytest.raises(QuaverError, match="at no address"):
        prepared(tweets, model="smollm2-135m-instruct", base_url="http://127.0.0.1:8000/v1", to="third")


@pytest.mark.parametrize(
    ("stances", "parts"),
    [
        (("Ja", "ja"), ("fewer than two labels", "Ja")),
        (("Ja",), ("one label only", "'Ja' in 6 rows", '--labels "Ja, another"')),
    ],
)
def test_labels_that_are_too_much_alike_are_reported_of_the_table(tmp_path, stances, parts):
    path = tmp_path / "a.csv"
    rows = [f"text number {n} is long enough,{stances[n % len(stances)]}" for n in range(6)]
    path.write_text("\n".join(["text,gold", *rows]))
    with pytest.raises(QuaverError) as caught:
        prepared(path)
    assert str(caught.value).startswith("a.csv: gold: ")
    assert all(part in str(caught.value) for part in parts)
    listed = prepared(path, labels=("Ja", "nein")).table  # as the error advises
    assert (listed.gold, listed.counts["Ja"]) == ("gold", 6)


def test_rows_without_a_text_are_counted_and_not_asked_about(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("text,gold\n,a\none two three,b\n,a\nfour five six,b\n")
    found = prepared(path)
    assert ("table", "2 of 4 rows have nothing to label") in [(one.role, one.column) for one in found.taken]
    assert [item.id for item in found.study.experiment.items] == ["2", "4"]


@pytest.mark.parametrize(
    "named", ["What was\nsaid  (text)", "What was said (text)", r"What was\nsaid (text)"]
)
def test_white_space_in_a_columns_name_need_not_be_copied(texts, named):
    texts.write_text(texts.read_text().replace("tweet", '"What was\n said (text)"', 1))
    assert prepared(texts, text=named, gold="stance").table.text == "What was\n said (text)"
