"""Figures of source code equal a count by hand on small samples."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from assay.chat.experience.source import AssistantSource, count_source, read_source
from assay.errors import SourceError

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


def test_samples_are_valid_python() -> None:
    for text in (ASSISTANT, TOOL):
        compile(dedent(text), "sample", "exec")
