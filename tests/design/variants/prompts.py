"""The prompts of a study with some families, for their tests."""

import tempfile
from pathlib import Path

from tests.studies import resolved

from quaver.design.prompts.rendering import PromptWriter

LABELS = ["pos", "neg"]

ITEMS = "id,text,truth\n" + "".join(f"{n},Text {n}.,{LABELS[n % 2]}\n" for n in range(20))


def study_of(*families, **prompt):
    """A study of three reviews under some families of variants; the keyword arguments go to its prompt."""
    with tempfile.TemporaryDirectory() as folder:
        items = Path(folder) / "items.csv"
        items.write_text(ITEMS, encoding="utf-8")
        return resolved(
            {
                "task": {
                    "labels": [
                        {
                            "code": "pos",
                            "name": "positive",
                            "definition": "It is liked.",
                            "synonyms": ["good"],
                        },
                        {"code": "neg", "name": "negative", "definition": "It is not.", "synonyms": ["bad"]},
                    ]
                },
                "items": {
                    "source": str(items),
                    "id": "id",
                    "text": "{{ text }}",
                    "gold": "truth",
                    "sample": 3,
                },
                "prompt": {"instruction": "Is it liked?", **prompt},
                "variants": list(families),
                "models": [{"name": "f", "use": "function"}],
            }
        )


def variants_of(*families, **prompt):
    """Its variants."""
    return study_of(*families, **prompt).variants


def messages_of(variant, **prompt):
    """A variant's messages for the first item."""
    made = study_of(**prompt)
    writer = PromptWriter(variant, made.labels)
    return writer.write(made.items[0], writer.text(made.items[0])).messages


def prompt_of(variant, **prompt):
    """The last of a variant's messages for the first item."""
    return messages_of(variant, **prompt)[-1].content
