"""A server on 127.0.0.1 that says a given text in the providers' wire formats, for making recordings.

It stands in for no vendor: the recordings say who wrote the text, and that the token counts are estimates."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CHARACTERS_PER_TOKEN = 4


@dataclass(slots=True)
class Speaker:
    """`text` is the answer to the next request."""

    port: int
    text: str = ""
    served: int = 0

    def base_url(self, provider: str) -> str:
        return f"http://127.0.0.1:{self.port}" + ("/v1" if provider == "openai" else "")


def chat_completion(number: int, model: str, text: str, question: str) -> dict[str, Any]:
    asked, said = tokens(question), tokens(text)
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said},
    }


def message(number: int, model: str, text: str, question: str) -> dict[str, Any]:
    return {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": tokens(question), "output_tokens": tokens(text)},
    }


FORMATS = {"/v1/chat/completions": chat_completion, "/v1/messages": message}


def tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)


@contextmanager
def speaking() -> Iterator[Speaker]:
    speaker = Speaker(0)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
            form = FORMATS.get(self.path)
            if form is None:
                self._answer(404, {"error": {"message": f"no {self.path} here"}})
                return
            speaker.served += 1
            self._answer(200, form(speaker.served, str(body["model"]), speaker.text, _question(body)))

        def _answer(self, status: int, data: dict[str, Any]) -> None:
            raw = json.dumps(data).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, format: str, *args: object) -> None:
            """Requests are not logged."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    speaker.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield speaker
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _question(body: dict[str, Any]) -> str:
    """All texts of a request, run together: what its input tokens are estimated from."""

    def texts(node: object) -> Iterator[str]:
        if isinstance(node, dict):
            for key in ("system", "messages", "content", "text"):
                yield from texts(node.get(key))
        elif isinstance(node, list):
            for item in node:
                yield from texts(item)
        elif isinstance(node, str):
            yield node

    return "".join(texts(body))
