"""A key planted in a study, and whatever Quaver then wrote searched for it, byte by byte."""

import base64
import gzip
import html
import io
import json
import os
import sqlite3
import threading
import zipfile
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote

import polars as pl

__all__ = ["KEY", "PLACES", "SERVED", "VARIABLE", "echoing", "finds", "write_planted"]

VARIABLE = "PLANTED_GATE"
"""Nothing in its name says that it holds a key: a study's ``key:`` does."""

KEY = os.environ.get("QUAVER_PLANTED", 'zq7-plan"ted/Key+<Value>=42')
"""Escaped by JSON, by HTML and in an address."""

ITEMS = "id,group,text,truth\n" + "".join(
    f"i{n},g{n % 2},I {verb} the river of town {n}.,{truth}\n"
    for n, (verb, truth) in enumerate([("like", "positive"), ("hate", "negative"), ("like", "negative")] * 2)
)


def _study(url):
    model = {"name": "m", "use": "openai_compatible", "model": "m1", "base_url": url, "key": VARIABLE}
    return {
        "name": "planted",
        "task": {"labels": ["positive", "negative"]},
        "items": {
            "source": "items.csv",
            "id": "id",
            "text": "{{ text }}",
            "gold": "truth",
            "groups": ["group"],
        },
        "prompt": {"instruction": "Is this positive or negative?"},
        "variants": [{"use": "instructions", "texts": {"curt": "Positive?"}}],
        "models": [model],
        "evaluators": [{"use": "first_label"}],
        "measures": [{"use": "accuracy"}, {"use": "inter_pss"}],
    }


def _put(*loc, value=KEY):
    """Put the key at a place of the study."""

    def plant(study, key):
        node = study
        for part in loc[:-1]:
            node = node[part]
        node[loc[-1]] = json.loads(json.dumps(value).replace(json.dumps(KEY)[1:-1], json.dumps(key)[1:-1]))

    return plant


def _address(change):
    def plant(study, key):
        study["models"][0]["base_url"] = change(study["models"][0]["base_url"], key)

    return plant


PLACES = {
    "name": _put("name"),
    "label": _put("task", "labels", value=["positive", "negative", KEY]),
    "definition": _put("task", "labels", value=[{"code": "positive", "definition": KEY}, "negative"]),
    "instruction": _put("prompt", "instruction", value=f"Is this positive? {KEY}"),
    "system": _put("prompt", "system"),
    "paraphrase": _put("variants", 0, "texts", "curt"),
    "level": _put("variants", 0, "texts", value={KEY: "Positive?"}),
    "factor": _put("variants", 0, "factor"),
    "model name": _put("models", 0, "name"),
    "model": _put("models", 0, "model"),
    "version": _put("models", 0, "version"),
    "key": _put("models", 0, "key"),
    "preset": _put("models", 0, "preset"),
    "unknown option": _put("models", 0, "token"),
    "engine": _put("models", 0, "use"),
    "body": _put("models", 0, "body", value={"user": KEY}),
    "body, a key": _put("models", 0, "body", value={KEY: "x"}),
    "body, deep": _put("models", 0, "body", value={"extra": [{"auth": {"token": KEY}}]}),
    "decoding": _put("decoding", value={"main": {"temperature": 0, "stop": [KEY]}}),
    "decoding's name": _put("decoding", value={KEY: {"temperature": 0}}),
    "evaluator": _put("evaluators", value=[{"use": "pattern", "pattern": "x", "name": KEY}]),
    "evaluator's use": _put("evaluators", 0, "use"),
    "measure": _put("measures", value=[{"use": KEY}]),
    "by": _put("measures", 0, "by", value=[KEY]),
    "source of items": _put("items", "source"),
    "column": _put("items", "gold"),
    "unknown key": _put(KEY, value=1),
    "userinfo": _address(lambda url, key: url.replace("://", f"://user:{quote(key, safe='')}@")),
    "no scheme": _address(lambda url, key: f"user:{key}@localhost/v1"),
    "query": _address(lambda url, key: f"{url}?api_key={quote(key, safe='')}"),
    "fragment": _address(lambda url, key: f"{url}#api_key={quote(key, safe='')}"),
    "path": _address(lambda url, key: url.replace("/v1", f"/{quote(key, safe='')}/v1")),
    "host": _address(lambda url, key: f"http://{key}"),
}
"""Where a key can stand in a study file."""

