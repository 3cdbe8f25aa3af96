"""Study files as people mistype them and as nobody should write them, from a seed each."""

from random import Random

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
  id: id
  text: "{{ text }}"
  gold: {column: truth, map: {p: positive, n: negative}}
  groups: [side]
  sample: 4
prompt:
  system: Be short.
  layout: "{{ text }}\n{{ question }}"
  instruction: Is it good?
  postfix: "Say {{ answers | join(' or ') }}."
  answers: {positive: "Yes", negative: "No"}
variants:
  - {use: instructions, texts: {curt: "Good?"}, factor: words}
  - {use: label_order, orders: reversed}
models:
  - {name: fake, use: function, price: {input: 1, output: 2}}
  - {name: far, use: openai_compatible, model: m, base_url: "http://[::1]:9/v1", key: NO_SUCH_KEY, price: 0}
decoding:
  greedy: {max_tokens: 4}
  warm: {temperature: [0.5, 1.0]}
repeats: 2
evaluators: [first_label, {use: exact, name: strict}]
measures:
  - {use: accuracy, by: [model], evaluator: strict}
  - intra_pss
conclusions:
  - {name: sides, formula: share(positive) ~ side, effect: "side[b] > side[a]", group: side}
budget: {calls: 100, money: 1.5}
notes: [A note.]
"""
ITEMS = "id,text,truth,side\n".replace("\\n", "\n") + "".join(
    f"i{n},Thing {n}.,{'pn'[n % 2]},{'ab'[n // 6]}\n" for n in range(12)
)

_VALUES = (
    *("", "~", "null", "true", "no", "0", "-1", "1e400", ".nan", ".inf", "0x1F", "0o17", "007", "1_000"),
    *(
        "9" * 400,
        "1e-400",
        "12:30:45",
        "2020-01-01",
        "2020-13-45",
        "2020-01-01T25:61:00Z",
        "2001-12-14t21:59:43Z",
    ),
    *(
        '"{{"',
        "{{ text",
        '"{{ text"',
        '"{{ no }}"',
        '"{% if %}"',
        '"{{ text }}{% endfor %}"',
        '"{# x"',
        '"{{ 9**9**9 }}"',
    ),
    *('"{{ text.__class__ }}"', "\"{{ 'x' * 999999999 }}\"", '"{% for a in range(9) %}"', '"{{ item[] }}"'),
    *(
        '"http://[::1/v1"',
        "http://[::1/v1",
        '"http://exa mple"',
        '"http://:99999999"',
        '"//"',
        '"file:///etc/passwd"',
    ),
    *(
        "[]",
        "{}",
        "[[]]",
        "[null]",
        "[1, [2, {a: 3}]]",
        "{a: 1}",
        "{1: 2}",
        "{null: 1}",
        "{[1, 2]: 3}",
        "{{}: 1}",
    ),
    *(
        "? [a]\n: b",
        "!!python/object:os.system x",
        "!!binary aGk=",
        "!!set {a}",
        "!!omap [a: 1]",
        "!x y",
        "!!str 1",
    ),
    *(
        "!!int x",
        "!!float x",
        "!!bool x",
        "!!timestamp x",
        "!!binary x",
        "!!null x",
        "!<tag:x> 1",
        "&a [*a]",
        "&a {b: *a}",
    ),
    *(
        "*nobody",
        "&x 1",
        "|\n  text",
        ">-\n  folded",
        "|9\n x",
        '"\\ud83d"',
        '"\\ud83d\\ude00"',
        '"\\x00"',
        "'it''s'",
    ),
    *(
        '"unclosed',
        "'unclosed",
        "[1, 2",
        "{a: 1",
        "a: b: c",
        "- a",
        "@at",
        "`tick",
        "%pct",
        "# only",
        "a #b",
        "x" * 5000,
    ),
    *(
        "é",
        "e\u0301",
        "😀",
        "\u202e",
        "../../../etc/passwd",
        "/dev/null",
        "CON",
        "a/b",
        "a\\tb",
        "=1+1",
        "<<",
        "? ?",
    ),
)
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
