"""The Chat Completions and Responses wire formats, through the openai SDK."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal

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

BASE_URL = "https://api.openai.com/v1"


@dataclass(slots=True)
class OpenAIWire:
    """`limit_field` names the output limit: compatible servers know `max_tokens`, OpenAI's newer models only the other.
    None: by the address."""

    api_key: str
    base_url: str = BASE_URL
    api: Literal["chat", "responses"] = "chat"
    submit_tool: bool = False
    limit_field: str | None = None
    timeout_s: float = 600.0
    clock: Clock = field(default_factory=Clock)
    name: str = "openai"
    _client: Any = None

    def send(self, request: Request, model: str, limit_tokens: int, exchanges: tuple[Exchange, ...]) -> Answer:
        import httpx2
        import openai

        body = self.body(request, model, limit_tokens, exchanges)
        client = self._opened()
        create = client.chat.completions.create if self.api == "chat" else client.responses.create
        try:
            completion = create(**body, timeout=min(self.timeout_s, request.deadline_s or self.timeout_s))
        except openai.APIStatusError as error:
            message, code, headers = str(error.message), error.code, error.response.headers
            raise status_fault(self.name, error.status_code, headers, message, code, self.clock.now()) from error
        except (openai.APIConnectionError, httpx2.HTTPError) as error:
            raise Transient(f"no connection ({type(error).__name__})", tries=4) from error
        except json.JSONDecodeError as error:
            raise Transient("the answer was broken JSON", tries=2) from error
        except openai.APIError as error:
            raise ProviderError(f"{self.name}: {' '.join(str(error).split())[:300]}") from error
        if isinstance(completion, str):
            raise html_fault(self.name, completion)
        return self._chat_answer(completion) if self.api == "chat" else self._response_answer(completion)

    def body(
        self, request: Request, model: str, limit_tokens: int, exchanges: tuple[Exchange, ...] = ()
    ) -> dict[str, Any]:
        return (self._chat_body if self.api == "chat" else self._response_body)(request, model, limit_tokens, exchanges)

    def _chat_body(
        self, request: Request, model: str, limit_tokens: int, exchanges: tuple[Exchange, ...]
    ) -> dict[str, Any]:
        theirs = self.base_url.rstrip("/") == BASE_URL
        body: dict[str, Any] = {
            "model": model,
            self.limit_field or ("max_completion_tokens" if theirs else "max_tokens"): limit_tokens,
            "messages": [
                {"role": "system", "content": request.prompt.system},
                {"role": "user", "content": request.prompt.user},
                *_chat_history(exchanges),
            ],
        }
        if self.submit_tool:
            function = {"name": TOOL_NAME, "description": TOOL_DESCRIPTION, "parameters": TOOL_SCHEMA}
            body["tools"] = [{"type": "function", "function": function}]
        return body

    def _response_body(
        self, request: Request, model: str, limit_tokens: int, exchanges: tuple[Exchange, ...]
    ) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": model,
            "max_output_tokens": limit_tokens,
            "instructions": request.prompt.system,
            "input": [{"role": "user", "content": request.prompt.user}, *_response_history(exchanges)],
            "store": False,
        }
        if self.submit_tool:
            function = {"name": TOOL_NAME, "description": TOOL_DESCRIPTION, "parameters": TOOL_SCHEMA, "strict": True}
            body["tools"] = [{"type": "function", **function}]
        return body

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def _opened(self) -> Any:  # noqa: ANN401
        if self._client is None:
            import openai

            self._client = openai.OpenAI(
                api_key=self.api_key, base_url=self.base_url, max_retries=0, timeout=self.timeout_s
            )
        return self._client

    def _chat_answer(self, completion: Any) -> Answer:  # noqa: ANN401
        if not completion.choices:
            raise no_finish(self.name, None)
        choice = completion.choices[0]
        usage, model, message = _chat_usage(completion.usage), str(completion.model), choice.message
        if choice.finish_reason == "length":
            return Answer("cut", "", usage, model)
        if choice.finish_reason == "content_filter":
            return Answer("declined", "", usage, model, detail=" (content filter)")
        if getattr(message, "refusal", None):
            return Answer("declined", "", usage, model)
        if choice.finish_reason not in ("stop", "tool_calls"):
            raise no_finish(self.name, choice.finish_reason)
        functions = [call for call in message.tool_calls or [] if call.type == "function"]
        calls = tuple(ToolCall(call.id, _parsed(call.function.arguments)) for call in functions)
        return Answer("complete", message.content or "", usage, model, calls)

    def _response_answer(self, response: Any) -> Answer:  # noqa: ANN401
        usage, model = _response_usage(response.usage), str(response.model)
        if response.status == "incomplete":
            reason = getattr(response.incomplete_details, "reason", None)
            if reason == "max_output_tokens":
                return Answer("cut", "", usage, model)
            return Answer("declined", "", usage, model, detail=f" ({reason})")
        if response.status != "completed":
            raise no_finish(self.name, response.status)
        messages = [item for item in response.output if item.type == "message"]
        parts = [part for message in messages for part in message.content]
        if any(part.type == "refusal" for part in parts):
            return Answer("declined", "", usage, model)
        functions = [item for item in response.output if item.type == "function_call"]
        calls = tuple(ToolCall(item.call_id, _parsed(item.arguments)) for item in functions)
        text = "".join(part.text for part in parts if part.type == "output_text")
        return Answer("complete", text, usage, model, calls)


def _parsed(arguments: object) -> object:
    try:
        return json.loads(arguments) if isinstance(arguments, str) else arguments
    except ValueError:
        return arguments


def _echoed(call: ToolCall) -> str:
    """Arguments that the API takes back: JSON of an object, whatever the model sent."""
    return json.dumps(call.arguments if isinstance(call.arguments, dict) else {})


def _chat_history(exchanges: tuple[Exchange, ...]) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = []
    for exchange in exchanges:
        function = {"name": TOOL_NAME, "arguments": _echoed(exchange.call)}
        call = {"id": exchange.call.id, "type": "function", "function": function}
        turns.append({"role": "assistant", "content": None, "tool_calls": [call]})
        turns.append({"role": "tool", "tool_call_id": exchange.call.id, "content": f"error: {exchange.complaint}"})
    return turns


def _response_history(exchanges: tuple[Exchange, ...]) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = []
    for exchange in exchanges:
        name, identity = TOOL_NAME, exchange.call.id
        turns.append(
            {"type": "function_call", "call_id": identity, "name": name, "arguments": _echoed(exchange.call)}
        )
        turns.append({"type": "function_call_output", "call_id": identity, "output": f"error: {exchange.complaint}"})
    return turns


def _chat_usage(usage: Any) -> Usage:  # noqa: ANN401
    if usage is None:
        return Usage()
    cached = getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", None) or 0
    return Usage(usage.prompt_tokens or 0, usage.completion_tokens or 0, cached)


def _response_usage(usage: Any) -> Usage:  # noqa: ANN401
    if usage is None:
        return Usage()
    cached = getattr(getattr(usage, "input_tokens_details", None), "cached_tokens", None) or 0
    return Usage(usage.input_tokens or 0, usage.output_tokens or 0, cached)
