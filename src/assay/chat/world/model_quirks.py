"""What a model with a quirk says: each quirk changes a completion that was right. Knows nothing of how it is sent."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from assay.chat.world.completion import Completion

_SECRET = "The user wants figures, so I look them up and keep the answer short."
"""The reasoning that a model with a quirk sends; it is not meant for the user."""
_REFUSAL = "I'm sorry, but I can't help with that."
_OTHER_CITIES = (
    "London", "Tokyo", "Madrid", "Toronto", "Sydney", "Cairo", "Rome", "Berlin", "Vienna", "Prague",
    "Lisbon", "Dublin", "Athens", "Warsaw", "Budapest", "Seoul", "Mumbai", "Chicago", "Nairobi",
)  # fmt: skip
_FIGURE = re.compile(r"[-−]?\d")


def affects_message(kind: str, completion: Completion) -> bool:
    """Whether a quirk can affect this completion: some need calls, others an answer."""
    is_call = bool(completion.calls) and not completion.answers_by_call
    if kind in _ON_ARGUMENTS:
        return is_call and bool(json.loads(completion.calls[0]["function"]["arguments"]))
    if kind in _ON_CALLS:
        return is_call
    if kind in _ON_ANSWERS:
        return not is_call
    return kind in _ON_BOTH


def misbehave(kind: str, completion: Completion) -> None:
    """Change the completion as the quirk says."""
    {**_ON_CALLS, **_ON_ANSWERS, **_ON_BOTH}[kind](completion)


def cut_text(text: str) -> str:
    """The beginning of an answer, without the figures that it would have told."""
    figure = _FIGURE.search(text)
    return text[: figure.start() if figure and figure.start() else len(text) // 3].rstrip()


def cut_arguments(written: str) -> str:
    """Arguments that end at their last space: `{"city": "Porto` of `{"city": "Porto Alegre"}`."""
    return written[: written.rfind(" ")] if " " in written else written[: len(written) // 2]


# --- calls ----------------------------------------------------------------------------------------------------------


def _first(completion: Completion) -> dict[str, Any]:
    """The first call's function; other calls are left out, so that nothing else keeps the turn going."""
    completion.calls = completion.calls[:1]
    function: dict[str, Any] = completion.calls[0]["function"]
    return function


def _with_arguments(change: Callable[[dict[str, Any]], Any]) -> Callable[[Completion], None]:
    """Replace the arguments of the first call."""

    def apply(completion: Completion) -> None:
        function = _first(completion)
        function["arguments"] = change(json.loads(function["arguments"]))

    return apply


def _not_json(arguments: dict[str, Any]) -> str:
    return ", ".join(f"{name} is {value}" for name, value in arguments.items()) or "nothing"


def _wrong_type(arguments: dict[str, Any]) -> str:
    if not any(isinstance(value, str) for value in arguments.values()):
        return json.dumps(dict.fromkeys(arguments, "as you like"))
    return json.dumps({name: 42 if isinstance(value, str) else value for name, value in arguments.items()})


def _cut_off(completion: Completion) -> None:
    function = _first(completion)
    function["arguments"] = cut_arguments(function["arguments"])


def _ended_by_length(completion: Completion) -> None:
    _cut_off(completion)
    completion.finish_reason = "length"


def _named(change: Callable[[str], str]) -> Callable[[Completion], None]:
    """Replace the name of the first call's tool."""

    def apply(completion: Completion) -> None:
        function = _first(completion)
        function["name"] = change(function["name"])

    return apply


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + ("".join(part.capitalize() for part in others) or "Tool")


def _twenty(completion: Completion) -> None:
    first = completion.calls[0]
    name = first["function"]["name"]
    asked = json.loads(first["function"]["arguments"])
    varied = next((key for key, value in asked.items() if isinstance(value, str)), None)
    others = [json.dumps(asked if varied is None else {**asked, varied: city}) for city in _OTHER_CITIES]
    completion.calls = [first] + [
        {**first, "id": f"{first['id']}{at}", "function": {"name": name, "arguments": arguments}}
        for at, arguments in enumerate(others)
    ]


def _with_ids(change: Callable[[str], str | None]) -> Callable[[Completion], None]:
    def apply(completion: Completion) -> None:
        first = completion.calls[0]["id"]
        for call in completion.calls:
            call["id"] = change(first)
            if call["id"] is None:
                del call["id"]

    return apply


