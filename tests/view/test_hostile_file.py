"""Hostile texts in a study stay text in the server's answers."""

from random import Random

import pytest
from tests.hostile import ANSWERS, TEXTS, annotate, write_hostile
from tests.view.viewed import client

import quaver

_PARTS = (
    *("<script>alert(1)</script>", "<img src=//evil.example/x onerror=alert(1)>", "</script>", "</style>"),
    *("-->", "<!--", "]]>", "javascript:alert(1)", "&lt;script&gt;", "\\u003cscript\\u003e", "\u2028"),
    *("\u2029", "\x00", "<svg onload=alert(1)>", "' onmouseover='alert(1)"),
    *('" style="background:url(//evil.example)', "{{7*7}}", "${alert(1)}", "`", "\\", "\ud800", "\U000e0041"),
    *("<base href=//evil.example>", "<link rel=stylesheet href=//x>"),
    *("<iframe srcdoc='<script>alert(1)</script>'>", "<form action=//evil.example>"),
    *("<meta http-equiv=refresh>",),
)


def more_hostile(count=200):
    """Further hostile texts, put together from parts."""
    draw = Random(1)
    return ["x" + "".join(draw.choice(_PARTS) for _ in range(draw.randint(1, 5))) for _ in range(count)]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A study whose names, texts and answers are hostile, with 200 more items."""
    folder = tmp_path_factory.mktemp("hostile")
    names = write_hostile(folder)
    more = more_hostile()
    with (folder / "items.csv").open("a", encoding="utf-8", errors="replace", newline="") as file:
        for at, text in enumerate(more):
            cells = (f"more{at}{text[:20]}", text, "", "")
            file.write(
                ",".join('"' + cell.replace('"', '""').replace("\x00", "") + '"' for cell in cells) + "\n"
            )
    asked = iter(range(1 << 30))

    def answer(text, prompt):
        at = next(asked)
        return more[at % len(more)].encode("utf-8", "replace").decode() if at % 3 else annotate(text, prompt)

    study = folder / "study.yaml"
    quaver.Study.open(study, functions=dict.fromkeys(names, answer)).run(watch=lambda _: None)
    return study


def test_the_servers_answers_are_never_html(path):
    asked = client(path)
    (study,) = asked.get("api/studies").json()["studies"]
    place = f"api/studies/{study['id']}"
    row = asked.get(f"{place}/rows").json()["rows"][0]
    for address in ("", "/design", "/grid", "/rows", "/answers", "/facets"):
        answer = asked.get(place + address)
        assert answer.headers["content-type"] == "application/json"
    one = asked.get(f"{place}/answer", params={"item": row["item"], "column": 0})
    assert one.headers["x-content-type-options"] == "nosniff"
    assert one.json()["response"]["text"] in {
        text.encode("utf-8", "replace").decode() for text in (*ANSWERS, *TEXTS, *more_hostile())
    }
