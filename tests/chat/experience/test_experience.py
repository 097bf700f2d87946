"""Developer experience: figures that can be counted by hand on small samples, and real frameworks under faults."""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from assay.chat.agents import AGENTS, AgentKind
from assay.chat.evaluator import ChatbotEvaluator
from assay.chat.experience import METHOD, Experience, levels, measure_experience
from assay.chat.experience.fault_injection import inject_faults
from assay.chat.experience.inspection import find_docstrings, find_memory_use
from assay.chat.experience.installation import beyond_smallest, closure, folders, read_installation, time_imports
from assay.chat.experience.process import ProcessError, run_program
from assay.chat.experience.source import AssistantSource, count_source, read_source
from assay.chat.metrics._characteristics import CLAIMED, check
from assay.chat.world.embedded import World
from assay.errors import SourceError

# ── A sample assistant ───────────────────────────────────────────────────────────────────────────────────────────────

ASSISTANT = '''\
"""What this file is for."""

from __future__ import annotations  # 1

from typing import TYPE_CHECKING  # 2

from toyframe import Agent, Memory  # 3

from assay.chat.agents import Reply  # 4

if TYPE_CHECKING:  # 5, no branch
    from toyframe.kinds import Settings  # 6

# A comment.
TOOLS = ("get_current_weather", "get_weather_forecast")  # 7


class Assistant:  # 8
    """What this class is for,

    in several lines.
    """

    limit: int = 5  # 9
    """What this field is for."""

    def __init__(self, settings: Settings) -> None:  # 10
        self.agent = Agent(Memory(), settings.style)  # 11

    async def answer(self, message: str):  # 12
        for piece in await self.agent.run(message):  # 13, a branch
            if piece and piece.text:  # 14, two branches
                yield (  # 15
                    piece.text  # 16
                )  # 17
        yield _reply()  # 18


def _reply() -> Reply:  # account 1
    return Reply("" if TOOLS else "none")  # account 2, a branch
'''

TOOL = """\
def get_current_weather(city):  # 1
    try:  # 2
        return {"city": city}  # 3
    except KeyError:  # 4, a branch
        return None  # 5
"""


def test_figures_of_a_sample_equal_a_count_by_hand() -> None:
    found = count_source({"assistant.py": ASSISTANT, "tools/weather.py": TOOL, "tools/__init__.py": '"""Tools."""\n'})
    assert found == AssistantSource(
        files=2,  # one contains only its docstring
        lines=18 + 5,
        functions=3,
        branches=3 + 1,
        worst_complexity=4,
        worst_function="assistant.py:Assistant.answer",
        account_lines=2,
        account_branches=1,
        tool_files=2,  # get_current_weather is named in both
        names=(
            "assay.chat.agents.Reply",
            "toyframe.Agent",
            "toyframe.Memory",
            "toyframe.kinds.Settings",
            "typing.TYPE_CHECKING",
        ),
        typing_names=("toyframe.kinds.Settings",),
        members=(("toyframe.Agent", "run"), ("toyframe.kinds.Settings", "style")),
        attributes=("agent", "run", "style", "text"),
    )


def test_comments_blank_lines_and_docstrings_do_not_count() -> None:
    bare = "def f(x):\n    return [\n        x,\n    ]\n"
    dressed = (
        '# What for.\n\n"""Doc."""\n\ndef f(x):  # why\n    """Doc\n\n    and more, "ä".\n    """\n\n'
        "    return [\n        # first\n        x,\n\n    ]\n"
    )
    assert count_source({"a.py": bare}) == count_source({"a.py": dressed})
    assert count_source({"a.py": bare}).lines == 4


def test_string_over_three_lines_counts_as_three_lines_of_code() -> None:
    assert count_source({"a.py": 'TEXT = """one\n\nthree"""\n'}).lines == 3


