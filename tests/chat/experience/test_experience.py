"""Developer experience: counts that can be made by hand on small samples, and what real frameworks do in a fault."""

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
from assay.chat.experience import METHOD, Experience, levels, measure
from assay.chat.experience.fault import inject_faults
from assay.chat.experience.inspection import documented, who_keeps_memory
from assay.chat.experience.installation import beyond_smallest, closure, folders, read_installation, time_imports
from assay.chat.experience.process import ProcessError, run
from assay.chat.experience.source import Source, count, read_source
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


def test_every_figure_of_a_sample_can_be_counted_by_hand() -> None:
    found = count({"assistant.py": ASSISTANT, "tools/weather.py": TOOL, "tools/__init__.py": '"""Tools."""\n'})
    assert found == Source(
        files=2,  # one holds nothing but its docstring
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


def test_comments_blank_lines_and_docstrings_change_nothing() -> None:
    bare = "def f(x):\n    return [\n        x,\n    ]\n"
    dressed = (
        '# What for.\n\n"""Doc."""\n\ndef f(x):  # why\n    """Doc\n\n    and more, "ä".\n    """\n\n'
        "    return [\n        # first\n        x,\n\n    ]\n"
    )
    assert count({"a.py": bare}) == count({"a.py": dressed})
    assert count({"a.py": bare}).lines == 4


def test_a_string_over_three_lines_is_three_lines_of_code() -> None:
    assert count({"a.py": 'TEXT = """one\n\nthree"""\n'}).lines == 3


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
def test_what_a_branch_is(code: str, branches: int) -> None:
    assert count({"a.py": code}).branches == branches


def test_a_function_inside_another_has_its_own_complexity() -> None:
    code = "def outer():\n if a: pass\n def inner():\n  if a or b: pass\n class C:\n  x = 1 if a else 2\n"
    found = count({"a.py": code})
    assert (found.functions, found.branches) == (2, 4)
    # Equal numbers are decided by name: outer has its own if and the class's.
    assert (found.worst_function, found.worst_complexity) == ("a.py:outer", 3)


def test_a_tool_counts_where_code_names_it_and_not_where_prose_does() -> None:
    names = {"a.py": "from b import get_user_preferences\n", "b.py": "register(name='get_user_preferences')\n"}
    prose = {
        "c.py": '"""Of get_user_preferences."""\nx = 1  # get_user_preferences\n',
        "d.py": "my_get_user_preferences = 1\n",
    }
    assert count({**names, **prose}).tool_files == 2
    assert count(prose).tool_files is None


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
def test_members_are_followed_where_the_code_tells(code: str, members: set[tuple[str, str]]) -> None:
    assert set(count({"a.py": code}).members) == members


def test_a_file_or_a_folder_is_read_and_what_is_no_python_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bot.py").write_text("x = 1\n")
    assert read_source(tmp_path) == read_source(tmp_path / "bot.py")
    (tmp_path / "more.py").write_text("x =\n")
    with pytest.raises(SourceError, match=r"more\.py: is no Python"):
        read_source(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match="holds no Python file"):
        read_source(tmp_path / "empty")


# ── A sample framework, installed in a folder of its own ─────────────────────────────────────────────────────────────

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
    """Put a distribution into a folder; the sizes are what its record says."""
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


def test_packages_are_followed_by_markers_and_extras(site: Path) -> None:
    def names(*requirements: str) -> tuple[list[str], list[str]]:
        packages, absent = closure(requirements)
        return sorted(packages), sorted(absent)

    assert names("toyframe") == (["toybase", "toyframe"], [])
    assert names("Toy_Frame") == ([], ["toy-frame"])
    assert names("toyframe[more]") == (["toybase", "toyframe", "toymore"], [])
    assert names("toybase", "toyframe[more]") == names("toyframe[more]", "toybase")
    assert names("toybroken") == (["toybroken"], ["toyabsent"])


def test_megabytes_are_those_of_the_records(site: Path) -> None:
    assert read_installation(kind(site)).megabytes == pytest.approx(1.5 + 0.25 + 0.25 + 1)


def test_packages_beside_those_of_others(site: Path) -> None:
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


def test_the_extras_that_assay_asks_for_are_followed() -> None:
    # The registry's kind says google-adk; assay's own extra says google-adk[openai].
    assert "openai" in read_installation(AGENTS.get("google-adk")).packages


def test_imports_are_counted_with_what_is_loaded_on_demand(site: Path) -> None:
    assert time_imports(["toybase"], timeout=30, times=1).modules == 1
    assert time_imports(["toysmall", "toybase"], timeout=30, times=1).modules == 2
    plain, lazy = (time_imports([name], timeout=30, times=1).modules for name in ("toyframe", "toyframe.Lazy"))
    assert lazy == plain + 1


def test_an_import_that_fails_says_so(site: Path) -> None:
    with pytest.raises(ProcessError, match="No module named 'toynothing'"):
        time_imports(["toynothing.part"], timeout=30, times=1)


def test_a_docstring_counts_where_it_is_the_names_own(site: Path) -> None:
    names = ["Memory", "Quiet", "Settings", "Agent", "LIMIT", "start_memory", "kinds", "Nothing"]
    members = [("Agent", "run"), ("Agent", "start_session"), ("Agent", "name"), ("Agent", "helper"), ("Agent", "mode")]
    found = documented([f"toyframe.{name}" for name in names], [(f"toyframe.{owner}", name) for owner, name in members])
    assert {name.removeprefix("toyframe."): has for name, has in found.items()} == {
        "Memory": True,
        "Quiet": False,  # its parent's docstring is not its own
        "Settings": False,  # dataclass writes one
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
        (["toyframe.Agent"], ["run"], "toyframe.Agent"),  # its source makes one
        (["toyframe.start_memory"], [], "toyframe.start_memory"),  # it says that it returns one
        (["toyframe.Quiet"], ["forget"], None),
        (["toyframe.LIMIT"], [], None),
        ([], ["start_session"], None),
    ],
)
def test_who_keeps_the_memory(site: Path, names: list[str], attributes: list[str], through: str | None) -> None:
    assert who_keeps_memory("toyframe.Memory", names, attributes) == through


