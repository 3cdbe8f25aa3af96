"""Why a server cannot be reached is told apart, with what to do; so is a key that cannot be sent."""

import shlex
import shutil
import socket
import ssl
import subprocess
import threading
from contextlib import contextmanager, suppress

import pytest
from tests.models.serving import free_port, serving

from quaver.core.model import Needs
from quaver.errors import ModelError, Unavailable
from quaver.models.openai_compatible import OpenAICompatible
from quaver.testing.requests import one, request


@contextmanager
def listening(reply, tls=None):
    """The port of a server that says one thing to whoever comes, whatever is asked."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            with suppress(OSError):
                while True:
                    came, _ = server.accept()
                    with suppress(OSError), came:
                        wrapped = tls.wrap_socket(came, server_side=True) if tls else came
                        wrapped.recv(2**16)
                        wrapped.sendall(reply)

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]


def silent(url, **options):
    """The error, which is the same when the server is tried and when it is asked."""
    served = OpenAICompatible(model="m", base_url=url, **options)
    errors = []
    for work in (lambda: one(served, request()), lambda: served.probe(Needs())):
        with pytest.raises(Unavailable, match="does not answer") as caught:
            work()
        errors.append(caught.value)
    assert errors[0].found == errors[1].found
    assert errors[0].fix == errors[1].fix
    return errors[0]


def test_a_name_that_nobody_knows():
    error = silent("http://no-such-host.invalid:8000/v1")
    assert "DNS" in (error.found or "")
    assert "no-such-host.invalid:8000" in (error.found or "")
    assert "`base_url:`" in (error.fix or "")


@pytest.mark.long
def test_a_port_at_which_nothing_listens():
    port = free_port()
    error = silent(f"http://127.0.0.1:{port}/v1")
    assert error.found == f"nothing listens at 127.0.0.1:{port} (connection refused)"
    assert "`base_url:`" in (error.fix or "")
    error = silent(f"http://127.0.0.1:{port}/v1", preset="vllm")
    assert "vllm serve m" in (error.fix or "")


def test_a_reply_that_is_too_long_is_asked_for_once(monkeypatch):
    monkeypatch.setattr("quaver.models.served.http_pool.MOST_REPLY", 1000)
    with listening(b"HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n" + b"x" * 2000) as port:
        answer = one(OpenAICompatible(model="m", base_url=f"http://127.0.0.1:{port}/v1"), request())
    assert (answer.finish, answer.error) == ("error", "the reply holds more than 1,000 bytes")


def test_a_server_that_is_not_encrypted():
    with listening(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n") as port:
        error = silent(f"https://127.0.0.1:{port}/v1")
    assert "TLS" in (error.found or "")
    assert f"127.0.0.1:{port}" in (error.found or "")
    assert "`http://`" in (error.fix or "")


def test_a_certificate_that_nobody_signed(tmp_path):
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate with")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = shlex.split("openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -days 2")
    subprocess.run([*made, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    with listening(b"", tls) as port:
        error = silent(f"https://localhost:{port}/v1")
    assert "certificate" in (error.found or "")
    assert f"localhost:{port}" in (error.found or "")
    assert "SSL_CERT_FILE" in (error.fix or "")


@pytest.mark.parametrize(
    ("key", "named"),
    [
        ("\u201csk-abcdefgh\u201d", "U+201C (left double quotation mark) as character 1 of 13"),
        ("sk-abc\u00e9fgh", "U+00E9 (latin small letter e with acute) as character 7 of 10"),
        ("sk-abc\ndefgh", "U+000A (a control character) as character 7 of 12"),
        ("sk abcdefgh", "U+0020 (space) as character 3 of 11"),
        ("sk-abcdefgh\u200b", "U+200B (zero width space) as character 12 of 12"),
    ],
)
def test_a_key_that_cannot_be_sent(key, named, monkeypatch):
    monkeypatch.setenv("OTHER_API_KEY", key)
    with serving() as (url, server):
        served = OpenAICompatible(model="m", base_url=url, key="OTHER_API_KEY")
        for work in (lambda: one(served, request()), lambda: served.probe(Needs())):
            with pytest.raises(ModelError, match="OTHER_API_KEY") as caught:
                work()
            assert caught.value.found == named
            assert "export OTHER_API_KEY" in (caught.value.fix or "")
            assert key not in str(caught.value)
        assert server.seen == 0


def test_white_space_around_a_key_does_no_harm(monkeypatch):
    monkeypatch.setenv("OTHER_API_KEY", " sk-abcdefgh\n")
    with serving(key="sk-abcdefgh") as (url, _):
        assert one(OpenAICompatible(model="m", base_url=url, key="OTHER_API_KEY"), request()).finish == "stop"
