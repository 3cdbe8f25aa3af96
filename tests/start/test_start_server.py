"""Who gets anything from ``quaver start``, and what a page may load."""

import re
import socket
from urllib.parse import urlsplit

import httpx2 as httpx
import pytest
from tests.start.started import started

pytest.importorskip("nicegui")

SECRET = "sk-planted-4bX9-4bX9-4bX9"
HOSTILE = '<script>window.ran=1</script><img src=x onerror="window.ran=2">'


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studies")
    (folder / f"{HOSTILE.replace('/', '')}-check").mkdir()
    (folder / f"{HOSTILE.replace('/', '')}-check" / "start.json").write_text(
        '{"source": "../a.csv", "options": {}}', encoding="utf-8"
    )
    with started(folder, {"OPENAI_API_KEY": SECRET}) as found:
        yield found


def test_the_first_page_has_a_policy_with_a_new_number_each_time(address):
    policies = []
    for _ in range(2):
        reply = httpx.get(address)
        assert reply.status_code == 200
        policy = reply.headers["content-security-policy"]
        policies.append(policy)
        (nonce,) = re.findall(r"'nonce-([^']+)'", policy)
        assert "default-src 'none'" in policy
        assert "'unsafe-inline'" not in policy.partition("script-src")[2].partition(";")[0]
        assert all(nonce in one for one in re.findall("<script[^>]*>", reply.text))
        assert "http://" not in policy
        assert "https://" not in policy
    assert policies[0] != policies[1]


def test_no_page_holds_a_key_and_no_name_is_markup(address):
    text = httpx.get(address).text
    assert SECRET not in text
    assert "<script>window.ran" not in text
    assert "<img src=x" not in text


@pytest.mark.parametrize("path", ["", "study/x/texts", "_nicegui_ws/socket.io/", "docs", "openapi.json"])
@pytest.mark.parametrize("token", ["", "x", "wrong-token-wrong-token-wrong-to"])
def test_without_the_token_there_is_nothing(address, token, path):
    base = f"http://{urlsplit(address).netloc}"
    reply = httpx.get(f"{base}/{token}/{path}")
    assert (reply.status_code, reply.content) == (404, b"")


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "127.0.0.1"},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
    ],
)
def test_other_sites_get_nothing(address, headers):
    reply = httpx.get(f"{address}study/x/texts", headers=headers)
    assert (reply.status_code, reply.content) == (404, b"")


def _opens_socket(address, origin, token=None):
    parts = urlsplit(address)
    path = f"/{token or parts.path.strip('/')}/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
    lines = [f"GET {path} HTTP/1.1", f"Host: {parts.netloc}", "Upgrade: websocket", "Connection: Upgrade"]
    lines += ["Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]
    lines += [f"Origin: {origin}"] if origin else []
    with socket.create_connection((parts.hostname, parts.port), timeout=5) as made:
        made.sendall("\r\n".join([*lines, "", ""]).encode())
        return made.recv(100).startswith(b"HTTP/1.1 101")


def test_only_the_page_itself_opens_a_socket(address):
    own = f"http://{urlsplit(address).netloc}"
    assert _opens_socket(address, own)
    for other in (None, "http://evil.example", "null", own.replace("http", "https")):
        assert not _opens_socket(address, other)
    assert not _opens_socket(address, own, token="x")


def test_what_changes_something_needs_the_pages_own_header(address):
    own = f"http://{urlsplit(address).netloc}"
    reply = httpx.post(f"{address}_nicegui/client/x/upload/1", headers={"origin": own}, content=b"x")
    assert (reply.status_code, reply.content) == (404, b"")


@pytest.mark.parametrize("length", [None, str(300 << 20)])
def test_an_upload_says_how_long_it_is_and_has_a_budget(address, length):
    parts = urlsplit(address)
    lines = [f"POST {parts.path}_nicegui/client/x/upload/1 HTTP/1.1", f"Host: {parts.netloc}"]
    lines += [f"Origin: http://{parts.netloc}", "x-quaver-view: 1"]
    lines += ["Transfer-Encoding: chunked"] if length is None else [f"Content-Length: {length}"]
    with socket.create_connection((parts.hostname, parts.port), timeout=5) as made:
        made.sendall("\r\n".join([*lines, "", ""]).encode())
        assert made.recv(100).startswith(b"HTTP/1.1 413")


def test_a_study_that_is_not_there_is_an_error_in_words(address):
    reply = httpx.get(f"{address}study/none/texts")
    assert reply.status_code == 200
    assert "None is not" in reply.text or "unknown study" in reply.text.lower() or "No study" in reply.text


def test_a_page_is_there_before_its_table_is_read(address):
    """The table of this study is not there, which only whoever reads it finds out."""
    (name,) = re.findall(r"study/([^/]*)/texts", httpx.get(address).text)[:1]
    reply = httpx.get(f"{address}study/{name}/texts")
    assert "Reading" in reply.text
    assert "no such file" not in reply.text


def test_a_folder_that_is_not_there_is_one_error(tmp_path):
    from quaver.errors import QuaverError
    from quaver.start.start_server import serve

    with pytest.raises(QuaverError):
        serve(tmp_path / "none")
