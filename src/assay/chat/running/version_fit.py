"""Why a version of a framework does not fit: which package lacks what, and what the assistant is written for.

Reads what Python and the installers print; it runs nothing itself.
"""

from __future__ import annotations

import json
import re
from importlib.metadata import PackageNotFoundError, requires

from assay.chat.agents import AGENTS
from assay.redaction import redacted

ASSAY = "assay-agents"
_LAST_WORDS = 500

# Imports a module and prints the CPU time it took; or, if a name is missing, which package needs it and which lacks it,
# before the traceback.
TRY_IMPORT = """
import json, sys, time, traceback
from importlib.metadata import distributions

def owner(path):
    for one in distributions():
        if any(str(one.locate_file(file)) == path for file in one.files or ()):
            return one.metadata["Name"] + " " + one.version
    return None

start = time.process_time()
try:
    import {module}
except ImportError as error:
    frames = [frame.filename for frame in traceback.extract_tb(error.__traceback__) if frame.filename[:1] != "<"]
    where = sys.modules.get(error.name or "")
    print(json.dumps([str(error), owner(frames[-1]), owner(getattr(where, "__file__", None) or error.path)]))
    raise
print(time.process_time() - start)
"""
_FROM = re.compile(r"cannot import name '([^']+)' from '([^']+)'")
# A long list of versions of one package, which pip tries one after the other.
_VERSIONS = re.compile(r"\b([\w.-]+)(?:\[[^\]]*\])?==[^\s,]+(?:(?:, | and |, and )\1(?:\[[^\]]*\])?==[^\s,]+)+")


def supported(agent: str) -> str:
    """The versions that a bundled assistant is written for: 'langgraph<2,>=1.2 with langchain<2,>=1.4'.

    Empty if that is not known, because assay is not installed as a package.
    """
    from packaging.requirements import Requirement

    kind = AGENTS.get(agent)
    try:
        stated = [Requirement(text) for text in requires(ASSAY) or ()]
    except PackageNotFoundError:
        return ""
    own = [one for one in stated if one.marker is not None and one.marker.evaluate({"extra": kind.extra})]
    always = {one.name for one in stated if one.marker is None or one.marker.evaluate({"extra": "agents"})}
    named = {one.name: f"{one.name}{one.specifier}" for one in own if one.name not in {*always, ASSAY}}
    framework = named.pop(kind.distributions[0], "")
    return f"{framework} with {', '.join(named.values())}" if named else framework


def import_failure(name: str, printed: str, errors: str) -> str:
    """Why the assistant could not be imported with a version, from what `TRY_IMPORT` printed."""
    try:
        said, needs, lacks = json.loads(printed.strip().splitlines()[-1])
    except (ValueError, IndexError, TypeError):
        last = (errors.strip() or "it ended without a word").splitlines()[-1]
        return f"assay's assistant does not work with {name}: {_shown(last)}"
    found = _FROM.match(said)
    what = f"'{found[1]}' of {found[2]}" if found else ""
    if not what:
        return f"assay's assistant does not work with {name}: {_shown(said)}"
    has = f"{lacks} does not have" if lacks else "is not there"
    if needs is None:
        return f"assay's assistant does not work with {name}: it uses {what}, which {has}"
    return f"{name} does not work with what is installed with it: {needs} uses {what}, which {has}"


def install_failure(name: str, errors: str) -> str:
    """Why an environment could not be made, from what the installer wrote: its last errors without what repeats."""
    lines = [line for line in errors.splitlines() if line.strip() and "WARNING" not in line]
    begins = [at for at, line in enumerate(lines) if line.startswith("error:")]  # uv tells what it does before
    lines = lines[begins[0] :] if begins else lines
    told = [line for line in lines if "for help visit" not in line] or lines
    words = _VERSIONS.sub(lambda found: f"any {found[1]}", " ".join(told[-3:]))
    return f"the environment of {name} could not be made: {_shown(words)}"


def is_conflict(errors: str) -> bool:
    """Whether an installer says that packages do not go together."""
    return "conflicting dependencies" in errors or "unsatisfiable" in errors  # of pip, of uv


def lacks_version(package: str, version: str, errors: str) -> bool:
    """Whether an installer says that there is no such version of a package, of which there are others."""
    pinned = rf"{re.escape(package)}(?:\[[^\]]*\])?=={re.escape(version)}"
    return bool(re.search(rf"there is no version of {pinned}(?![\w.])", errors)) or bool(
        re.search(rf"satisfies the requirement {pinned} \(from versions: (?!none\))", errors)
    )


def yanked(package: str, said: str) -> str | None:
    """Why a package was withdrawn from its index, in the words of its maintainers; None if it was not."""
    of_uv = re.search(rf"`{re.escape(package)}==[^`]*` is yanked(?: \(reason: \"(.*)\"\))?", said)
    if of_uv is not None:
        return _shown(of_uv[1] or "")
    name = re.escape(package).replace(r"\-", "[-_]")
    of_pip = re.search(rf"a yanked version: '{name}' (?s:.*?)Reason for being yanked: (.*)", said)
    return None if of_pip is None else _shown(of_pip[1].removeprefix("<none given>"))


def _shown(words: str) -> str:
    """The words without paths and secrets, cut in front if they are long."""
    clean = redacted(re.sub(r" \(/.*\)$", "", words.strip()))
    return clean if len(clean) <= _LAST_WORDS else f"… {clean[-_LAST_WORDS:].partition(' ')[2]}"
