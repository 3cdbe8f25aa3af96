"""A study in which every name and text is hostile to something that shows it."""

import csv
import json

__all__ = ["ANSWERS", "TEXTS", "annotate", "broken", "write_hostile"]

TEXTS = (
    '<script>alert(1)</script>"><img src=x onerror=alert(2)>',
    "]]></svg><svg onload=alert(3)></textarea></title></style></pre><iframe srcdoc=x>",
    "{{ 7 * 7 }}{% for x in y %}{# c #}${alert(4)}",
    "../../../etc/passwd",
    '=HYPERLINK("http://example.invalid","x")',
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(1+1)",
    "\t=1+1",
    "\r=2+2",
    "＝1+1",
    "\\input{/etc/passwd} $x$ 5 % ~^_&#{} [a]* --",
    "a | b\n| --- |\n[x](javascript:alert(5)) ![y](z) `c` *d* _e_ ~f~",
    "\x1b[31mred\x1b[2J\x1b]0;title\x07\x1b]8;;http://example.invalid\x1b\\link\x9b31m\x7f\x08\x00",
    "\u202eevil\u202c \u2066x\u2069 \u200f\u061c",
)
"""Of every kind at least one."""

_NAMES = (
    TEXTS[0] + TEXTS[12] + TEXTS[13],
    "=" + TEXTS[1] + TEXTS[14],
    "../" + TEXTS[2] + TEXTS[11],
    "\x1b[1m" + TEXTS[5],
)
_LABELS = ("<b>a</b>", "=b()", "\x1b[1mc\u202e")
ANSWERS = tuple(f"{_LABELS[at % 3]} {text}" if at % 4 else text for at, text in enumerate(TEXTS))


def annotate(text, prompt):
    """Answers as a hostile model does."""
    return ANSWERS[len(text + prompt) % len(ANSWERS)]


def broken(text, prompt):
    """Fails as one does."""
    raise ValueError("\x1b[31m<script>\u202e")


def write_hostile(folder):
    """Write the study and its items.

    Returns:
        The names of its models, which use a function each.
    """
    with (folder / "items.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text", "truth", "=group"])
        for at, text in enumerate(TEXTS):
            writer.writerow([f"{text}{at}", text, _LABELS[at % 2], _NAMES[at % 2]])
    models = [{"name": name, "use": "function"} for name in (_NAMES[0], _NAMES[2])]
    study = {
        "name": _NAMES[0],
        "task": {"labels": [{"code": code, "name": f"{code} {_NAMES[1]}"} for code in _LABELS]},
        "items": {
            "source": "items.csv",
            "id": "id",
            "text": "{{ text }}",
            "gold": "truth",
            "groups": ["=group"],
        },
        "prompt": {"instruction": "Which?"},
        "variants": [
            {"use": "instructions", "factor": "<u>how</u>\x1b[4m", "texts": {n: _raw(n) for n in _NAMES}}
        ],
        "models": models,
        "decoding": {"<i>warm</i>\x1b[5m": {"temperature": 0}},
        "evaluators": [
            {"use": "first_label", "name": "<b>one</b>\x1b[7m"},
            {"use": "exact", "name": "=two|\u202e"},
        ],
        "measures": [
            {"use": use}
            for use in (
                *("inter_pss", "accuracy", "compliance", "consistency", "sensitivity", "f1"),
                *("spread", "distribution_shift"),
            )
        ],
        "conclusions": [
            {"name": "../" + _NAMES[3], "formula": f"share({_LABELS[1]}) ~ 1", "effect": "Intercept > 0.5"}
        ],
    }
    (folder / "study.yaml").write_text(json.dumps(study, indent=1), encoding="utf-8")
    return [str(one["name"]) for one in models]


def _raw(text):
    """A template that says the text itself."""
    return "Which is it? {% raw %}" + text.replace("%}", "% }") + "{% endraw %}"