def test_a_memory_that_does_not_exist_is_nobodys(site: Path) -> None:
    assert who_keeps_memory("toyframe.Nothing", ["toyframe.Nothing"], []) is None
    assert who_keeps_memory("toynothing.Memory", ["toyframe.Agent"], []) is None


# ── Words ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("packages", "megabytes", "names", "word"),
    [
        (16, 17, 10, "low"),
        (32, 34, 20, "low"),
        (33, 34, 20, "low"),  # one figure over its threshold changes nothing
        (33, 35, 20, "medium"),
        (211, 35, 20, "medium"),
        (65, 69, 10, "high"),
    ],
)
def test_setup_is_what_two_of_three_figures_say(packages: int, megabytes: float, names: int, word: str) -> None:
    assert levels.setup({"packages": packages, "megabytes": megabytes, "framework_names": names}) == word


def test_a_word_without_its_figures_is_none() -> None:
    assert levels.setup({"packages": 20, "megabytes": 20}) is None
    assert levels.complexity({}) is None
    assert levels.documentation({"documented_share": None}) is None


@pytest.mark.parametrize(
    ("share", "word"), [(1.0, "comprehensive"), (0.8, "comprehensive"), (0.79, "moderate"), (0.3, "none")]
)
def test_documentation(share: float, word: str) -> None:
    assert levels.documentation({"documented_share": share}) == word


# ── A process of its own ─────────────────────────────────────────────────────────────────────────────────────────────


def test_what_a_program_prints_is_not_its_answer() -> None:
    program = "import sys\nprint('{\"a\": 2}')\nresult = {'a': 1, 'given': sys.stdin.read()}"
    assert run(program, "x", timeout=30) == {"a": 1, "given": "x"}


def test_a_program_that_takes_too_long_is_ended() -> None:
    start = time.monotonic()
    with pytest.raises(ProcessError, match=r"more than 0\.5 seconds"):
        run("import time\ntime.sleep(60)", "", timeout=0.5)
    assert time.monotonic() - start < 15


def test_a_program_that_fails_says_its_last_words() -> None:
    with pytest.raises(ProcessError, match="ValueError: no"):
        run("raise ValueError('no')", "", timeout=30)
    with pytest.raises(ProcessError, match="status 3"):
        run("import os\nos._exit(3)", "", timeout=30)


def test_keys_and_switches_of_the_environment_stay_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    assert "OPENAI_API_KEY" not in run("import os\nresult = dict(os.environ)", "", timeout=30)


# ── Faults ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with World(seed=42) as world:
        yield world


@pytest.fixture(scope="module")
def seen(site: Path, world: World) -> Callable[[str], dict[str, Any]]:
    """What was seen of a sample's failures; each sample suffers once."""
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
def test_who_deals_with_a_failure_and_who_says_so(
    seen: Callable[[str], dict[str, Any]], mode: str, errors: str, logging: str
) -> None:
    found = seen(mode)
    assert levels.errors(found["expected"], found["unexpected"]) == errors
    assert levels.logging(found["unexpected"]) == logging


def test_everything_that_a_failure_shows(seen: Callable[[str], dict[str, Any]]) -> None:
    careful = seen("careful")["unexpected"]
    assert careful == {
        "exception": "ZeroDivisionError",
        "answered": True,
        "died_of": None,
        "caught_by": "framework",
        "told_model": False,  # the sample gives no account of its calls
        "named_in": {"log": True, "stdout": False, "stderr": True, "raised": False},
        "named_by": ["toyframe ERROR"],
        "failure_noted_by": ["toyframe ERROR"],
        "records": {"ERROR": 1},
        "stdout_lines": 0,
        "stderr_lines": careful["stderr_lines"],  # Python's last resort prints the record with its traceback
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
    ("mode", "reason"), [("idle", "did not come to ask for the weather$"), ("unable", "RuntimeError\\('no licence'\\)")]
)
def test_an_agent_that_meets_no_fault_has_no_measure_of_it(site: Path, world: World, mode: str, reason: str) -> None:
    with pytest.raises(ProcessError, match=reason):
        inject_faults(kind(site, mode), world, timeout=60)