@pytest.mark.parametrize(
    ("code", "branches"),
    [
        ("if a: pass", 1),
        ("if a: pass\nelif b: pass\nelse: pass", 2),
        ("x = 1 if a else 2", 1),
        ("for a in b: pass\nelse: pass", 1),
        ("while a: pass", 1),
        ("a and b and c or d", 3),
        ("[x for x in y]", 1),
        ("{x for x in y if x if z}", 3),
        ("[x for y in z for x in y]", 2),
        ("try: pass\nexcept A: pass\nexcept B: pass\nelse: pass\nfinally: pass", 2),
        ("match a:\n case 1: pass\n case 2: pass\n case _: pass", 2),
        ("match a:\n case b: pass", 0),
        ("match a:\n case b if b: pass", 1),
        ("with a: pass", 0),
        ("assert a", 0),
        ("if TYPE_CHECKING: pass", 0),
        ("if typing.TYPE_CHECKING: pass", 0),
        ("lambda x: x", 0),
        ("a < b < c", 0),
    ],
)
def test_branches(code: str, branches: int) -> None:
    assert count_source({"a.py": code}).branches == branches


def test_nested_function_has_its_own_complexity() -> None:
    code = "def outer():\n if a: pass\n def inner():\n  if a or b: pass\n class C:\n  x = 1 if a else 2\n"
    found = count_source({"a.py": code})
    assert (found.functions, found.branches) == (2, 4)
    # Ties are broken by name: outer has its own if and the class's.
    assert (found.worst_function, found.worst_complexity) == ("a.py:outer", 3)


def test_tool_counts_if_named_in_code_but_not_in_comments() -> None:
    names = {"a.py": "from b import get_user_preferences\n", "b.py": "register(name='get_user_preferences')\n"}
    prose = {
        "c.py": '"""Of get_user_preferences."""\nx = 1  # get_user_preferences\n',
        "d.py": "my_get_user_preferences = 1\n",
    }
    assert count_source({**names, **prose}).tool_files == 2
    assert count_source(prose).tool_files is None


@pytest.mark.parametrize(
    ("code", "members"),
    [
        ("import lib\nlib.make()", {("lib", "make")}),
        ("import lib.part as p\np.make()", {("lib.part", "make")}),
        ("import lib.part\nlib.part.make()", {("lib.part", "make")}),
        ("from lib import A\nA.make()", {("lib.A", "make")}),
        ("from lib import A\nA().run()", {("lib.A", "run")}),
        ("from lib import A\na = A()\na.run()", {("lib.A", "run")}),
        ("from lib import A\na = A[int]()\na.run()", {("lib.A", "run")}),
        ("from lib import A\nwith A() as a: a.run()", {("lib.A", "run")}),
        ("from lib import A\ndef f(a: A[int]): a.run()", {("lib.A", "run")}),
        ("from lib import A\ndef f(a: 'A | None'): a.run()", {("lib.A", "run")}),
        (
            "from lib import A\nclass B:\n def __init__(self, a: A): self.a = a\n def f(self): self.a.run()",
            {("lib.A", "run")},
        ),
        ("from lib import A, B\na = A()\na = B()\na.run()", set()),
        ("from lib import A\ndef f(a: A): pass\ndef g(a: int): a.run()", set()),
        ("from . import A\nA.run()", set()),
        ("a.run()", set()),
    ],
)
def test_members_are_found_if_the_code_shows_the_class(code: str, members: set[tuple[str, str]]) -> None:
    assert set(count_source({"a.py": code}).members) == members


def test_file_or_folder_is_read_and_invalid_python_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bot.py").write_text("x = 1\n")
    assert read_source(tmp_path) == read_source(tmp_path / "bot.py")
    (tmp_path / "more.py").write_text("x =\n")
    with pytest.raises(SourceError, match=r"more\.py: is not valid Python"):
        read_source(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match="contains no Python file"):
        read_source(tmp_path / "empty")


# ── A sample framework, installed in a separate folder ───────────────────────────────────────────────────────────────

