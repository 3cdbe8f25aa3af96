"""A study with two fields and stored answers, of which a gold sample is drawn, labelled and settled."""

import csv
import json

from quaver import Study

_TOPICS = ["tax", "war", "health"]


def opened(folder):
    """The study; nothing is asked any more."""

    def answer(text, prompt):
        at = int(text.split()[-1])
        return json.dumps({"tone": ["good", "bad"][at % 2], "topics": _TOPICS[: at % 3]})

    asked = {
        "name": "Gold",
        "task": {
            "held": False,
            "fields": {"tone": {"labels": ["good", "bad"]}, "topics": {"labels": _TOPICS, "several": True}},
        },
        "items": {
            "source": [{"id": f"i{at}", "text": f"Text {at}"} for at in range(20)],
            "id": "id",
            "text": "{{ text }}",
        },
        "prompt": {"instruction": "Code this text."},
        "models": [{"name": "m", "use": "function"}],
        "measures": ["accuracy"],
    }
    return Study.open(asked, folder=folder / "study", functions={"m": answer})


def before(folder):
    """A study that was run."""
    opened(folder).run()


def command(folder):
    """Draw a sample, unless it is there, and take its labels back, as two coders gave them."""
    gold = opened(folder).gold
    if gold.status().design is None:
        gold.draw(n=8, coders=["ada", "ben"], overlap=1, form="csv")
    for coder, topics in (("ada", "tax"), ("ben", "[]")):
        sheet = folder / f"{coder}.csv"
        if not sheet.exists():
            _fill(folder / "study" / "gold" / f"round-1-{coder}.csv", sheet, topics)
        gold.take(sheet)
    if gold.state.design and gold.state.design["rule"] != "majority":
        gold.adjudicate("carla", rule="majority", form="csv")
    return str(gold.status())


def _fill(source, sheet, topics):
    with source.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    part = sheet.with_suffix(".tmp")
    with part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows({**row, "tone": "good", "topics": topics} for row in rows)
    part.replace(sheet)
