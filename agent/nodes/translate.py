"""translate: ask the model, once per request: a reply that came is kept before anything else happens."""

from __future__ import annotations

from dataclasses import replace

from ..desk import Desk
from ..extract import NoText, program_text
from ..prompt import Failed, RenderedPrompt, first_prompt, fresh_prompt, repair_prompt
from ..runfolder import request_sha256
from ..state import AttemptState, RunState
from ..translators.base import Reply, Request


def translate(state: RunState, desk: Desk) -> RunState:
    """Raises what Translator.ask raises; the run can then be taken up again at this node."""
    number = len(state["attempts"]) + 1
    attempts = desk.options.max_attempts if desk.translator.prompted else 1
    desk.tell(state["plan"], f"attempt {number} of {attempts}: asking {desk.translator.name}")
    reply = _answer(_request(state, desk), desk)
    text, complaint = _text(reply)
    attempt: AttemptState = {
        "number": number,
        "kind": state["plan"],
        "sha256": desk.run.keep_text("texts", text),
        "verdict": "" if text else "unverified",
        "feedback": complaint,
        "score": [-1.0],
        "same_as": None,
        "certificate": None,
    }
    return {
        "attempts": [*state["attempts"], attempt],
        "input_tokens": state["input_tokens"] + reply.usage.input_tokens,
        "output_tokens": state["output_tokens"] + reply.usage.output_tokens,
        "cached_tokens": state["cached_tokens"] + reply.usage.cached_tokens,
        "elapsed_s": state["elapsed_s"] + desk.lap_s(),
        "model": reply.model,
    }


def _request(state: RunState, desk: Desk) -> Request:
    options = desk.options
    model = options.escalate_to if state["fresh_used"] else None
    request = Request(state["plan"], _prompt(state, desk), options.answer_tokens, model)
    return replace(request, deadline_s=desk.left_s(state))


def _prompt(state: RunState, desk: Desk) -> RenderedPrompt:
    if desk.facts is None:
        return RenderedPrompt("", "", "")
    failed = [Failed(desk.run.text("texts", item["sha256"]), item["feedback"]) for item in state["attempts"]]
    match state["plan"]:
        case "translate":
            return first_prompt(desk.facts)
        case "repair":
            return repair_prompt(desk.facts, failed[-1])
        case "fresh":
            told = [item for item, attempt in zip(failed, state["attempts"], strict=True) if not attempt["same_as"]]
            return fresh_prompt(desk.facts, tuple(told))


def _answer(request: Request, desk: Desk) -> Reply:
    translator = desk.translator
    if not translator.keeps_replies:
        return translator.ask(request)
    sha256 = request_sha256(request, translator.name, translator.model)
    known = desk.run.reply(sha256)
    if known is not None:
        desk.tell("translate", "the answer to this very request is there from an earlier run")
        return known
    reply = translator.ask(request)
    desk.run.keep_reply(sha256, reply)
    return reply


def _text(reply: Reply) -> tuple[str, str]:
    """The program in a reply, or nothing and why."""
    if reply.complaint:
        return "", reply.complaint
    try:
        return (reply.program or program_text(reply.text)), ""
    except NoText as error:
        return "", str(error)
