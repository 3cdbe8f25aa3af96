"""Three studies of different kinds whose bundles hold: asked with a gold sample, of fields, of labels."""

import csv
import json

import quaver
from quaver.study.imports.label_import import import_annotations

ASKED = """\
name: votes
task:
  labels:
    - {code: positive, definition: It praises.}
    - {code: negative, definition: It blames.}
items: {source: items.csv, id: id, text: "{{ text }}", gold: truth, groups: [party]}
prompt: {instruction: Is this positive or negative?}
variants:
  - {use: instructions, texts: {curt: "Positive?"}}
models:
  - {name: fake, use: function}
repeats: 2
evaluators: [first_label, exact]
measures:
  - {use: accuracy, by: [paraphrase], resamples: 20}
  - {use: inter_pss, resamples: 20}
"""
FIELDS = """\
name: speeches
task:
  held: false
  fields:
    tone: {labels: [good, bad], gold: tone, definition: How the speech sounds.}
    topics: {labels: [tax, war, health], several: true, gold: topics}
    amount: {level: ratio, gold: amount}
items: {source: items.csv, id: id, text: "{{ text }}", groups: [side]}
prompt: {instruction: What does this text say?}
variants:
  - {use: instructions, texts: {curt: "Code this text."}}
models: [{name: m, use: function}]
measures: [inter_pss, accuracy, {use: label_shares, field: tone}]
"""
SETS = (["tax"], ["tax", "war"], [], ["health"])


def _written(folder, study, rows):
    folder.mkdir(parents=True)
    with (folder / "items.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    (folder / "study.yaml").write_text(study, encoding="utf-8")


def _packed(study):
    return quaver.bundle(study, study.folder.parent / "whole.quaver.zip")[0]


def asked(folder):
    """Of one model that is asked twice; two coders labelled a sample, and labels were accepted."""
    truth = [("positive", "negative")[n % 3 == 0] for n in range(8)]
    rows = [
        (f"i{n}", ["blue", "red"][n % 2], f"The {n}. text of all.", truth[n] if n < 2 else "")
        for n in range(8)
    ]
    _written(folder, ASKED, [("id", "party", "text", "truth"), *rows])

    def annotate(text, prompt):
        return "positive" if len(text + prompt) % 3 else f"negative, for it says {text}"

    study = quaver.Study.open(folder, functions={"fake": annotate})
    study.run()
    for size in (4, 6):
        study.gold.draw(n=size, coders=["ada", "ben"], overlap=1, form="csv")
        for coder in ("ada", "ben"):
            for sheet in sorted((folder / "gold").glob(f"round-*-{coder}.csv")):
                _fill(sheet, coder, truth)
                study.gold.take(sheet)
    study.gold.adjudicate("carla", rule="majority", form="csv")
    study.gold.accept(error=0.4)
    return _packed(study)


def _fill(sheet, coder, truth):
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["label"] = truth[int(row["item"][1:])] if coder == "ada" or row["item"] != "i3" else "positive"
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def coded(at):
    """What is true of a speech."""
    return {"tone": ("good", "bad")[at % 2], "topics": SETS[at % 4], "amount": at * 5}


def answer(text, prompt):
    """What is true, but for a tone that moves with the prompt."""
    at = int(text.split()[-1])
    moved = {"tone": "bad"} if at == 2 and "Code" in prompt else {}
    return json.dumps({**coded(at), **moved})


def speeches(folder, size=6, gold=("tone", "topics", "amount")):
    """A study of a label, a set and a number, asked about each speech; some fields have gold labels."""
    rows = [("id", "text", "tone", "topics", "amount", "side")]
    for at in range(size):
        tone, topics, amount = (coded(at)[name] if name in gold else "" for name in coded(at))
        rows.append(
            (
                f"i{at}",
                f"A long speech about matter {at}",
                tone,
                ";".join(topics) or "[]",
                amount,
                "ab"[at % 2],
            )
        )
    _written(folder, FIELDS, rows)
    study = quaver.Study.open(folder, functions={"m": answer})
    study.run()
    return study


def fields(folder):
    """Of a label, a set and a number, with gold labels."""
    return _packed(speeches(folder))


def labels(folder):
    """Of labels that two people and two models gave, with a confidence."""
    folder.mkdir(parents=True)
    with (folder / "codes.csv").open("w", encoding="utf-8", newline="") as file:
        write = csv.writer(file)
        write.writerow(["id", "text", "h1", "h2", "gpt", "llama", "gpt_sure", "llama_sure"])
        for n in range(12):
            write.writerow(
                [
                    n,
                    f"The {n}. text.",
                    "ab"[n % 2],
                    "ab"[n % 2 if n != 3 else 0],
                    "ab"[n % 2],
                    "aab"[n % 3],
                    n / 12,
                    1 - n / 24,
                ]
            )
    given = {
        "coders": ("h1", "h2"),
        "models": ("gpt", "llama"),
        "confidence": ("gpt_sure", "llama_sure"),
        "text": "text",
    }
    return _packed(import_annotations(folder / "codes.csv", folder / "codes", item="id", **given)[0])


BUNDLES = {"asked": asked, "fields": fields, "labels": labels}
