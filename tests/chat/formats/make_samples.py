"""Records the spans in `samples/` with the packages that write them, against a model that is a fixed script.

Not a test. `python make_samples.py NAME` writes one sample and needs that sample's package, which may need an
environment of its own: see `SAMPLES`.
"""

# mypy: disable-error-code="import-not-found,arg-type,list-item,union-attr,index,call-overload,attr-defined"
from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

QUESTION = "What is the weather in Helsinki?"
ANSWER = "It is 15°C and raining in Helsinki."
FOLDER = Path(__file__).parent / "samples"


class Model(BaseHTTPRequestHandler):
    """Calls the tool first, and answers when it has the result."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        message: dict[str, Any] = {"role": "assistant", "content": ANSWER}
        if request.get("tools") and request["messages"][-1]["role"] != "tool":
            function = {"name": "get_weather", "arguments": '{"city": "Helsinki"}'}
            message = {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
            }
        body = json.dumps(
            {
                "id": "chatcmpl-1",
                "object": "chat.completion",
                "created": 1,
                "model": request["model"],
                "choices": [
                    {"index": 0, "message": message, "finish_reason": "stop" if message["content"] else "tool_calls"}
                ],
                "usage": {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30},
            }
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def get_weather(city: str) -> dict[str, Any]:
    """The weather of a city."""
    return {"city": city, "temperature": 15, "main_condition": "rain"}


TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def recording(name: str, *, printed: bool = False) -> Callable[[], None]:
    """Record spans from here on; the function that is returned writes them, as the console exporter if `printed`."""
    from opentelemetry import trace
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

    file = (FOLDER / f"{name}.{'txt' if printed else 'jsonl'}").open("w", encoding="utf-8")
    exporter = (
        ConsoleSpanExporter(out=file)
        if printed
        else ConsoleSpanExporter(out=file, formatter=lambda span: span.to_json(indent=None) + "\n")
    )
    provider = TracerProvider(resource=Resource({"service.name": "weather-bot"}))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)

    def finish() -> None:
        provider.shutdown()
        file.close()

    return finish


def plain_openai(url: str) -> None:
    """A turn with the OpenAI package and a tool that is called by hand."""
    from openai import OpenAI
    from opentelemetry import trace

    client = OpenAI(base_url=url, api_key="none")
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    with trace.get_tracer("bot").start_as_current_span("turn"):
        first = client.chat.completions.create(model="m", messages=messages, tools=[TOOL])
        call = first.choices[0].message.tool_calls[0]
        messages.append({"content": None, **first.choices[0].message.model_dump(exclude_none=True)})
        result = json.dumps(get_weather(**json.loads(call.function.arguments)))
        messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        client.chat.completions.create(model="m", messages=messages, tools=[TOOL])


def adk(url: str, name: str = "adk-without-content") -> None:
    """With its defaults: spans by the conventions, without messages."""
    import asyncio

    from google.adk.agents import LlmAgent
    from google.adk.integrations.openai import OpenAILlm
    from google.adk.runners import InMemoryRunner
    from google.genai import types

    finish = recording(name)

    async def turn() -> None:
        model = OpenAILlm(model="m", base_url=url, api_key="none")
        runner = InMemoryRunner(LlmAgent(name="weather_bot", model=model, tools=[get_weather]), app_name="bot")
        await runner.session_service.create_session(app_name="bot", user_id="u", session_id="s-1")
        message = types.Content(role="user", parts=[types.Part(text=QUESTION)])
        async for _ in runner.run_async(user_id="u", session_id="s-1", new_message=message):
            pass

    asyncio.run(turn())
    finish()


def adk_own_attributes(url: str) -> None:
    """Its earlier format, with messages in attributes of its own."""
    os.environ["ADK_TELEMETRY_SCHEMA_VERSION_OPT_IN"] = "1"
    adk(url, "adk")


def pydantic_ai(url: str, *, content: bool = True) -> None:
    from pydantic_ai import Agent
    from pydantic_ai.models.instrumented import InstrumentationSettings
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    finish = recording("pydantic-ai" if content else "pydantic-ai-without-content")
    Agent.instrument_all(InstrumentationSettings(include_content=content))
    model = OpenAIChatModel("m", provider=OpenAIProvider(base_url=url, api_key="none"))
    Agent(model, name="weather_bot", tools=[get_weather]).run_sync(QUESTION)
    finish()


def openinference(url: str) -> None:
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI
    from openinference.instrumentation import using_session
    from openinference.instrumentation.langchain import LangChainInstrumentor

    finish = recording("openinference-langchain")
    LangChainInstrumentor().instrument()
    agent = create_agent(ChatOpenAI(model="m", base_url=url, api_key="none"), tools=[get_weather])
    with using_session("s-1"):
        agent.invoke({"messages": [{"role": "user", "content": QUESTION}]})
    finish()


def openinference_openai(url: str) -> None:
    from openinference.instrumentation.openai import OpenAIInstrumentor

    finish = recording("openinference-openai")
    OpenAIInstrumentor().instrument()
    plain_openai(url)
    finish()


def traceloop(url: str) -> None:
    from opentelemetry.instrumentation.openai import OpenAIInstrumentor

    finish = recording("traceloop")
    OpenAIInstrumentor().instrument()
    plain_openai(url)
    finish()


def openlit(url: str) -> None:
    import openlit as package

    finish = recording("openlit")
    package.init(disable_metrics=True)
    from openai import OpenAI

    # Without tools: this version of the package records a remark in place of the answer if there are tools.
    message = {"role": "user", "content": QUESTION}
    OpenAI(base_url=url, api_key="none").chat.completions.create(model="m", messages=[message])
    finish()


def console(url: str) -> None:
    from openinference.instrumentation.openai import OpenAIInstrumentor

    finish = recording("console", printed=True)
    OpenAIInstrumentor().instrument()
    plain_openai(url)
    finish()


SAMPLES: dict[str, Callable[[str], None]] = {
    "adk": adk_own_attributes,  # google-adk[openai]
    "adk-without-content": adk,
    "pydantic-ai": pydantic_ai,  # pydantic-ai-slim[openai]
    "pydantic-ai-without-content": lambda url: pydantic_ai(url, content=False),
    "openinference-langchain": openinference,  # openinference-instrumentation-langchain, langchain, langchain-openai
    "openinference-openai": openinference_openai,  # openinference-instrumentation-openai
    "traceloop": traceloop,  # opentelemetry-instrumentation-openai==0.40.14; later ones follow the conventions
    "openlit": openlit,  # openlit==1.29.4
    "console": console,  # openinference-instrumentation-openai
}

if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    SAMPLES[sys.argv[1]](f"http://127.0.0.1:{server.server_port}/v1")
    server.shutdown()