FRAMEWORK = '''\
import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass

import toybase

LIMIT = 5
logger = logging.getLogger("toyframe")


class Memory:
    """Keeps what was said."""


class Quiet(Memory):
    def forget(self):
        pass


@dataclass
class Settings:
    style: str = "plain"


class Agent:
    """Calls a tool."""

    def __init__(self, mode="fragile"):
        self.mode = mode
        self.kept = OrderedDict()

    async def run(self, tool, city):
        """Call the tool, and deal with its failure in the way that the mode says."""
        if self.mode == "gathering":
            return str(await asyncio.gather(tool(city), return_exceptions=True))
        try:
            return str(await tool(city))
        except Exception as error:
            if self.mode == "careful":
                logger.error("Tool %s failed", tool.__name__, exc_info=error)
            elif self.mode == "hinting":
                logger.debug("Tool %s failed", tool.__name__)
            elif self.mode == "printing":
                print(f"{type(error).__name__} in {tool.__name__}")
            elif self.mode == "fragile":
                raise
            return f"no answer: {error}"

    def start_session(self):
        return Memory()

    @property
    def name(self):
        """What it is called."""
        return "toy"

    @staticmethod
    def helper():
        pass


def start_memory() -> Memory:
    """Give a memory."""
    return _make()


def _make():
    return globals()["Memory"]()


def __getattr__(name):
    if name == "Lazy":
        import toylazy

        return toylazy.Lazy
    raise AttributeError(name)
'''

BOT = '''\
"""An assistant in the sample framework."""

import asyncio
from contextlib import asynccontextmanager

from toyframe import Agent

from assay.chat.agents import Reply


class Assistant:
    def __init__(self, weather, mode):
        self.weather = weather
        self.own = mode == "own"
        self.agent = Agent("fragile" if self.own else mode)

    async def get_current_weather(self, city):
        try:
            return await self.weather.current(city)
        finally:  # which handles nothing
            self.asked = city

    async def guarded(self, city):
        try:
            return await self.weather.current(city)
        except Exception as error:
            return f"sorry: {error}"

    async def answer(self, *, session, user, message):
        yield "So: "
        yield Reply(await self.agent.run(self.guarded if self.own else self.get_current_weather, "Helsinki"))


def opener(mode):
    @asynccontextmanager
    async def opened(setup):
        yield Assistant(setup.weather, mode)

    return opened


MODES = ("careful", "hinting", "printing", "silent", "gathering", "fragile", "own")


@asynccontextmanager
async def idle(setup):
    class Idle:
        async def answer(self, *, session, user, message):
            yield Reply("I would rather not.")

    yield Idle()


@asynccontextmanager
async def slow(setup):
    class Slow:
        async def answer(self, *, session, user, message):
            await asyncio.sleep(60)
            yield Reply("At last.")

    yield Slow()


@asynccontextmanager
async def unable(setup):
    raise RuntimeError("no licence")
    yield


for name in MODES:
    globals()[name] = opener(name)
    globals()[name].__qualname__ = name
'''


def install(folder: Path, name: str, requires: list[str], files: dict[str, tuple[str, int]]) -> None:
    """Install a distribution into a folder; its record states the given sizes."""
    information = folder / f"{name}-1.0.dist-info"
    information.mkdir(parents=True)
    metadata = [
        "Metadata-Version: 2.1",
        f"Name: {name}",
        "Version: 1.0",
        *(f"Requires-Dist: {one}" for one in requires),
    ]
    (information / "METADATA").write_text("\n".join(metadata) + "\n")
    for path, (text, _) in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    (information / "RECORD").write_text("".join(f"{path},,{size}\n" for path, (_, size) in files.items()))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("site")
    install(
        folder,
        "toyframe",
        ["toybase>=1", 'toywindows; sys_platform == "none"', 'toymore; extra == "more"'],
        {
            "toyframe/__init__.py": (FRAMEWORK, 1_500_000),
            "toyframe/kinds.py": ("class Kind:\n    pass\n", 250_000),
            "toylazy.py": ("class Lazy:\n    pass\n", 250_000),
        },
    )
    install(folder, "toybase", ["toyframe"], {"toybase.py": ("", 1_000_000)})
    install(folder, "toymore", ["toyabsent; python_version < '3'"], {"toymore.py": ("", 4_000_000)})
    install(folder, "toybroken", ["toyabsent"], {"toybroken.py": ("", 1)})
    install(folder, "toysmall", [], {"toysmall.py": ("", 500_000)})
    (folder / "toybot").mkdir()
    (folder / "toybot" / "__init__.py").write_text(BOT)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
        yield folder
    for name in [name for name in sys.modules if name.startswith("toy")]:
        del sys.modules[name]


