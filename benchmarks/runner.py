"""A thousand trivial scenarios with a function as agent, from the command line, stored: assay beside its peers.

Peers are installed into an environment of their own, in the cache folder; one that cannot be installed is left out.
Also: what assay adds to a turn of a framework, against the same assistant called directly.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

from assay.chat import AGENTS, Agent, Setup
from assay.chat.agents import Reply
from assay.chat.running.conversation import Job, play
from assay.chat.running.tracing import Tracing
from assay.chat.world.embedded import World
from assay.chat.world.situation import Situation
from benchmarks.measuring import Result, at_most, show

SCENARIOS = 1000
GOAL_SECONDS = 1.5
MOST_ADDED_MS = 1.0
REPEATS = 3
BLOCKS = 60
WARM_UP = 10
_MESSAGE = "What's the weather in Paris?"
_ENVIRONMENT = Path.home() / ".cache" / "assay-benchmarks" / "runner"
_FUNCTION = 'def answer(message: str) -> str:\n    return f"The answer to {message} is 42."\n'
PEERS: Mapping[str, str] = {
    "pydantic-evals": """
import sys
from pathlib import Path
from bot import answer
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import Contains

cases = [Case(name=f"s{i}", inputs=f"What is question {i}?") for i in range(int(sys.argv[1]))]
report = Dataset(name="trivial", cases=cases, evaluators=[Contains(value="42")]).evaluate_sync(answer, progress=False)
Path("report.json").write_text(str([(one.name, one.output, one.assertions) for one in report.cases]))
""",
    "inspect-ai": """
import sys
from bot import answer
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import includes
from inspect_ai.solver import solver

@solver
def mine():
    async def solve(state, generate):
        state.output = ModelOutput.from_content("function", answer(state.input_text))
        return state
    return solve

samples = [Sample(id=f"s{i}", input=f"What is question {i}?", target="42") for i in range(int(sys.argv[1]))]
eval(Task(dataset=samples, solver=mine(), scorer=includes()), model="mockllm/model", log_dir="logs", display="none")
""",
    "deepeval": """
import sys
from bot import answer
from deepeval import evaluate
from deepeval.evaluate.configs import AsyncConfig, CacheConfig, DisplayConfig
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase

class Contains(BaseMetric):
    threshold, async_mode = 1.0, False
    def measure(self, case, *given, **more):
        self.score = float("42" in case.actual_output)
        self.success = self.score == 1.0
        return self.score
    async def a_measure(self, case, *given, **more):
        return self.measure(case)
    def is_successful(self):
        return self.success
    @property
    def __name__(self):
        return "contains"

