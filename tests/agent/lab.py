"""A program, a checker that knows the right answer, and a loopback server that misbehaves on demand."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from solar_agent.agent.desk import Checker
from solar_agent.ir.bindings import Bindings, TensorType
from solar_agent.verifier.certificate import Certificate, Failure
from solar_agent.verifier.types import Description, Leaf

SOURCE = '''import torch


class Model(torch.nn.Module):
    def __init__(self, k, n):
        super().__init__()
        self.w = torch.nn.Parameter(torch.rand(k, n))

    def forward(self, x):
        """Documented with a fence: ```x @ w```."""
        return x @ self.w


def get_inputs():
    return [torch.rand(4, 16)]


def get_init_inputs():
    return [16, 8]
'''
RIGHT = """program product
input x[B, K]
param w = "w"[K, N]
for b<B, n<N, k<K: y[b, n] += x[b, k] * w[k, n]
output y
"""
# What is left when the answer is cut before the weight: it parses, and it is another program.
CUT = """program product
input x[B, K]
for b<B, k<K: y[b] += x[b, k]
output y
"""
AMBIENT = (
    "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_MODEL", "ANTHROPIC_API_KEY",
    "ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE", "ANTHROPIC_MODEL",
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy",
)  # fmt: skip


def product() -> Description:
    bindings = Bindings(
        inputs={"x": TensorType((4, 16), "f32")},
        state={"w": TensorType((16, 8), "f32")},
        attrs={"arg.k": 16, "arg.n": 8},
    )
    return Description(
        path="/somewhere/product.py",
        entry="Model",
        kind="module",
        framework="torch",
        framework_version="2.13.0",
        mode="eval",
        source=SOURCE,
        sources={"product.py": SOURCE},
        source_sha256="5" * 64,
        signature="forward(self, x)",
        default_dtype="f32",
        bindings=bindings,
        domains={},
        leaves=(Leaf("result", "", "f32", (4, 8)),),
    )


def certificate_for(text: str, *failures: Failure) -> Certificate:
    return Certificate(
        verdict="unverified" if failures else "verified",
        flags=(),
        entry="Model",
        mode="eval",
        source_sha256="5" * 64,
        ir_sha256=text,
        tool_version="0",
        versions={},
        sizes=(),
        trials=(),
        leaves=(),
        failures=failures,
    )


@dataclass
class Judge:
    """Accepts the text that multiplies by the weight; a text may bring its own complaint in a `#! ` line."""

    verified: list[str] = field(default_factory=list)
    rechecked: list[str] = field(default_factory=list)
    still_right: bool = True

    def verify(self, text: str, left_s: float | None) -> Certificate:
        self.verified.append(text)
        return self.judged(text)

    def judged(self, text: str) -> Certificate:
        if "x[b, k] * w[k, n]" in text:
            return certificate_for(text)
        complaints = [line[3:] for line in text.splitlines() if line.startswith("#! ")]
        message = complaints[0] if complaints else "the result differs: expected 0.123456, got 7.65432e+10"
        return certificate_for(text, Failure("compare", message, 3))

    def recheck(self, text: str, certificate: Certificate) -> Certificate:
        self.rechecked.append(text)
        return self.judged(text) if self.still_right else self.judged("")

    @property
    def checker(self) -> Checker:
        return Checker(self.verify, self.recheck)


@dataclass
class Reply:
    """One answer of the server: a body (JSON, text or raw bytes), or `reset` to cut the connection."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    reset: bool = False
    cut: bool = False


@dataclass
class Server:
    """Answers with `script[n](n, request body)` for the n-th request, the last one for ever."""

    port: int = 0
    script: list[Reply | Callable[[dict[str, Any]], Reply]] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    request_headers: list[dict[str, str]] = field(default_factory=list)

    def url(self, provider: str) -> str:
        return f"http://127.0.0.1:{self.port}" + ("/v1" if provider == "openai" else "")

    def next(self, body: dict[str, Any]) -> Reply:
        self.requests.append(body)
        step = self.script[min(len(self.requests), len(self.script)) - 1]
        return step if isinstance(step, Reply) else step(body)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    script: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        self.script.request_headers.append({name.lower(): value for name, value in self.headers.items()})
        reply = self.script.next(body)
        if reply.reset:
            self.close_connection = True
            self.connection.close()
            return
        kind = "application/json"
        if isinstance(reply.body, bytes):
            raw = reply.body
        elif isinstance(reply.body, str):
            raw, kind = reply.body.encode(), "text/html"
        else:
            raw = json.dumps(reply.body).encode()
        self.send_response(reply.status)
        for name, value in {"content-type": kind, **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(raw) + (100 if reply.cut else 0)))
        self.end_headers()
        self.wfile.write(raw)
        if reply.cut:
            self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serving() -> Iterator[Server]:
    made = Server()
    handler = type("Scripted", (Handler,), {"script": made})
    http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    http.daemon_threads = True
    http.handle_error = lambda request, address: None  # type: ignore[method-assign]  # resets are what is tested
    made.port = http.server_address[1]
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield made
    http.shutdown()
    http.server_close()
    thread.join()


def said(provider: str, text: str | None, finish: str | None = None, **more: Any) -> Reply:
    """A provider's answer with this text. `finish` in the provider's own word."""
    if provider == "openai":
        message = {"role": "assistant", "content": text, **more.get("message", {})}
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        usage |= {"prompt_tokens_details": {"cached_tokens": 40}}
        choice = {"index": 0, "finish_reason": finish or "stop", "message": message}
        return Reply({"id": "c", "object": "chat.completion", "created": 0, "model": "fake", "choices": [choice],
                      "usage": usage})  # fmt: skip
    blocks = more.get("blocks", [{"type": "text", "text": text}] if text is not None else [])
    usage = {"input_tokens": 50, "output_tokens": 10, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 10}
    head = {"id": "m", "type": "message", "role": "assistant", "model": "fake", "stop_sequence": None}
    body = {**head, "content": blocks, "stop_reason": finish or "end_turn", "usage": usage}
    return Reply(body | more.get("body", {}))


def fenced(text: str) -> str:
    return f"Here it is.\n```alir\n{text}```\n"