def kind(site: Path, mode: str = "fragile", **changes: Any) -> AgentKind:
    bot = importlib.import_module("toybot")
    given: dict[str, Any] = {
        "name": mode,
        "title": mode,
        "open": getattr(bot, mode),
        "distributions": ("toyframe",),
        "modules": ("toyframe",),
        "source": site / "toybot",
        "memory": "toyframe.Memory",
    }
    return AgentKind(**{**given, **changes})


def test_markers_and_extras_are_evaluated(site: Path) -> None:
    def names(*requirements: str) -> tuple[list[str], list[str]]:
        packages, absent = closure(requirements)
        return sorted(packages), sorted(absent)

    assert names("toyframe") == (["toybase", "toyframe"], [])
    assert names("Toy_Frame") == ([], ["toy-frame"])
    assert names("toyframe[more]") == (["toybase", "toyframe", "toymore"], [])
    assert names("toybase", "toyframe[more]") == names("toyframe[more]", "toybase")
    assert names("toybroken") == (["toybroken"], ["toyabsent"])


def test_megabytes_come_from_the_records(site: Path) -> None:
    assert read_installation(kind(site)).megabytes == pytest.approx(1.5 + 0.25 + 0.25 + 1)


def test_packages_are_compared_with_those_of_other_agents(site: Path) -> None:
    small = kind(site, "silent", distributions=("toysmall",))
    broken = kind(site, "own", distributions=("toybroken",))
    alike = kind(site, "careful", distributions=("toybase",))
    assert beyond_smallest(kind(site), [small, broken]) == {
        "smallest": "silent",
        "beyond_smallest": 2,
        "own_packages": 2,
        "beside": ["silent"],
    }
    assert beyond_smallest(kind(site), [alike])["own_packages"] == 0
    assert beyond_smallest(kind(site), [kind(site, "careful"), small])["beside"] == ["silent"]
    assert beyond_smallest(kind(site), []) == {
        "smallest": "fragile",
        "beyond_smallest": 0,
        "own_packages": 2,
        "beside": [],
    }


def test_extras_requested_by_assay_are_included() -> None:
    # The registered kind names google-adk; assay's extra requests google-adk[openai].
    assert "openai" in read_installation(AGENTS.get("google-adk")).packages


def test_imports_include_modules_loaded_on_demand(site: Path) -> None:
    assert time_imports(["toybase"], timeout=30, times=1).modules == 1
    assert time_imports(["toysmall", "toybase"], timeout=30, times=1).modules == 2
    plain, lazy = (time_imports([name], timeout=30, times=1).modules for name in ("toyframe", "toyframe.Lazy"))
    assert lazy == plain + 1


def test_failing_import_is_an_error(site: Path) -> None:
    with pytest.raises(ProcessError, match="No module named 'toynothing'"):
        time_imports(["toynothing.part"], timeout=30, times=1)


def test_only_own_docstrings_count(site: Path) -> None:
    names = ["Memory", "Quiet", "Settings", "Agent", "LIMIT", "start_memory", "kinds", "Nothing"]
    members = [("Agent", "run"), ("Agent", "start_session"), ("Agent", "name"), ("Agent", "helper"), ("Agent", "mode")]
    found = find_docstrings(
        [f"toyframe.{name}" for name in names], [(f"toyframe.{owner}", name) for owner, name in members]
    )
    assert {name.removeprefix("toyframe."): has for name, has in found.items()} == {
        "Memory": True,
        "Quiet": False,  # inherits its docstring
        "Settings": False,  # generated by dataclass
        "Agent": True,
        "start_memory": True,
        "Agent.run": True,
        "Agent.start_session": False,
        "Agent.name": True,
        "Agent.helper": False,
    }