questions = [f"What is question {i}?" for i in range(int(sys.argv[1]))]
evaluate(
    [LLMTestCase(input=one, actual_output=answer(one)) for one in questions],
    [Contains()],
    display_config=DisplayConfig(show_indicator=False, print_results=False),
    async_config=AsyncConfig(run_async=False),
    cache_config=CacheConfig(write_cache=True),
)
""",
}


def main() -> None:
    if sys.argv[1:] and sys.argv[1] in AGENTS.names():  # python -m benchmarks.runner langgraph
        show("Runner of one framework", asyncio.run(_added(sys.argv[1:])))
        return
    with tempfile.TemporaryDirectory() as folder:
        ours, peers = _runs(Path(folder))
    results = [_of_goal(ours)] + [
        at_most(f"{SCENARIOS:,} scenarios, beside {peer}", f"{ours:.1f} s", f"{took:.1f} s", ours / took, 1.0)
        for peer, took in peers.items()
    ]
    show("Runner", [*results, *asyncio.run(_added(AGENTS.names()))])


def _of_goal(ours: float) -> Result:
    what = f"{SCENARIOS:,} scenarios with a function, stored, against the goal"
    return at_most(what, f"{ours:.1f} s", f"{GOAL_SECONDS} s", ours / GOAL_SECONDS, 1.0)


def _runs(folder: Path) -> tuple[float, dict[str, float]]:
    """Seconds of assay and of each peer, the fastest of several runs that take turns."""
    (folder / "bot.py").write_text(_FUNCTION)
    turns = "".join(
        f"  - {{id: s{at}, kind: trivial, turns: [{{user: What is question {at}?, says: ['42']}}]}}\n"
        for at in range(SCENARIOS)
    )
    (folder / "suite.yaml").write_text(f"name: trivial\nversion: 1\nscenarios:\n{turns}")
    options = ["--suite", "suite.yaml", "--agents", "mine=bot:answer", "--no-experience", "--store", "runs.db"]
    commands = {"assay": [sys.executable, "-m", "assay.cli", "chat", "run", *options]}
    for peer, code in PEERS.items():
        if _is_installed(peer):
            script = f"with_{peer.replace('-', '_')}.py"
            (folder / script).write_text(code)
            commands[peer] = [str(_ENVIRONMENT / "bin" / "python"), script, str(SCENARIOS)]
        else:
            print(f"{peer} cannot be installed here and is left out")
    seconds: dict[str, list[float]] = {}
    for _ in range(REPEATS):
        for name, command in commands.items():
            took = _seconds(command, folder)
            if took is not None:
                seconds.setdefault(name, []).append(took)
    fastest = {name: min(found) for name, found in seconds.items()}
    return fastest.pop("assay"), fastest


def _is_installed(peer: str) -> bool:
    if not _ENVIRONMENT.exists():
        subprocess.run([sys.executable, "-m", "venv", _ENVIRONMENT], check=True)
    pip = [str(_ENVIRONMENT / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", peer]
    return subprocess.run(pip, capture_output=True, check=False).returncode == 0


def _seconds(command: list[str], folder: Path) -> float | None:
    started = time.perf_counter()
    quiet = os.environ | {"DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=quiet)
    took = time.perf_counter() - started
    if done.returncode != 0:
        print(f"{command[1]} failed and is left out: {done.stderr.strip().splitlines()[-1:]}")
        return None
    return took


async def _added(names: Sequence[str]) -> list[Result]:
    """What assay adds to a turn: the same assistant asked by assay and directly, in blocks of four turns."""
    results = []
    with World() as world:
        setup = Setup(model="assay-scripted", model_url=world.model_url, weather_url=world.weather_url)
        for name in names:
            async with AGENTS.get(name).open(setup) as agent:
                added, direct, own = await _blocks(agent, setup)
            low, high = _interval_of_median(added)
            # On a busy machine the difference of two turns says nothing, and only assay's own code can be judged.
            value = statistics.median(added if high - low <= MOST_ADDED_MS else own)
            what = (
                f"{AGENTS.get(name).title}: what assay adds to a turn of {statistics.median(direct):.1f} ms "
                f"(difference {statistics.median(added):.2f}, 95 % {low:.2f} to {high:.2f}; "
                f"in its own code {statistics.median(own):.2f})"
            )
            results.append(at_most(what, f"{value:.2f} ms", f"{MOST_ADDED_MS:g} ms", value / MOST_ADDED_MS, 1.0))
        await setup.aclose()
    return results


async def _blocks(agent: Agent, setup: Setup) -> tuple[list[float], list[float], list[float]]:
    """Milliseconds that assay adds in each block, of a turn without it, and that its own code takes in a turn.

    A block is asked ABBA or BAAB, so that neither way has the better half of it, and whatever slows the machine down
    for longer than a block affects both. Garbage is collected between blocks, not in a turn that happens to be the
    next. The time of assay's own code is what is left of a turn without the agent's part: it varies least, and leaves
    out what assay makes slower in the framework, such as a span that is kept.
    """
    tracing, timed = Tracing(), _TimedAgent(agent)

    async def by_assay(at: int) -> float:
        job = Job("a", f"by-{at}", "ada", (_MESSAGE,), (Situation("s", at, 0),), 60.0)
        async for _ in play(timed, job, tracing=tracing, preferences=setup.preferences):
            pass
        return timed.seconds

    async def directly(at: int) -> float:
        with Situation("s", at, 0).attached():
            async for _ in agent.answer(session=f"direct-{at}", user="ada", message=_MESSAGE):
                pass
        return 0.0

    added, direct, own = [], [], []
    number = itertools.count()
    for _ in range(WARM_UP):
        await by_assay(next(number))
        await directly(next(number))
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        for block in range(BLOCKS):
            first, second = (by_assay, directly) if block % 2 else (directly, by_assay)
            seconds: dict[object, list[float]] = {by_assay: [], directly: []}
            for ask in (first, second, second, first):
                started = time.perf_counter()
                of_agent = await ask(next(number))
                seconds[ask].append(time.perf_counter() - started)
                if ask is by_assay:
                    own.append(1000 * (seconds[ask][-1] - of_agent))
            added.append(1000 * (sum(seconds[by_assay]) - sum(seconds[directly])) / 2)
            direct += [1000 * one for one in seconds[directly]]
            gc.collect(1)
    finally:
        gc.enable()
        gc.unfreeze()
    return added, direct, own


class _TimedAgent:
    """An agent, and how long its last answer took."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self.seconds = 0.0

    async def answer(self, *, session: str, user: str, message: str) -> AsyncIterator[str | Reply]:
        started = time.perf_counter()
        async for part in self._agent.answer(session=session, user=user, message=message):
            yield part
        self.seconds = time.perf_counter() - started


def _interval_of_median(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of a median, by resampling blocks."""
    chance = random.Random(1)
    medians = sorted(statistics.median(chance.choices(values, k=len(values))) for _ in range(1000))
    return medians[25], medians[974]


if __name__ == "__main__":
    main()
