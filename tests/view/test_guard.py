"""Who gets anything from the server: the page that was opened with the address, and nobody else."""

from urllib.parse import urlencode

import pytest
from tests.view.viewed import PORT, TOKEN, client, collected

from quaver.view import application

OWN = f"127.0.0.1:{PORT}"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    return client(collected(tmp_path_factory.mktemp("guarded"), count=4))


@pytest.mark.parametrize(
    "path", ["", "api/studies", "page/start.js", "api/studies/tones/answer?item=i1&column=0"]
)
@pytest.mark.parametrize(
    "token", ["", "x", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "%73ecret-toke", "..", f"./{TOKEN}x"]
)
def test_without_the_token_there_is_nothing(browser, path, token):
    answer = browser.get(f"http://{OWN}/{token}/{path}")
    assert (answer.status_code, answer.content) == (404, b"")
    assert "quaver" not in str(answer.headers).lower()


@pytest.mark.parametrize(
    "headers",
    [
        *(
            {"host": host}
            for host in ("evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:1", "")
        ),
        *({"host": f"{host}:{PORT}"} for host in ("127.0.0.1.evil.example", "0.0.0.0")),
        *({"origin": f"http://{host}"} for host in ("evil.example", "127.0.0.1:9999")),
        {"origin": "null"},
        {"origin": f"https://{OWN}"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
    ],
)
def test_other_sites_and_other_names_of_the_host_get_nothing(browser, headers):
    answer = browser.get("api/studies", headers=headers)
    assert (answer.status_code, answer.content) == (404, b"")


def test_its_own_names_are_answered(browser):
    assert browser.get("api/studies").status_code == 200
    assert browser.get("api/studies", headers={"host": f"localhost:{PORT}"}).status_code == 200
    same = {"origin": f"http://{OWN}", "sec-fetch-site": "same-origin"}
    assert browser.get("api/studies", headers=same).status_code == 200


def test_what_changes_something_needs_the_pages_own_header(browser):
    mark = {"item": "i1", "mark": "agree"}
    assert (
        browser.post("api/studies/tones/marks", json=mark, headers={"x-quaver-view": ""}).status_code == 404
    )
    assert browser.post("api/studies/tones/marks", json=mark).status_code == 200
    assert browser.put("api/studies/tones/marks", json=mark).status_code == 404
    assert browser.options("api/studies/tones/marks").status_code == 404


def test_no_answer_may_be_kept_framed_or_read_by_others(browser):
    for path in ("api/studies", "api/studies/tones/design", "api/studies/none"):
        headers = browser.get(path).headers
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert not any(name.startswith("access-control") for name in headers)


@pytest.mark.parametrize(
    "name", ["../application.py", "..%2fguard.py", "/etc/passwd", "%2e%2e/serving.py", "nothing.js"]
)
def test_only_the_pages_own_files_are_served(browser, name):
    answer = browser.get(f"http://{OWN}/{TOKEN}/page/{name}")
    assert answer.status_code == 404
    assert b"import" not in answer.content


ODD = (
    *("abc", "[1]", "1e400", "\x00", "-1", "1.5", "١", "9" * 30, "", "none", "null", "\ud800", "\U0010ffff"),
    *('"', "(", "../..", "a" * 20_000, "label:", "label:zzz", "is:", "-", "or", "~", "*", '{"a":1}', "true"),
)
_WINDOW = ("from", "count", "excerpt", "blind")
_VIEW = ("q", "e", "sort")
PARAMETERS = {
    "/grid": _VIEW,
    "/rows": ("q", "find", *_WINDOW),
    "/answers": ("q", *_WINDOW),
    "/answer": ("item", "column", "against"),
    "/facets": ("q", "e"),
    "/marks": ("item", "who", "from", "count"),
    "/cells": ("from", "count", "left", "width", "step", "match", "q"),
}


@pytest.mark.long
@pytest.mark.parametrize("path", PARAMETERS)
def test_no_parameter_breaks_an_endpoint(browser, path):
    usual = {"item": "i1", "column": "0"}
    place = f"api/studies/tones{path}"
    for name in PARAMETERS[path]:
        for value in ODD:
            given = {**usual, name: value.encode("utf-8", "surrogatepass")}
            answer = browser.get(f"{place}?{urlencode(given)}")
            assert answer.status_code in (200, 400, 404), (name, value[:80], answer.status_code)
            if answer.status_code == 400:
                assert answer.json()["error"]["problem"], (name, value[:80])


_ODD_JSON = (
    *('"abc"', "[1]", "1e400", "-1", "1.5", "true", "null", "{}", '"\\u0000"', '"\\ud800"'),
    "9" * 30,
)


@pytest.mark.parametrize("path", ["marks", "marks/gold", "who"])
def test_no_body_breaks_an_endpoint(browser, path):
    place = f"api/{path}" if path == "who" else f"api/studies/tones/{path}"
    bodies = [b"", b"\x00", b"\xff", b"[1]", b"1e400", b"[" * 100_000, b'"a"', b"null"]
    for name in ("item", "column", "mark", "label", "note", "who", "blind", "seen", "model", "when"):
        for value in _ODD_JSON:
            about = {} if name == "item" else {"item": '"i1"'}
            about |= {} if name == "mark" else {"mark": '"agree"'}
            fields = about | {name: value}
            bodies.append(("{" + ",".join(f'"{key}":{one}' for key, one in fields.items()) + "}").encode())
    for body in bodies:
        answer = browser.post(place, content=body)
        assert answer.status_code in (200, 400, 404), (path, body[:200], answer.status_code)


def test_places_with_odd_names_are_not_there(browser):
    for name in ("%00", "a%00.svg", "%ff", "..%2f..%2fx.svg", "%ed%a0%80", "a" * 5000 + ".svg"):
        for place in ("page/{}", "api/studies/{}/grid"):
            assert browser.get(place.format(name)).status_code in (400, 404), (place, name)
        assert browser.delete(f"api/studies/tones/marks/{name}").status_code in (400, 404)


@pytest.mark.parametrize("chunked", [True, False])
def test_a_body_may_not_be_larger_than_a_file_of_marks(browser, monkeypatch, chunked):
    monkeypatch.setattr(application, "_MOST_BYTES", 10_000)
    pieces = (b" " * 1000 for _ in range(11))
    content = pieces if chunked else b"".join(pieces)
    answer = browser.post("api/studies/tones/marks", content=content)
    assert (answer.status_code, answer.json()["error"]["where"]) == (400, "body")


def test_a_report_has_an_address_of_its_own_which_opens_nothing_else(tmp_path):
    path = collected(tmp_path, count=2)
    (path.parent / "report.html").write_text("<p>A report")
    browser = client(path)
    link = browser.get("api/studies/tones").json()["report"]
    assert TOKEN not in link
    own = f"http://{OWN}/{link.removeprefix('../')}"
    answer = browser.get(own)
    assert (answer.status_code, answer.text) == (200, "<p>A report")
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert "sandbox" in answer.headers["content-security-policy"]
    assert "allow-same-origin" not in answer.headers["content-security-policy"]
    for more in ("api/studies", "reports/tones", "page/start.js", "..", "?x"):
        assert browser.get(own + more).status_code == (200 if more == "?x" else 404)
    assert browser.get("reports/tones").status_code == 404  # not where the token stands
    assert browser.get(own, headers={"origin": "null"}).status_code == 404


def test_the_study_is_only_read(tmp_path):
    path = collected(tmp_path, count=4)
    store = path.parent / "responses.db"
    before = store.read_bytes()
    browser = client(path)
    for one in ("", "/grid?q=is:flip", "/rows", "/answer?item=i1&column=0", "/facets"):
        assert browser.get(f"api/studies/tones{one}").status_code == 200
    browser.post("api/studies/tones/marks", json={"item": "i1", "mark": "agree"})
    assert store.read_bytes() == before