@pytest.mark.parametrize(
    ("names", "attributes", "through"),
    [
        (["toyframe.Memory"], [], "toyframe.Memory"),
        (["toyframe.Agent"], ["run"], "toyframe.Agent"),  # its source creates one
        (["toyframe.start_memory"], [], "toyframe.start_memory"),  # its annotation says that it returns one
        (["toyframe.Quiet"], ["forget"], None),
        (["toyframe.LIMIT"], [], None),
        ([], ["start_session"], None),
    ],
)
def test_use_of_the_memory_class_is_found(
    site: Path, names: list[str], attributes: list[str], through: str | None
) -> None:
    assert find_memory_use("toyframe.Memory", names, attributes) == through


def test_missing_memory_class_is_not_used(site: Path) -> None:
    assert find_memory_use("toyframe.Nothing", ["toyframe.Nothing"], []) is None
    assert find_memory_use("toynothing.Memory", ["toyframe.Agent"], []) is None


# ── Levels ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("packages", "megabytes", "names", "word"),
    [
        (16, 17, 10, "low"),
        (32, 34, 20, "low"),
        (33, 34, 20, "low"),  # one figure over its threshold does not change the level
        (33, 35, 20, "medium"),
        (211, 35, 20, "medium"),
        (65, 69, 10, "high"),
    ],
)
def test_setup_is_the_median_of_three_levels(packages: int, megabytes: float, names: int, word: str) -> None:
    assert levels.setup({"packages": packages, "megabytes": megabytes, "framework_names": names}) == word


def test_level_without_its_figures_is_none() -> None:
    assert levels.setup({"packages": 20, "megabytes": 20}) is None
    assert levels.complexity({}) is None
    assert levels.documentation({"documented_share": None}) is None


@pytest.mark.parametrize(
    ("share", "word"), [(1.0, "comprehensive"), (0.8, "comprehensive"), (0.79, "moderate"), (0.3, "none")]
)
def test_documentation_level(share: float, word: str) -> None:
    assert levels.documentation({"documented_share": share}) == word


# ── Separate processes ───────────────────────────────────────────────────────────────────────────────────────────────


def test_printed_output_is_not_the_result() -> None:
    program = "import sys\nprint('{\"a\": 2}')\nresult = {'a': 1, 'given': sys.stdin.read()}"
    assert run_program(program, "x", timeout=30) == {"a": 1, "given": "x"}


def test_program_is_ended_at_the_timeout() -> None:
    start = time.monotonic()
    with pytest.raises(ProcessError, match=r"more than 0\.5 seconds"):
        run_program("import time\ntime.sleep(60)", "", timeout=0.5)
    assert time.monotonic() - start < 15


def test_error_contains_the_last_line_of_stderr() -> None:
    with pytest.raises(ProcessError, match="ValueError: no"):
        run_program("raise ValueError('no')", "", timeout=30)
    with pytest.raises(ProcessError, match="status 3"):
        run_program("import os\nos._exit(3)", "", timeout=30)


def test_environment_is_not_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    assert "OPENAI_API_KEY" not in run_program("import os\nresult = dict(os.environ)", "", timeout=30)


# ── Faults ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World(seed=42) as world:
        yield world


@pytest.fixture(scope="module")
def seen(site: Path, world: World) -> Callable[[str], dict[str, Any]]:
    """What can be seen of a sample's failures; the probe runs once for each sample."""
    return cache(lambda mode: inject_faults(kind(site, mode), world, timeout=60))


@pytest.mark.parametrize(
    ("mode", "errors", "logging"),
    [
        ("careful", "framework", "framework"),
        ("hinting", "framework", "basic"),
        ("printing", "framework", "basic"),
        ("silent", "framework", "none"),
        ("gathering", "framework", "none"),
        ("own", "manual", "none"),
        ("fragile", "none", "basic"),
    ],
)
def test_error_handling_and_logging_levels_of_samples(
    seen: Callable[[str], dict[str, Any]], mode: str, errors: str, logging: str
) -> None:
    found = seen(mode)
    assert levels.errors(found["expected"], found["unexpected"]) == errors
    assert levels.logging(found["unexpected"]) == logging


