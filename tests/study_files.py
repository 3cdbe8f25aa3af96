"""Study files as people mistype them and as nobody should write them, from a seed each."""

import json
from pathlib import Path
from random import Random

from ruamel.yaml import YAML

__all__ = ["ITEMS", "WHOLE", "study_file"]

WHOLE = """\
name: whole
seed: 1
task:
  name: tone
  level: nominal
  labels:
    - positive
    - {code: negative, name: bad, synonyms: [awful]}
items:
  source: items.csv
  encoding: utf-8
  separator: ","
  id: id
  text: "{{ text }}"
  gold: {column: truth, map: {p: positive, n: negative}}
  groups: [side]
  sample: 4
  seed: 3
prompt:
  system: Be short.
  layout: "{{ text }}\n{{ question }}"
  instruction: Is it good?
  postfix: "Say {{ answers | join(' or ') }}."
  answers: {positive: "Yes", negative: "No"}
  explains: false
  frame: chat
variants:
  - {use: instructions, texts: {curt: "Good?"}, factor: words}
  - {use: label_order, orders: reversed}
  - {use: shots, k: [0, 1], draws: 1, place: turns}
models:
  - {name: fake, use: function, price: {input: 1, output: 2}, only: {}}
  - {name: far, use: openai_compatible, model: m, base_url: "http://[::1]:9/v1", key: NO_SUCH_KEY, price: 0}
decoding:
  greedy: {max_tokens: 4, repeats: 1, only: {words: curt}}
  warm: {temperature: [0.5, 1.0], constraint: none, logprobs: 0}
repeats: 2
sample: 6
evaluators: [first_label, {use: exact, name: strict}]
measures:
  - {use: accuracy, by: [model], evaluator: strict, only: {words: curt}, missing: drop}
  - intra_pss
conclusions:
  - {name: sides, formula: share(positive) ~ side, effect: "side[b] > side[a]"}
budget: {calls: 100, tokens: 1000, money: 1.5, seconds: 10}
small: {items: {sample: 2}}
notes: [A note.]
"""
ITEMS = "id,text,truth,side\n" + "".join(f"i{n},Thing {n}.,{'pn'[n % 2]},{'ab'[n // 6]}\n" for n in range(12))

_VALUES = (
    *("", "9" * 400, "x" * 5000, "? [a]\n: b", "|\n  text", ">-\n  folded", "|9\n x", "\u202e"),
    *Path(__file__).with_name("data").joinpath("yaml_values.txt").read_text(encoding="utf-8").splitlines(),
)
"""What YAML may read as something else, or as nothing."""
_STRANGE = [None, 0, -1, 10**12, 1.5, True, float("inf"), "", "x", "{{", "{{ no }}", "a.b", "é" * 999]
_STRANGE += [[], {}, [1], [None], [[]], ["x", "x"], {"a": 1}, {"": ""}, {"x": {"y": ["z"]}}]
_BOMB = "x: &a [x, x]\n" + "".join(
    f"{b}: &{b} [*{a}, *{a}, *{a}, *{a}, *{a}, *{a}, *{a}]\n"
    for a, b in zip("abcdefghijk", "bcdefghijkl", strict=True)
)
_LINES = (
    *("<<: *x", "<<: {a: 1}", "<<: [1]", "<<: 1", "x: &x\n  <<: *x", "&x x: *x", "? a", ": b", "---", "..."),
    *("%YAML 9.9", "%TAG ! tag:x,2000:", "\tname: a", "name: a", "task: {}", "1: 2", "null: 3", "[a, b]: c"),
    *("true: x", "2020-01-01: y", "\x00", "\x07", "\x85", "\u2028", "\ufeff", "  deep: 1", "- a", "text"),
    *("a: &b [*b]", "!!python/name:x : y", "items: &i", _BOMB, _BOMB + "notes: *l", _BOMB + "task: *l"),
    *(_BOMB + "budget: {calls: *l}",),
)


_FAMILIES = (
    *("{use: prompts, prompts: {a: {}, b: {definitions: true}}}", "{use: shots, k: [0, 1]}"),
    *("{use: paraphrases, engine: surface, n: 3}", "{use: option_order}"),
    *("{use: label_order, orders: all}", "{use: label_names}", "{use: factors}"),
    *("{use: prompts, prompts: [letters]}", '{use: instructions, texts: {a: "{{ text"}}'),
)


