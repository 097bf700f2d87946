"""Spans → tool calls, tokens, times: spans written by hand, and spans of this process."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import subprocess
import sys
import threading
import weakref
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry import baggage, context, trace

from assay.chat.formats.exported import from_spans
from assay.chat.formats.otel import WAITS, Span, TurnTrace, read_turn
from assay.chat.running.tracing import Tracing
from assay.chat.world.situation import Situation

MS = 1_000_000


def span(
    start: int,
    end: int,
    operation: str,
    *,
    id: str = "",
    parent: str | None = None,
    failed: str | None = None,
    **more: Any,
) -> Span:
    """A span from `start` to `end` milliseconds; dots in names of attributes are written as two underscores."""
    attributes = {name.replace("__", "."): value for name, value in more.items()}
    return Span(
        operation,
        "t",
        start * MS,
        end * MS,
        {"gen_ai.operation.name": operation, **attributes},
        id,
        parent,
        failed=failed,
    )


def tool(start: int, end: int, name: str = "f", **more: Any) -> Span:
    return span(start, end, "execute_tool", gen_ai__tool__name=name, **more)


def model(start: int, end: int, tokens: tuple[int, int] | None = None, **more: Any) -> Span:
    if tokens is not None:
        more |= {"gen_ai__usage__input_tokens": tokens[0], "gen_ai__usage__output_tokens": tokens[1]}
    return span(start, end, "chat", **more)


def request(start: int, end: int, *waits: tuple[int, int], failed: str | None = None) -> Span:
    """A request to the model that was waited for at these milliseconds."""
    ends = [at * MS for wait in waits for at in wait]
    return Span("POST", "t", start * MS, end * MS, {WAITS: ends}, failed=failed)


def read(*spans: Span, start: int = 0, end: int = 100) -> TurnTrace:
    return read_turn(spans, start_ns=start * MS, end_ns=end * MS)


# --- times ----------------------------------------------------------------------------------------------------------


def test_model_tool_and_the_rest_are_the_whole() -> None:
    turn = read(model(10, 30), tool(35, 40), model(45, 95))
    assert turn.seconds == pytest.approx(0.1)
    assert turn.model_seconds == pytest.approx(0.07)
    assert turn.tool_seconds == pytest.approx(0.005)
    assert turn.overhead_seconds == pytest.approx(0.025)


def test_parallel_calls_count_once() -> None:
    assert read(tool(10, 30), tool(20, 40), tool(25, 27)).tool_seconds == pytest.approx(0.03)


def test_time_of_a_tool_in_which_the_model_works_is_the_models() -> None:
    turn = read(tool(10, 50), model(20, 30))
    assert turn.model_seconds == pytest.approx(0.01)
    assert turn.tool_seconds == pytest.approx(0.03)


def test_time_outside_the_turn_does_not_count() -> None:
    turn = read(model(0, 10), model(90, 200), tool(300, 400), start=5, end=100)
    assert turn.model_seconds == pytest.approx(0.015)
    assert turn.tool_seconds == 0


def test_a_turn_without_spans_is_all_overhead() -> None:
    turn = read()
    assert turn.overhead_seconds == pytest.approx(0.1)
    assert (turn.model_calls, turn.tool_calls, turn.input_tokens) == (0, [], None)


times = st.tuples(st.integers(-20, 120), st.integers(0, 60)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(st.lists(times, max_size=6), st.lists(times, max_size=6))
def test_times_are_the_lengths_of_unions(models: list[tuple[int, int]], tools: list[tuple[int, int]]) -> None:
    turn = read(*(model(*ends) for ends in models), *(tool(*ends) for ends in tools))
    # Milliseconds of the turn counted one by one.
    busy = [any(start <= at < end for start, end in models) for at in range(100)]
    working = [any(start <= at < end for start, end in tools) for at in range(100)]
    assert turn.model_seconds == pytest.approx(sum(busy) / 1000)
    assert turn.tool_seconds == pytest.approx(sum(w and not b for w, b in zip(working, busy, strict=True)) / 1000)
    assert turn.overhead_seconds >= -1e-12


def test_what_a_framework_does_inside_a_models_span_is_not_the_models_time() -> None:
    turn = read(model(10, 90), request(20, 80, (20, 30), (40, 45)))
    assert turn.model_seconds == pytest.approx(0.015)
    assert turn.overhead_seconds == pytest.approx(0.085)
    assert turn.model_calls == 1


def test_a_models_span_without_a_request_counts_whole() -> None:
    assert read(model(0, 10), request(20, 40, (20, 30)), model(20, 40)).model_seconds == pytest.approx(0.02)


def test_the_pause_before_the_next_try_is_not_the_frameworks() -> None:
    turn = read(model(10, 90), request(20, 25, (20, 25), failed="500"), request(70, 80, (70, 75)))
    assert turn.model_seconds == pytest.approx(0.08)


def test_requests_without_a_models_span_are_the_models_time() -> None:
    turn = read(request(20, 40, (20, 30)))
    assert turn.model_seconds == pytest.approx(0.01)
    assert turn.model_calls == 0


# --- calls and tokens -----------------------------------------------------------------------------------------------


def test_calls_come_in_the_order_of_their_start() -> None:
    assert [call.name for call in read(tool(5, 6, "b"), tool(1, 9, "a")).tool_calls] == ["a", "b"]


def test_a_call_has_its_arguments_result_and_duration() -> None:
    (call,) = read(
        tool(
            1,
            3,
            gen_ai__tool__call__arguments='{"city": "Oslo"}',
            gen_ai__tool__call__result='{"temperature": -4.2}',
        )
    ).tool_calls
    assert (call.arguments, call.result, call.error) == ({"city": "Oslo"}, {"temperature": -4.2}, None)
    assert call.duration == pytest.approx(0.002)


def test_calls_of_an_older_adk_are_read() -> None:
    older = {
        "gcp__vertex__agent__tool_call_args": '{"city": "Oslo"}',
        "gcp__vertex__agent__tool_response": '{"temperature": 1}',
    }
    (call,) = read(tool(1, 3, **older)).tool_calls
    assert (call.arguments, call.result) == ({"city": "Oslo"}, {"temperature": 1})


@pytest.mark.parametrize("nothing", [None, "", "None", "{}", "null"])
def test_missing_arguments_are_an_empty_dictionary(nothing: str | None) -> None:
    more = {} if nothing is None else {"gen_ai__tool__call__arguments": nothing}
    assert read(tool(1, 2, **more)).tool_calls[0].arguments == {}


def test_the_span_around_parallel_calls_is_not_a_call() -> None:
    assert [call.name for call in read(tool(1, 2), tool(2, 3, "(merged tools)")).tool_calls] == ["f"]


@pytest.mark.parametrize(
    ("failed", "result", "error"),
    [
        ("ValueError", None, "ValueError"),
        (None, '{"status": "error", "error_message": "no such city"}', "no such city"),
        ("TOOL_ERROR", '{"error": "no such city"}', "no such city"),
        (None, '{"status": "ok"}', None),
    ],
)
def test_a_failure_is_an_error_of_the_span_or_of_its_result(
    failed: str | None, result: str | None, error: str | None
) -> None:
    more = {} if result is None else {"gen_ai__tool__call__result": result}
    assert read(tool(1, 2, failed=failed, **more)).tool_calls[0].error == error


def test_tokens_are_those_of_the_models_spans_only() -> None:
    agent = span(0, 9, "invoke_agent", gen_ai__usage__input_tokens=99, gen_ai__usage__output_tokens=99)
    turn = read(agent, model(1, 2, (10, 1)), model(3, 4, (20, 2)))
    assert (turn.input_tokens, turn.output_tokens, turn.model_calls) == (30, 3, 2)


def test_unreported_tokens_are_none_and_not_zero() -> None:
    assert read(model(1, 2)).input_tokens is None
    assert read(model(1, 2), model(3, 4, (0, 0))).input_tokens == 0


def test_a_wrapper_around_a_call_of_the_model_does_not_count() -> None:
    outer = model(0, 9, (30, 3), id="o")
    turn = read(outer, model(1, 2, (10, 1), id="i", parent="o"), model(3, 4, (20, 2), id="j", parent="o"))
    assert (turn.model_calls, turn.input_tokens, turn.output_tokens) == (2, 30, 3)
    assert turn.model_seconds == pytest.approx(0.009)


def test_a_wrapper_gives_the_tokens_if_the_call_inside_does_not() -> None:
    outer, between = model(0, 9, (30, 3), id="o"), span(1, 8, "http", id="h", parent="o")
    turn = read(outer, between, model(2, 7, id="i", parent="h"))
    assert (turn.model_calls, turn.input_tokens) == (1, 30)


def test_a_model_call_made_by_a_tool_counts_separately() -> None:
    turn = read(model(0, 9, (10, 1), id="o"), tool(1, 8, id="t", parent="o"), model(2, 7, (20, 2), id="i", parent="t"))
    assert (turn.model_calls, turn.input_tokens) == (2, 30)


def test_spans_that_are_each_others_parents_are_read() -> None:
    assert read(model(0, 9, (1, 1), id="a", parent="b"), span(1, 2, "x", id="b", parent="b")).model_calls == 1


# --- spans of this process ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tracing() -> Tracing:
    return Tracing()


def work(name: str, **attributes: Any) -> None:
    tracer = trace.get_tracer("a framework")
    with tracer.start_as_current_span("chat m", attributes={"gen_ai.operation.name": "chat"}):
        pass
    with tracer.start_as_current_span(
        f"execute_tool {name}", attributes={"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
    ):
        pass


def test_a_turn_has_its_spans(tracing: Tracing) -> None:
    with tracing.turn("adk", "s1") as turn:
        work("f")
    found = turn.read()
    assert ([call.name for call in found.tool_calls], found.model_calls) == (["f"], 1)
    assert found.seconds >= found.model_seconds + found.tool_seconds
    whole = next(span for span in found.spans if span.parent is None)
    assert whole.attributes == {"gen_ai.agent.name": "adk", "gen_ai.conversation.id": "s1"}


def test_what_happens_outside_a_turn_is_not_kept(tracing: Tracing) -> None:
    work("before")
    with tracing.turn("adk", "s") as turn:
        pass
    work("after")
    assert turn.read().tool_calls == []


def test_turns_at_once_do_not_mix(tracing: Tracing) -> None:
    async def one(name: str) -> list[str]:
        with tracing.turn("adk", name) as turn:
            for _ in range(3):
                work(name)
                await asyncio.sleep(0)
        return [call.name for call in turn.read().tool_calls]

    async def all_of_them() -> list[list[str]]:
        return await asyncio.gather(*(one(f"f{at}") for at in range(5)))

    assert asyncio.run(all_of_them()) == [[f"f{at}"] * 3 for at in range(5)]


def test_threads_of_a_turn_belong_to_it(tracing: Tracing) -> None:
    with tracing.turn("adk", "s") as turn:
        here = context.get_current()

        def there() -> None:
            token = context.attach(here)
            work("threaded")
            context.detach(token)

        threads = [threading.Thread(target=there) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(turn.read().tool_calls) == 4


def test_turns_inside_another_span_stay_apart(tracing: Tracing) -> None:
    with trace.get_tracer("x").start_as_current_span("a run"):
        with tracing.turn("adk", "s") as one:
            work("f")
        with tracing.turn("adk", "s") as two:
            work("g")
    assert [call.name for call in one.read().tool_calls] == ["f"]
    assert [call.name for call in two.read().tool_calls] == ["g"]


def test_the_situation_reaches_into_a_turn(tracing: Tracing) -> None:
    with Situation("a scenario", 2).attached(), tracing.turn("adk", "s"):
        assert Situation.current().scenario == "a scenario"
        assert baggage.get_all()


def test_a_turn_that_fails_still_has_its_spans(tracing: Tracing) -> None:
    with contextlib.suppress(RuntimeError), tracing.turn("adk", "s") as turn:
        work("f")
        raise RuntimeError("boom")
    found = turn.read()
    assert len(found.tool_calls) == 1
    assert next(span for span in found.spans if span.parent is None).failed == "boom"


def test_a_turn_is_read_once_and_after_its_end(tracing: Tracing) -> None:
    with tracing.turn("adk", "s") as turn, pytest.raises(RuntimeError, match="once"):
        turn.read()
    turn.read()
    with pytest.raises(RuntimeError, match="once"):
        turn.read()


@pytest.mark.slow
def test_an_unread_turn_is_not_kept(tracing: Tracing) -> None:
    with tracing.turn("adk", "s") as turn:
        work("f")
    gone = weakref.ref(turn)
    del turn
    gc.collect()
    assert gone() is None


def test_spans_beyond_measure_are_counted_not_kept(tracing: Tracing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.chat.running.tracing._MOST_SPANS", 3)
    with tracing.turn("adk", "s") as turn:
        for _ in range(4):
            work("f")
    found = turn.read()
    assert (len(found.spans), found.dropped) == (4, 5)
    assert found.seconds > 0


def run(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
    )
    return done.stdout + done.stderr


TURN = """
from assay.chat.running.tracing import Tracing
from opentelemetry import trace
with Tracing().turn("a", "s") as turn:
    with trace.get_tracer("x").start_as_current_span("y", attributes={"gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "f", "gen_ai.tool.call.result": "x" * 5000}):
        pass
found = turn.read()
print(len(found.tool_calls), len(found.tool_calls[0].result))
"""


def test_the_environment_does_not_thin_out_spans() -> None:
    thin = {"OTEL_TRACES_SAMPLER": "always_off", "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT": "10"}
    assert run(TURN, **thin) == "1 5000\n"


def test_a_provider_that_is_set_already_stays() -> None:
    before = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
mine = TracerProvider()
trace.set_tracer_provider(mine)
"""
    assert run(before + TURN + "print(trace.get_tracer_provider() is mine)") == "1 5000\nTrue\n"


@pytest.mark.parametrize("environment", [{"OTEL_SDK_DISABLED": "true"}])
@pytest.mark.slow
def test_spans_that_are_dropped_are_an_error_and_not_a_zero(environment: dict[str, str]) -> None:
    assert "OpenTelemetry drops the spans of this process" in run(TURN, **environment)


@pytest.mark.slow
def test_a_strangers_provider_is_an_error_that_says_so() -> None:
    before = """
from opentelemetry import trace
trace.set_tracer_provider(trace.NoOpTracerProvider())
"""
    assert "is a NoOpTracerProvider, which collects no spans" in run(before + TURN)


def test_reading_files_does_not_need_opentelemetry() -> None:
    code = "import sys; sys.modules['opentelemetry'] = None; import assay.chat.formats; print('read')"
    assert run(code) == "read\n"


def test_without_the_sdk_the_error_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['opentelemetry.sdk'] = None\nfrom assay.chat.running.tracing import Tracing\nTracing()"
    )
    assert 'pip install "assay-agents[agents]"' in run(code)


def test_spans_of_a_turn_that_were_printed_read_as_the_same_calls(tracing: Tracing) -> None:
    """What the SDK prints of a live span, the reader of files reads as the same call."""
    with tracing.turn("adk", "talk") as turn:
        watched = trace.get_current_span()
        with trace.get_tracer("x").start_as_current_span(
            "chat m",
            attributes={
                "gen_ai.operation.name": "chat",
                "gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}]),
                "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"content": "Hello"}]}]),
            },
        ):
            pass
        with trace.get_tracer("x").start_as_current_span(
            "execute_tool f",
            attributes={
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "f",
                "gen_ai.tool.call.arguments": '{"a": 1}',
                "gen_ai.tool.call.result": '{"error": "broken"}',
            },
        ):
            pass
        finished = list(turn._finished)
    printed = [("here", json.loads(span.to_json())) for span in [*finished, watched]]  # type: ignore[attr-defined]
    live = turn.read()
    (transcript,) = from_spans(printed)
    (exported,) = transcript.turns
    assert (transcript.agent, transcript.scenario) == ("adk", "talk")
    assert (exported.user, exported.assistant) == ("Hi", "Hello")
    assert exported.tool_calls is not None
    assert [call.model_dump(exclude={"duration"}) for call in exported.tool_calls] == [
        call.model_dump(exclude={"duration"}) for call in live.tool_calls
    ]
    # Printed times are whole microseconds.
    assert exported.response_time == pytest.approx(live.seconds, abs=2e-6)
