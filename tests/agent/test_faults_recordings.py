"""Recordings between users, kind F25: no secret in a file, a reordered body plays, another one does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from solar_agent.agent.cassette import canonical, recorder, scan

from .lab import RIGHT, Reply, Server, fenced, said

KEY = "FAKE-KEY-123"
SECRETS = (KEY, "COOKIE-SECRET", "ORG-SECRET")
BODY = {"model": "fake-1", "messages": [{"role": "user", "content": "translate x @ w"}], "max_tokens": 100}
HEADERS = {"authorization": f"Bearer {KEY}", "x-api-key": KEY, "cookie": "sid=COOKIE-SECRET"}


def post(server: Server, body: bytes) -> Any:
    import httpx

    content = {"content-type": "application/json", **HEADERS}
    with httpx.Client(trust_env=False, timeout=5) as client:
        return client.post(f"http://127.0.0.1:{server.port}/messages", content=body, headers=content)


@pytest.fixture
def tape(server: Server, tmp_path: Path) -> Path:
    """One answer that echoes the key, recorded; after that the server would give another one."""
    answer = said("anthropic", f"key seen: {KEY}\n{fenced(RIGHT)}")
    answer.headers |= {"set-cookie": "sid=COOKIE-SECRET", "anthropic-organization-id": "ORG-SECRET"}
    server.script = [answer, Reply({"error": "the network was asked"}, 500)]
    path = tmp_path / "tape.yaml"
    with recorder("all", (KEY,)).use_cassette(str(path)):
        assert KEY in post(server, json.dumps(BODY).encode()).text
    assert len(server.requests) == 1
    return path


def test_the_files_hold_no_secret(tape: Path, server: Server) -> None:
    assert KEY in str(server.request_headers[0])  # it was sent
    found = b"".join(path.read_bytes() for path in tape.parent.rglob("*") if path.is_file())
    assert not [secret for secret in SECRETS if secret.encode() in found]
    assert b"key seen: REDACTED" in found
    scan(tape, SECRETS)


def reordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reordered(value[key]) for key in reversed(value)}
    return [reordered(item) for item in value] if isinstance(value, list) else value


def test_a_body_with_its_keys_in_another_order_plays(tape: Path, server: Server) -> None:
    other = json.dumps(reordered(BODY), indent=3).encode()
    assert other != json.dumps(BODY).encode() and canonical(other) == canonical(json.dumps(BODY).encode())
    with recorder("none").use_cassette(str(tape)):
        replayed = post(server, other)
    assert replayed.status_code == 200 and "key seen: REDACTED" in replayed.json()["content"][0]["text"]
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"messages": [{"role": "user", "content": "translate x @ v"}]}, id="prompt"),
        pytest.param({"max_tokens": 101}, id="limit"),
        pytest.param({"temperature": 0}, id="field-more"),
    ],
)
def test_another_request_is_an_error_and_asks_nobody(tape: Path, server: Server, change: dict[str, Any]) -> None:
    from vcr.errors import CannotOverwriteExistingCassetteException

    with recorder("none").use_cassette(str(tape)), pytest.raises(CannotOverwriteExistingCassetteException):
        post(server, json.dumps({**BODY, **change}).encode())
    assert len(server.requests) == 1