def test_everything_visible_of_a_failure_is_reported(seen: Callable[[str], dict[str, Any]]) -> None:
    careful = seen("careful")["unexpected"]
    assert careful == {
        "exception": "ZeroDivisionError",
        "answered": True,
        "died_of": None,
        "caught_by": "framework",
        "told_model": False,  # the sample does not report its calls
        "named_in": {"log": True, "stdout": False, "stderr": True, "raised": False},
        "named_by": ["toyframe ERROR"],
        "failure_noted_by": ["toyframe ERROR"],
        "records": {"ERROR": 1},
        "stdout_lines": 0,
        "stderr_lines": careful["stderr_lines"],  # Python's handler of last resort prints the record with its traceback
        "shows_type": True,
        "shows_message": True,
        "shows_tool": True,
        "shows_place": True,
    }
    printing = seen("printing")["unexpected"]
    assert printing["named_in"] == {"log": False, "stdout": True, "stderr": False, "raised": False}
    assert (printing["stdout_lines"], printing["shows_message"], printing["shows_place"]) == (1, False, False)
    fragile = seen("fragile")
    assert (fragile["expected"]["died_of"], fragile["unexpected"]["died_of"]) == ("WeatherError", "ZeroDivisionError")
    assert fragile["unexpected"]["caught_by"] == "nobody"
    assert seen("own")["unexpected"]["caught_by"] == "assistant"


@pytest.mark.parametrize(
    ("mode", "reason"), [("idle", "did not request the weather$"), ("unable", "RuntimeError\\('no licence'\\)")]
)
def test_agent_without_a_fault_is_not_measured(site: Path, world: World, mode: str, reason: str) -> None:
    with pytest.raises(ProcessError, match=reason):
        inject_faults(kind(site, mode), world, timeout=60)


