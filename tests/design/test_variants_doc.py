"""docs/variants.md shows what the code writes."""

import re
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from tests.studies import resolved

from quaver.core import registry
from quaver.design.prompts.rendering import PromptWriter

PAGE = Path(__file__).parents[2] / "docs" / "variants.md"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks():
    return [(match[1], match[2]) for match in _BLOCK.finditer(PAGE.read_text(encoding="utf-8"))]


def shown():
    """Each prompt on the page: its study, its items, and what the page says."""
    found = []
    base = {}
    study = {}
    reviews = items = ""
    for kind, text in blocks():
        if kind == "yaml":
            base = base or YAML(typ="safe", pure=True).load(text)
            study = base | YAML(typ="safe", pure=True).load(text)
            items = reviews
        elif kind == "csv":
            reviews, items = reviews or text, text
        else:
            found.append((study, items, text))
    return found


def written(study, items, name, folder):
    """A variant's prompt for the first item, as the page writes it."""
    path = folder / "items.csv"
    path.write_text(items, encoding="utf-8")
    made = resolved(study | {"items": study["items"] | {"source": str(path)}})
    variants = {variant.id: variant for variant in made.variants}
    writer = PromptWriter(variants[name], made.labels)
    prompt = writer.write(made.items[0], writer.text(made.items[0]))
    turns = [f"[{role}]\n{content}\n" for role, content in prompt.messages]
    return f"# {name}\n" + "".join(turns)


@pytest.mark.parametrize(
    ("study", "items", "said"),
    shown(),
    ids=lambda part: part[2:40].partition("\n")[0] if isinstance(part, str) else "",
)
def test_a_prompt_on_the_page_is_the_prompt(study, items, said, tmp_path):
    name = said.splitlines()[0].removeprefix("# ")
    assert written(study, items, name, tmp_path) == said


def test_the_families_in_the_headings_are_registered():
    headings = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("## ")]
    named = {name for line in headings for name in re.findall("`(.+?)`", line)}
    assert named == {*registry.names("variants")} - {"paraphrases"}  # which have a page of their own
    assert named <= set(registry.names("variants"))
