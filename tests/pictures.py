"""Small pictures and recordings, made byte by byte, and a server that keeps what it is sent."""

import struct
import zlib
from contextlib import contextmanager

from tests.local_engines import JsonServer


def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width=2, height=3, shade=0, more=b""):
    """A PNG of one shade of grey; ``more`` makes it larger."""
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\0" + bytes([shade]) * width) * height)
    text = _chunk(b"tEXt", b"Comment\0" + more) if more else b""
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + text + _chunk(b"IDAT", rows) + _chunk(b"IEND", b"")


def jpeg(width=4, height=5):
    """The segments of a JPEG, in a size that a reader of headers finds."""
    frame = struct.pack(">BHHB", 8, height, width, 1) + b"\1\x11\0"
    segments = [(0xE0, b"JFIF\0\1\1\0\0\1\0\1\0\0"), (0xC0, frame), (0xDA, b"\1\1\0\0\x3f\0")]
    made = b"".join(
        b"\xff" + bytes([code]) + struct.pack(">H", len(data) + 2) + data for code, data in segments
    )
    return b"\xff\xd8" + made + b"\x2a\xff\xd9"


def gif(width=6, height=7):
    """A GIF without a picture in it."""
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0\0\0" + b";"


def webp(width=8, height=9):
    """A WebP with the header of an extended file."""
    sides = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    body = b"WEBPVP8X" + struct.pack("<I", 10) + b"\0\0\0\0" + sides
    return b"RIFF" + struct.pack("<I", len(body)) + body


def wav(samples=100):
    """A second of silence, or less."""
    head = struct.pack("<IHHIIHH", 16, 1, 1, 8000, 8000, 1, 8)
    body = b"WAVEfmt " + head + b"data" + struct.pack("<I", samples) + b"\x80" * samples
    return b"RIFF" + struct.pack("<I", len(body)) + body


def pdf(texts, streams=None):
    """A PDF file with a text on each page, or with streams as they are."""
    streams = streams or [f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode() for text in texts]
    kids = " ".join(f"{4 + 2 * at} 0 R" for at in range(len(streams)))
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Count {len(streams)}/Kids[{kids}]>>".encode(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for at, stream in enumerate(streams):
        page = f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents {5 + 2 * at} 0 R"
        objects.append(f"{page}/Resources<</Font<</F1 3 0 R>>>>>>".encode())
        packed = zlib.compress(stream, 9)
        head = f"<</Filter/FlateDecode/Length {len(packed)}>>stream\n".encode()
        objects.append(head + packed + b"\nendstream")
    made, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(made))
        made += f"{number} 0 obj".encode() + content + b"endobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    end = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer<</Size {size}/Root 1 0 R>>\n"
    return made + f"{end}startxref\n{len(made)}\n%%EOF".encode()


def _parts(turn):
    content = turn.get("content", turn.get("parts"))
    return [{"text": content}] if isinstance(content, str) else content


@contextmanager
def keeping_server(label="cat"):
    """Its address, and a list of the path and the body of each request that it is sent, in three dialects."""
    sent = []

    def reply(path, body):
        if body is None:
            return {"data": [{"id": "m"}]}
        sent.append((path, body))
        if path.endswith("/messages"):
            usage = {"input_tokens": 300, "output_tokens": 1}
            text = [{"type": "text", "text": label}]
            return {
                "type": "message",
                "model": "m",
                "content": text,
                "stop_reason": "end_turn",
                "usage": usage,
            }
        if "generateContent" in path:
            content = {"role": "model", "parts": [{"text": label}]}
            usage = {"promptTokenCount": 300, "candidatesTokenCount": 1}
            return {"candidates": [{"content": content, "finishReason": "STOP"}], "usageMetadata": usage}
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": label}}
        return {"model": "m", "choices": [choice], "usage": {"prompt_tokens": 300, "completion_tokens": 1}}

    server = JsonServer(reply)
    try:
        yield server.url, sent
    finally:
        server.close()


def shown(body):
    """The parts of a request that are no text."""
    turns = body.get("messages") or body.get("contents")
    return [part for turn in turns for part in _parts(turn) if "text" not in part]
