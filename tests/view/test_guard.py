"""Who gets anything from the server: the page that was opened with the address, and nobody else."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.view.viewed import PORT, TOKEN, client, collected

from quaver.view.guard import Guard

OWN = f"127.0.0.1:{PORT}"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    return client(collected(tmp_path_factory.mktemp("guarded"), count=4))


@pytest.mark.parametrize(
    "path", ["", "api/studies", "page/start.js", "api/studies/tones/raw?item=i1&column=0"]
)
@pytest.mark.parametrize(
    "token", ["", "x", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "%73ecret-toke", "..", f"./{TOKEN}x"]
)
def test_without_the_token_there_is_nothing(browser: TestClient, path: str, token: str) -> None:
    answer = browser.get(f"http://{OWN}/{token}/{path}")
    assert (answer.status_code, answer.content) == (404, b"")
    assert "quaver" not in str(answer.headers).lower()


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        f"evil.example:{PORT}",
        "127.0.0.1",
        "127.0.0.1:1",
        f"127.0.0.1.evil.example:{PORT}",
        f"0.0.0.0:{PORT}",
        "",
    ],
)
def test_another_name_of_the_host_gets_nothing(browser: TestClient, host: str) -> None:
    answer = browser.get("api/studies", headers={"host": host})
    assert (answer.status_code, answer.content) == (404, b"")


def test_its_own_names_are_answered(browser: TestClient) -> None:
    assert browser.get("api/studies").status_code == 200
    assert browser.get("api/studies", headers={"host": f"localhost:{PORT}"}).status_code == 200
    same = {"origin": f"http://{OWN}", "sec-fetch-site": "same-origin"}
    assert browser.get("api/studies", headers=same).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": f"https://{OWN}"},
        {"origin": "http://127.0.0.1:9999"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
    ],
)
def test_other_sites_get_nothing(browser: TestClient, headers: dict[str, str]) -> None:
    answer = browser.get("api/studies", headers=headers)
    assert (answer.status_code, answer.content) == (404, b"")


def test_what_changes_something_needs_the_pages_own_header(browser: TestClient) -> None:
    mark = {"item": "i1", "mark": "agree"}
    assert (
        browser.post("api/studies/tones/marks", json=mark, headers={"x-quaver-view": ""}).status_code == 404
    )
    assert browser.post("api/studies/tones/marks", json=mark).status_code == 200
    assert browser.put("api/studies/tones/marks", json=mark).status_code == 404
    assert browser.options("api/studies/tones/marks").status_code == 404


def test_no_answer_may_be_kept_framed_or_read_by_others(browser: TestClient) -> None:
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
def test_only_the_pages_own_files_are_served(browser: TestClient, name: str) -> None:
    answer = browser.get(f"http://{OWN}/{TOKEN}/page/{name}")
    assert answer.status_code == 404
    assert b"import" not in answer.content


def test_the_token_is_compared_in_constant_time() -> None:
    names = Guard._rest.__code__.co_names
    assert "compare_digest" in names


def test_an_error_tells_what_is_wrong(browser: TestClient) -> None:
    answer = browser.get("api/studies/tones/grid?q=lable:pos")
    assert answer.status_code == 400
    assert answer.json()["error"]["fix"] == "did you mean 'label'?"
    assert answer.json()["error"]["at"] == [0, 5]


def test_the_study_is_only_read(tmp_path: Path) -> None:
    path = collected(tmp_path, count=4)
    store = path.parent / "responses.db"
    before = store.read_bytes()
    browser = client(path)
    for one in ("", "/grid?q=is:flip", "/rows", "/answer?item=i1&column=0", "/item?item=i1", "/facets"):
        assert browser.get(f"api/studies/tones{one}").status_code == 200
    browser.post("api/studies/tones/marks", json={"item": "i1", "mark": "agree"})
    assert store.read_bytes() == before