SERVED = ("text", "model", "system_fingerprint", "header", "version", "encoded")
"""Where a server can repeat the key that it was sent, beside an error."""


def write_planted(folder, url, place, *, comment="", function=False):
    """Write the study and its items, with the key in a place of its study file."""
    study = _study(url)
    if function:
        study["models"] = [{"name": "m", "use": "function"}]
    if place is not None:
        PLACES[place](study, KEY)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "items.csv").write_text(ITEMS, encoding="utf-8")
    (folder / "study.yaml").write_text(comment + json.dumps(study, indent=1), encoding="utf-8")


@contextmanager
def echoing(places=()):
    """A server's address; what it was sent as a key it says again in these places of its replies."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_GET(self):
            self._say({"data": [{"id": "m1", "version": self._key("version")}]})

        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            told = json.dumps(asked["messages"])
            if "error" in places and "town 3" in told:
                self._say({"error": {"message": f"no answer to {self._key('error')}"}}, 400)
                return
            encoded = base64.b64encode(self._key("encoded").encode()).decode() + quote(self._key("encoded"))
            text = f"{'positive' if 'like' in told else 'negative'} {self._key('text')} {encoded}"
            reply = {
                "id": "1",
                "model": f"m1 {self._key('model')}",
                "system_fingerprint": f"fp {self._key('system_fingerprint')}",
                "choices": [
                    {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
                ],
                "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11},
            }
            self._say(reply)

        def _key(self, where):
            sent = self.headers.get("Authorization", "").removeprefix("Bearer ")
            return sent if where in places else ""

        def _say(self, document, status=200):
            content = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.send_header("x-echo", self._key("header"))
            self.end_headers()
            self.wfile.write(content)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()


def finds(content, key=KEY):
    """Whether a key stands in a file's bytes: plain or escaped, in members, cells and columns."""
    return any(form in part for part in _parts(content) for form in _forms(key))


def _forms(key):
    texts = [key, json.dumps(key)[1:-1], html.escape(key), html.escape(key, quote=False), quote(key)]
    texts += [quote(key, safe=""), quote(key, safe="").lower(), key.replace('"', '""')]
    texts += [base64.b64encode(key.encode()).decode().rstrip("=")[:-1]]
    texts += [json.dumps(json.dumps(key))[3:-3], key.encode().hex()]
    return [text.encode() for text in texts]


def _parts(content):
    yield content
    if content.startswith(b"PK\3\4"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for name in archive.namelist():
                yield name.encode()
                yield from _parts(archive.read(name))
    elif content.startswith(b"\x1f\x8b"):
        yield from _parts(gzip.decompress(content))
    elif content.startswith(b"SQLite format 3"):
        with closing(sqlite3.connect(":memory:")) as db:
            db.deserialize(content[:18] + b"\1\1" + content[20:])  # as WAL it could not be read from memory
            tables = "SELECT name FROM sqlite_master WHERE type = 'table'"
            for table in [row[0] for row in db.execute(tables)]:
                for row in db.execute(f'SELECT * FROM "{table}"'):
                    yield repr(row).encode()
                    yield "\n".join(str(cell) for cell in row).encode("utf-8", "replace")
    elif content.startswith(b"PAR1"):
        frame = pl.read_parquet(io.BytesIO(content))
        for column in frame.select(pl.col(pl.String, pl.Categorical).cast(pl.String)):
            yield "\n".join(str(value) for value in column.unique()).encode()
