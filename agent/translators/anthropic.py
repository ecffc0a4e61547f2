"""The Messages wire format, through the anthropic SDK."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from ..retry import Clock, ProviderError, Transient
from ..state import Usage
from .base import (
    TOOL_DESCRIPTION,
    TOOL_NAME,
    TOOL_SCHEMA,
    Answer,
    Exchange,
    Request,
    ToolCall,
    html_fault,
    no_finish,
    status_fault,
)

BASE_URL = "https://api.anthropic.com"
COMPLETE = ("end_turn", "stop_sequence", "tool_use")
CUT = ("max_tokens", "model_context_window_exceeded")
CACHED = {"type": "ephemeral"}


@dataclass(slots=True)
class MessagesWire:
    """`timeout_s` is set explicitly: the SDK refuses long answers without one."""

    api_key: str
    base_url: str = BASE_URL
    submit_tool: bool = False
    timeout_s: float = 600.0
    clock: Clock = field(default_factory=Clock)
    name: str = "anthropic"
    _client: Any = None

    def send(self, request: Request, model: str, limit_tokens: int, exchanges: tuple[Exchange, ...]) -> Answer:
        import anthropic
        import httpx2

        try:
            body = self.body(request, model, limit_tokens, exchanges)
            timeout_s = min(self.timeout_s, request.deadline_s or self.timeout_s)
            message = self._opened().messages.create(**body, timeout=timeout_s)
        except anthropic.APIStatusError as error:
            raise self._status(error) from error
        except (anthropic.APIConnectionError, httpx2.HTTPError) as error:
            raise Transient(f"no connection ({type(error).__name__})", tries=4) from error
        except json.JSONDecodeError as error:
            raise Transient("the answer was broken JSON", tries=2) from error
        except anthropic.APIError as error:
            raise ProviderError(f"{self.name}: {' '.join(str(error).split())[:300]}") from error
        if isinstance(message, str):
            raise html_fault(self.name, message)
        return self._answer(message)

    def body(
        self, request: Request, model: str, limit_tokens: int, exchanges: tuple[Exchange, ...] = ()
    ) -> dict[str, Any]:
        """The system part is constant, so the provider may keep it; so is the program over one run."""
        prompt = request.prompt
        program = {"type": "text", "text": prompt.program, "cache_control": CACHED}
        content = [program, {"type": "text", "text": prompt.task}]
        body: dict[str, Any] = {
            "model": model,
            "max_tokens": limit_tokens,
            "system": [{"type": "text", "text": prompt.system, "cache_control": CACHED}],
            "messages": [{"role": "user", "content": content}, *_history(exchanges)],
        }
        if self.submit_tool:
            body["tools"] = [{"name": TOOL_NAME, "description": TOOL_DESCRIPTION, "input_schema": TOOL_SCHEMA}]
        return body

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def _opened(self) -> Any:  # noqa: ANN401
        if self._client is None:
            import anthropic

            self._client = anthropic.Anthropic(
                api_key=self.api_key,
                base_url=self.base_url,
                max_retries=0,
                timeout=self.timeout_s,
                open_telemetry={"traces": False, "propagation": False},
            )
        return self._client

    def _status(self, error: Any) -> Exception:  # noqa: ANN401
        if error.status_code < 400:
            return Transient("the stream reported an error", tries=2)
        return status_fault(
            self.name, error.status_code, error.response.headers, str(error.message), None, self.clock.now()
        )

    def _answer(self, message: Any) -> Answer:  # noqa: ANN401
        blocks = message.content or []
        text = "".join(block.text for block in blocks if block.type == "text")
        calls = tuple(ToolCall(block.id, block.input) for block in blocks if block.type == "tool_use")
        usage, model, reason = _usage(message.usage), str(message.model), message.stop_reason
        if reason in CUT:
            return Answer("cut", "", usage, model)
        if reason == "refusal":
            details = getattr(message, "stop_details", None)
            category = getattr(details, "category", None)
            return Answer("declined", "", usage, model, detail=f" (category {category})" if category else "")
        if reason not in COMPLETE:
            raise no_finish(self.name, reason)
        return Answer("complete", text, usage, model, calls)


def _history(exchanges: tuple[Exchange, ...]) -> list[dict[str, Any]]:
    """A call is echoed with an object as its input, whatever the model sent: the API takes nothing else back."""
    turns: list[dict[str, Any]] = []
    for exchange in exchanges:
        call = exchange.call
        given = call.arguments if isinstance(call.arguments, dict) else {}
        turns.append(
            {"role": "assistant", "content": [{"type": "tool_use", "id": call.id, "name": TOOL_NAME, "input": given}]}
        )
        result = {"type": "tool_result", "tool_use_id": call.id, "is_error": True, "content": exchange.complaint}
        turns.append({"role": "user", "content": [result]})
    return turns


def _usage(usage: Any) -> Usage:  # noqa: ANN401
    if usage is None:
        return Usage()
    read = getattr(usage, "cache_read_input_tokens", None) or 0
    written = getattr(usage, "cache_creation_input_tokens", None) or 0
    return Usage((usage.input_tokens or 0) + read + written, usage.output_tokens or 0, read)