def test_turn_timeout_is_not_a_failure_of_the_agent(site: Path, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.chat.experience.fault_injection._TURN_TIMEOUT", 0.2)
    with pytest.raises(ProcessError, match=r"more than 0\.2 seconds"):
        inject_faults(kind(site, "slow"), world, timeout=60)


FRAMEWORKS = {
    # Who catches the expected failure and the unexpected exception, then the levels of errors and logging.
    "agent-framework": ("framework", "framework", "framework", "framework"),
    "google-adk": ("assistant", "nobody", "manual", "framework"),
    "langgraph": ("framework", "nobody", "manual", "basic"),
    "openai-agents": ("framework", "framework", "framework", "basic"),
    "pydantic-ai": ("assistant", "nobody", "manual", "basic"),
}


@pytest.mark.parametrize("name", FRAMEWORKS)
@pytest.mark.frameworks
@pytest.mark.slow
def test_error_handling_and_logging_of_the_frameworks(world: World, name: str) -> None:
    seen = inject_faults(AGENTS.get(name), world, timeout=120)
    expected, unexpected = seen["expected"], seen["unexpected"]
    found = (
        expected["caught_by"],
        unexpected["caught_by"],
        levels.errors(expected, unexpected),
        levels.logging(unexpected),
    )
    assert found == FRAMEWORKS[name]
    assert expected["answered"]
    assert expected["told_model"]


# ── Complete measurements ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def found(site: Path, world: World) -> Experience:
    return measure_experience(kind(site, "careful"), beside=[], world=world)


def test_complete_measurement_of_a_sample(found: Experience) -> None:
    assert found.absent == {}
    assert found.characteristics == {
        "files": 1,
        "setup": "low",
        "complexity": "low",
        "tool_files": 1,
        "memory": "built-in",
        "documentation": "comprehensive",  # Agent and Agent.run
        "errors": "framework",
        "logging": "framework",
    }
    assert (found.measured["framework_names"], found.measured["memory_through"]) == (1, "toyframe.Agent")
    assert (found.measured["documented_names"], found.measured["public_names"]) == (2, 2)
    assert found.claimed is None
    check(found.characteristics)
    assert Experience.from_json(json.loads(json.dumps(found.to_json()))) == found


def test_second_measurement_differs_only_in_seconds(site: Path, world: World, found: Experience) -> None:
    again = measure_experience(kind(site, "careful"), beside=[], world=world)
    assert {**found.measured, "import_seconds": 0} == {**again.measured, "import_seconds": 0}


def test_every_characteristic_and_figure_has_a_method(found: Experience) -> None:
    assert set(found.characteristics) <= set(found.method)
    # These are names that belong to another figure, or parts of a share.
    further = {"worst_function", "smallest", "beside", "memory_class", "memory_through"}
    further |= {"documented_names", "public_names", "undocumented"}
    assert set(found.measured) - further <= set(found.method)
    assert set(METHOD) <= set(found.measured) | set(found.characteristics)


def test_memory_class_of_another_package_is_manual(site: Path, world: World) -> None:
    foreign = kind(site, "careful", memory="collections.OrderedDict")
    assert measure_experience(foreign, beside=[], world=world).characteristics["memory"] == "manual"


def test_agent_without_source_or_package_has_no_characteristics() -> None:
    from assay.chat.agents.spec import parse_agents

    (spec,) = parse_agents("theirs=http://127.0.0.1:9/v1")
    found = measure_experience(spec.kind())
    assert found.characteristics == {}
    assert set(found.absent) == {"source", "installation", "fault"}
    entries = ChatbotEvaluator().evaluate_response("Hello?", "Hello!", "theirs", characteristics=found.characteristics)
    for metric in ("implementation_effort", "integration_simplicity", "debuggability"):
        assert entries[metric].measured is False


def test_failing_part_does_not_affect_the_others(site: Path, world: World) -> None:
    source = site / "spoiled"
    source.mkdir(exist_ok=True)
    (source / "bot.py").write_text("x =\n")
    found = measure_experience(
        kind(site, "careful", source=source, distributions=("toybroken",)), beside=[], world=world
    )
    assert set(found.absent) == {"source", "installation"}
    assert "toyabsent" in found.absent["installation"]
    assert set(found.characteristics) == {"errors", "logging"}


@pytest.mark.frameworks
@pytest.mark.slow
def test_claimed_characteristics_are_included(world: World) -> None:
    kind = AGENTS.get("agent-framework")
    found = measure_experience(kind, name="mine", world=world)
    assert (found.agent, found.claimed) == ("mine", CLAIMED["MS"])
    assert set(found.characteristics) == set(CLAIMED["MS"])
    assert found.measured["smallest"] == "agent-framework"
    assert found.measured["import_seconds"] > 0
    entries = ChatbotEvaluator().evaluate_response("Hi", "Hi", "MS", characteristics=found.characteristics)
    assert entries["integration_simplicity"].score == 1.0
    assert "claimed were files 4, memory manual" in entries["integration_simplicity"].details


def test_documentation_page_states_the_thresholds_in_use() -> None:
    page = Path(__file__).parents[3] / "docs" / "concepts" / "developer-experience.md"
    words = " ".join(page.read_text(encoding="utf-8").split())
    for thresholds in (levels.SETUP, levels.COMPLEXITY):
        (low, medium), *others = thresholds.values()
        assert f"low up to {low:g}, medium up to {medium:g}." in words
        for low, medium in others:
            assert f": {low:g} and {medium:g}." in words
    assert (
        f"comprehensive from {levels.COMPREHENSIVE:.0%}, moderate from {levels.MODERATE:.0%}".replace("%", " %")
        in words
    )


def test_clients_that_assay_needs_do_not_count_as_framework() -> None:
    names = {folder.name for folder in folders({"openai", "httpx"})}
    assert {"openai", "httpx"} <= names


def test_samples_are_valid_python() -> None:
    for text in (ASSISTANT, TOOL, FRAMEWORK, BOT):
        compile(dedent(text), "sample", "exec")
