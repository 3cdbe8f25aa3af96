"""A table of texts that is labelled in two fields, with a sample for people."""

import csv
import json
import re
import time

from tests.interrupted import asked

import quaver

_TOPICS = ["tax", "war"]
IN_FLIGHT = 8


def before(folder):
    """The table, with gold labels of half of it."""
    with (folder / "texts.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "tone", "topics"])
        for at in range(60):
            tone, topics = ["good", "bad"][at % 2], ";".join(_TOPICS[: at % 3]) or "[]"
            known = [tone, topics] if at % 4 < 2 else ["", ""]
            writer.writerow([f"c{at}", f"A {tone} comment on {topics}, number {at}", *known])


def command(folder):
    """Label it, and say what is to be done next."""

    def answer(text, prompt):
        asked(folder, f"{text} {prompt}")
        time.sleep(0.002)  # answers that take less than a millisecond are kept together
        tone, topics = re.match(r"A (\w+) comment on (.*), number", text).groups()
        return json.dumps({"tone": tone, "topics": [] if topics == "[]" else topics.split(";")})

    found = quaver.label(
        folder / "texts.csv",
        fields=("tone", "topics"),
        model=answer,
        n=20,
        prompts=2,
        repeats=1,
        error="30%",
        by_hand=8,
        anyway=True,
    )
    return str(found)