def test_a_turn_that_takes_too_long_is_no_failure_of_the_agent(
    site: Path, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assay.chat.experience.fault._SECONDS_A_TURN", 0.2)
    with pytest.raises(ProcessError, match=r"more than 0\.2 seconds"):
        inject_faults(kind(site, "slow"), world, timeout=60)


FRAMEWORKS = {
    # What saves the turn in which the service fails, and in the turn in which something unforeseen does.
    "agent-framework": ("framework", "framework", "framework", "framework"),
    "google-adk": ("assistant", "nobody", "manual", "framework"),
    "langgraph": ("framework", "nobody", "manual", "basic"),
    "openai-agents": ("framework", "framework", "framework", "basic"),
    "pydantic-ai": ("assistant", "nobody", "manual", "basic"),
}


@pytest.mark.parametrize("name", FRAMEWORKS)
@pytest.mark.frameworks
@pytest.mark.slow
def test_what_the_frameworks_do(world: World, name: str) -> None:
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


# ── The whole ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def found(site: Path, world: World) -> Experience:
    return measure(kind(site, "careful"), beside=[], world=world)


def test_the_whole_of_a_sample(found: Experience) -> None:
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


def test_a_second_measurement_gives_the_same_but_for_seconds(site: Path, world: World, found: Experience) -> None:
    again = measure(kind(site, "careful"), beside=[], world=world)
    assert {**found.measured, "import_seconds": 0} == {**again.measured, "import_seconds": 0}


def test_every_characteristic_and_figure_says_how_it_was_measured(found: Experience) -> None:
    assert set(found.characteristics) <= set(found.method)
    # These name what another figure found, or are parts of a share.
    further = {"worst_function", "smallest", "beside", "memory_class", "memory_through"}
    further |= {"documented_names", "public_names", "undocumented"}
    assert set(found.measured) - further <= set(found.method)
    assert set(METHOD) <= set(found.measured) | set(found.characteristics)


def test_a_memory_of_somebody_elses_package_is_manual(site: Path, world: World) -> None:
    foreign = kind(site, "careful", memory="collections.OrderedDict")
    assert measure(foreign, beside=[], world=world).characteristics["memory"] == "manual"


def test_an_agent_without_source_or_package_has_no_characteristics() -> None:
    from assay.chat.agents.spec import parse_agents

    (spec,) = parse_agents("theirs=http://127.0.0.1:9/v1")
    found = measure(spec.kind())
    assert found.characteristics == {}
    assert set(found.absent) == {"source", "installation", "fault"}
    entries = ChatbotEvaluator().evaluate_response("Hello?", "Hello!", "theirs", characteristics=found.characteristics)
    for metric in ("implementation_effort", "integration_simplicity", "debuggability"):
        assert entries[metric].measured is False


def test_a_part_that_fails_leaves_the_others(site: Path, world: World) -> None:
    source = site / "spoiled"
    source.mkdir(exist_ok=True)
    (source / "bot.py").write_text("x =\n")
    found = measure(kind(site, "careful", source=source, distributions=("toybroken",)), beside=[], world=world)
    assert set(found.absent) == {"source", "installation"}
    assert "toyabsent" in found.absent["installation"]
    assert set(found.characteristics) == {"errors", "logging"}


@pytest.mark.frameworks
@pytest.mark.slow
def test_a_framework_beside_its_claims(world: World) -> None:
    kind = AGENTS.get("agent-framework")
    found = measure(kind, name="mine", world=world)
    assert (found.agent, found.claimed) == ("mine", CLAIMED["MS"])
    assert set(found.characteristics) == set(CLAIMED["MS"])
    assert found.measured["smallest"] == "agent-framework"
    assert found.measured["import_seconds"] > 0
    entries = ChatbotEvaluator().evaluate_response("Hi", "Hi", "MS", characteristics=found.characteristics)
    assert entries["integration_simplicity"].score == 1.0
    assert "claimed were files 4, memory manual" in entries["integration_simplicity"].details


def test_the_page_on_developer_experience_has_the_limits_that_hold() -> None:
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


def test_clients_that_assay_needs_are_no_framework() -> None:
    names = {folder.name for folder in folders({"openai", "httpx"})}
    assert {"openai", "httpx"} <= names


def test_the_samples_are_python() -> None:
    for text in (ASSISTANT, TOOL, FRAMEWORK, BOT):
        compile(dedent(text), "sample", "exec")