def study_file(seed):
    """The study file of a seed."""
    random = Random(seed)
    if random.random() < 0.3:
        return json.dumps(_changed(random)).encode()
    lines = WHOLE.splitlines()
    if random.random() < 0.4:
        lines = [
            line.replace("{use: label_order, orders: reversed}", random.choice(_FAMILIES)) for line in lines
        ]
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        random.choice(_CHANGES)(random, lines)
    content = "\n".join(lines).encode("utf-8", "surrogatepass")
    if random.random() < 0.08:
        content = random.choice(_DAMAGE)(random, content)
    return content


def _changed(random):
    """The whole study with something else, or nothing, at one of its places."""
    study = YAML(typ="safe").load(WHOLE)
    part, key = random.choice([*_places(study)])
    old, value = part[key], random.choice(_STRANGE)
    how = random.choice(["with", "with", "with", "without", "wrapped", "beside"])
    if how == "without":
        del part[key]
    else:
        beside = {**old, "zzz": value} if isinstance(old, dict) else {"zzz": old}
        part[key] = {"with": value, "wrapped": [old], "beside": beside}[how]
    return study


def _places(part):
    keys = part if isinstance(part, dict) else range(len(part)) if isinstance(part, list) else ()
    for key in keys:
        yield part, key
        yield from _places(part[key])


def _value(random, lines):
    """Another value behind a key, or in its place in braces."""
    at = random.randrange(len(lines))
    starts = [place for place in range(len(lines[at])) if lines[at].startswith((": ", "- "), place)]
    if not starts:
        return
    start = random.choice(starts) + 2
    ends = [place for place in range(start, len(lines[at])) if lines[at][place] in ",}]"]
    end = random.choice([*ends, len(lines[at])]) if random.random() < 0.5 else (ends or [len(lines[at])])[0]
    lines[at] = lines[at][:start] + random.choice(_VALUES) + lines[at][end:]


def _line(random, lines):
    at = random.randrange(len(lines) + 1)
    indent = " " * random.choice([0, 0, 2, 4])
    lines[at:at] = [indent + line for line in random.choice(_LINES).split("\n")]


def _without(random, lines):
    del lines[random.randrange(len(lines))]


def _twice(random, lines):
    at = random.randrange(len(lines))
    lines.insert(random.randrange(len(lines)), lines[at])


def _indented(random, lines):
    at = random.randrange(len(lines))
    lines[at] = random.choice(["\t", " ", "   ", "\u00a0"]) + lines[at]


def _key(random, lines):
    """Another key."""
    at = random.randrange(len(lines))
    name, colon, rest = lines[at].partition(":")
    indent = name[: len(name) - len(name.lstrip())]
    lines[at] = indent + random.choice(_VALUES) + colon + rest


def _character(random, lines):
    at = random.randrange(len(lines))
    place = random.randrange(len(lines[at]) + 1)
    odd = random.choice(
        ["\x00", "\x07", "\t", '"', "'", "{", "}", "[", ":", "&", "*", "!", "|", "\u2029", "\ud800", "#"]
    )
    lines[at] = lines[at][:place] + odd + lines[at][place:]


def _merged(random, lines):
    """A part that is another part, itself among them."""
    at = random.randrange(len(lines))
    name, colon, _ = lines[at].partition(":")
    if colon:
        lines[at] = f"{name}: &m"
        lines.insert(
            at + 1,
            " " * (len(name) - len(name.lstrip()) + 2) + random.choice(["<<: *m", "a: *m", "<<: [*m, *m]"]),
        )


_CHANGES = (
    *(_value, _value, _value, _value, _value, _line, _line, _without, _twice, _indented, _key, _key),
    *(_character, _merged),
)
_DAMAGE = (
    lambda random, content: content[: random.randrange(len(content))],
    lambda _, content: b"\xef\xbb\xbf" + content,
    lambda _, content: content.decode("utf-8", "replace").encode("utf-16"),
    lambda random, content: content + random.randbytes(20),
    lambda _, content: content + b"\n" + b"[" * 5000,
    lambda _, content: content.replace(b"\n", b"\r"),
    lambda _, __: b"",
    lambda _, content: content + b"\nx: " + b"y" * 1_000_000,
)