def _with_text(completion: Completion) -> None:
    completion.text = "One moment, I am looking that up."


def _with_finish_reason(reason: str | None) -> Callable[[Completion], None]:
    def apply(completion: Completion) -> None:
        completion.finish_reason = reason

    return apply


def _unchanged(completion: Completion) -> None:
    """The server itself has done what the quirk says."""


_ON_CALLS: Mapping[str, Callable[[Completion], None]] = {
    "arguments_not_json": _with_arguments(_not_json),
    "arguments_cut_off": _cut_off,
    "arguments_wrong_type": _with_arguments(_wrong_type),
    "arguments_missing": _with_arguments(lambda arguments: "{}"),
    "arguments_extra": _with_arguments(lambda arguments: json.dumps({**arguments, "units": "metric"})),
    "arguments_object": _with_arguments(lambda arguments: arguments),
    "arguments_list": _with_arguments(lambda arguments: json.dumps(list(arguments.values()))),
    "arguments_empty": _with_arguments(lambda arguments: ""),
    "unknown_tool": _named(lambda name: "search_the_web"),
    "similar_tool": _named(_camel_case),
    "unnamed_tool": _named(lambda name: ""),
    "same_call_forever": _unchanged,
    "twenty_calls": _twenty,
    "duplicate_call_ids": _with_ids(lambda first: first),
    "empty_call_id": _with_ids(lambda first: ""),
    "missing_call_id": _with_ids(lambda first: None),
    "text_and_calls": _with_text,
    "calls_end_with_stop": _with_finish_reason("stop"),
    "calls_without_finish_reason": _with_finish_reason(None),
    "calls_end_with_length": _ended_by_length,
}
# These need an argument that they can change.
_ON_ARGUMENTS = frozenset({"arguments_wrong_type", "arguments_missing"})


# --- answers: texts, and calls of a tool that takes the answer -----------------------------------------------------


def _answering(text: str | None) -> Callable[[Completion], None]:
    def apply(completion: Completion) -> None:
        completion.text = text
        _make_no_call(completion)

    return apply


def _make_no_call(completion: Completion) -> None:
    """Leave out the call that would have been the answer."""
    completion.calls = []
    if completion.finish_reason == "tool_calls":
        completion.finish_reason = "stop"


def cut_answer(completion: Completion) -> None:
    """Cut the answer off, or the arguments of the call that is the answer."""
    if completion.answers_by_call:
        function = completion.calls[0]["function"]
        function["arguments"] = cut_text(function["arguments"])
    else:
        completion.text = cut_text(completion.text or "")


def _cut_with(reason: str) -> Callable[[Completion], None]:
    def apply(completion: Completion) -> None:
        cut_answer(completion)
        completion.finish_reason = reason

    return apply


def _filtered(completion: Completion) -> None:
    _make_no_call(completion)
    completion.text, completion.finish_reason = "", "content_filter"


def _refuse(completion: Completion) -> None:
    _make_no_call(completion)
    completion.text, completion.refusal = None, _REFUSAL


def _think(completion: Completion) -> None:
    completion.reasoning = _SECRET


def _think_aloud(completion: Completion) -> None:
    completion.text = f"<think>{_SECRET}</think>\n\n{completion.text or ''}"


_ON_ANSWERS: Mapping[str, Callable[[Completion], None]] = {
    "empty_answer": _answering(""),
    "null_answer": _answering(None),
    "no_finish_reason": _with_finish_reason(None),
    "length": _cut_with("length"),
    "content_filter": _cut_with("content_filter"),
    "content_filter_empty": _filtered,
    "refusal": _refuse,
    "reasoning_content": _think,
    "think_tags": _think_aloud,
}


# --- token counts ---------------------------------------------------------------------------------------------------


def _uncounted(completion: Completion) -> None:
    completion.has_usage = False


def _counted(prompt: int | None, answer: int | None, total: int | None) -> Callable[[Completion], None]:
    def apply(completion: Completion) -> None:
        completion.stated_usage = {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": total}

    return apply


def _counted_always(completion: Completion) -> None:
    completion.counts_in_every_chunk = True


_ON_BOTH: Mapping[str, Callable[[Completion], None]] = {
    "usage_missing": _uncounted,
    "usage_absurd": _counted(-7, 9_000_000_000, 3),
    "usage_null": _counted(None, None, None),
    "usage_in_every_chunk": _counted_always,
}
