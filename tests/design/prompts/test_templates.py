"""Templates: values are never code, and no template does more than write text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quaver.core.records import Item, Label, LabelSet, Variant
from quaver.design.prompts.rendering import PromptWriter, item_text
from quaver.design.prompts.templates import check, render
from quaver.errors import ItemError, QuaverError

ATTACKS = {
    "class": "{{ ''.__class__.__mro__ }}",
    "class of a value": "{{ text.__class__ }}",
    "class by a filter": "{{ (text | attr('__class__')) ~ '' }}",
    "class in brackets": "{{ text['__class__'] }}",
    "globals of a function": "{{ text.join.__globals__ }}",
    "self": "{{ self.__init__.__globals__ }}",
    "format": "{{ '{0.__class__}'.format(text) }}",
    "format map": "{{ '{x.__class__}'.format_map({'x': text}) }}",
    "globals": "{{ lipsum.__globals__ }}",
    "cycler": "{{ cycler('a').next() }}",
    "include": "{% include '/etc/passwd' %}",
    "import": "{% import 'os' as os %}{{ text }}",
    "extends": "{% extends 'base' %}",
    "power": "{{ 9 ** 9 ** 9 }}",
    "repetition": "{{ text * 1000000000 }}",
    "repetition of a list": "{{ [text] * 1000000000 }}",
    "padding by a sign": "{{ '%1000000000d' % 1 }}",
    "padding by a filter": "{{ '%1000000000s' | format(text) }}",
    "padding by a method": "{{ text.ljust(1000000000) }}",
    "padding by another": "{{ text.zfill(1000000000) }}",
    "padding by format": "{{ '{:1000000000}'.format(text) }}",
    "centre": "{{ text | center(1000000000) }}",
    "indent": "{{ text | indent(1000000000) }}",
    "range": "{% for i in range(1000000000) %}x{% endfor %}",
    "loops": "{% for a in long %}{% for b in long %}{% for c in long %}{{ a }}"
    "{% endfor %}{% endfor %}{% endfor %}",
    "recursion": "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
    "doubling": "{% set a = text %}" + "{% set a = a ~ a %}" * 40 + "{{ a }}",
    "doubling in a block": "{% set a %}{{ text }}{{ text }}{% endset %}{{ a }}",
    "change of a value": "{{ row.update({'a': 1}) }}",
    "division by zero": "{{ 1 / 0 }}",
    "missing": "{{ missing }}",
    "missing inside": "{{ row.missing }}",
    "called": "{{ text() }}",
}


@pytest.mark.parametrize("template", ATTACKS.values(), ids=ATTACKS)
def test_a_template_that_attacks_is_refused(template):
    values = {"text": "a text", "row": {"text": "x"}, "long": "y" * 1000}

    def fill_in():
        check(template, values, where="prompt.layout")
        render(template, values, where="prompt.layout")

    with pytest.raises(QuaverError) as caught:
        fill_in()
    assert caught.value.where == "prompt.layout"


HOSTILE = [
    "{{ 7 * 7 }}",
    "{% for i in range(9) %}x{% endfor %}",
    "{# gone #}",
    "{{ item.secret }}",
    "<script>alert(1)</script> & <b>",
    '=HYPERLINK("http://x")',
    "[red]markup[/red]",
    "${HOME} $(ls) `ls` %s {0} \\n",
    "{% raw %}",
    "\x1b[31mred",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_an_item_text_that_looks_like_code_stays_text(text):
    labels = LabelSet((Label("a", "A"), Label("b", "B")))
    layout = "{{ text }}|{{ instruction }}|{{ postfix }}"
    variant = Variant(
        "v",
        {},
        "{{ text }}!",
        layout,
        "{{ text }}",
        "Is {{ item.text }} it?",
        "P",
        {"a": text, "b": "{{ x }}"},
    )
    item = Item("1", {"text": text})
    assert item_text(variant.text, item) == text
    prompt = PromptWriter(variant, labels).write(item, text)
    assert [message.content for message in prompt.messages] == [f"{text}!", f"{text}|Is {text} it?|P"]
    assert (prompt.text, prompt.question) == (text, f"Is {text} it?\nP")


@given(st.text())
def test_any_value_comes_out_as_it_is(text):
    assert render("<{{ text }}>", {"text": text}, where="") == f"<{text}>"


@given(st.text().filter(lambda text: "{" not in text))
def test_a_text_without_braces_is_its_own_template(text):
    assert render(text, {}, where="") == text


def test_a_column_named_like_a_method_is_the_column():
    row = {"values": "v", "items": "i", "get": "g", "a b": "spaced"}
    template = "{{ item.values }}{{ item.items }}{{ item['get'] }}{{ item['a b'] }}"
    assert render(template, {"item": row}, where="") == "vigspaced"
    assert item_text(template, Item("1", row)) == "vigspaced"
    assert item_text("{{ item }}", Item("1", {"item": "chair"})) == "chair"


def test_an_empty_cell_is_written_as_nothing():
    assert item_text("[{{ a }}{{ b }}]", Item("1", {"a": None, "b": 0})) == "[0]"
    with pytest.raises(ItemError, match="no text"):
        item_text("{{ a }}", Item("1", {"a": None}))


def test_labels_and_answers_can_be_written_out():
    labels = LabelSet((Label("a", "Alpha", "The first."), Label("b", "Beta")))
    variant = Variant(
        "v",
        {},
        "",
        "{{ text }}: {{ instruction }} {{ postfix }}",
        "{{ text }}",
        "{% for label in labels %}{{ label.code }}={{ label.name }}={{ label.definition }};{% endfor %}",
        "Say {{ answers | join(' or ') }}.",
        {"a": "1", "b": "2"},
    )
    prompt = PromptWriter(variant, labels).write(Item("1", {"text": "T"}), "T")
    assert prompt.messages[0].content.split("; ")[0] == "T: a=Alpha=The first.;b=Beta="
    assert prompt.messages[0].content.endswith("1 or 2.")
    assert len(prompt.messages) == 1


def test_labels_that_hold_a_comma_are_listed_in_quotation_marks():
    template = "One of: {{ answers | join(', ') }}."
    assert render(template, {"answers": ["a", "b"]}, where="postfix") == "One of: a, b."
    listed = render(template, {"answers": ["Law, Crime", "Trade"]}, where="postfix")
    assert listed == 'One of: "Law, Crime", "Trade".'
