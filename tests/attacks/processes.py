"""What a shell does to a command: closed streams, pipes that end early or never, pipes in place of files, signals."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from assay.errors import AssayError
from assay.events import evaluate
from assay.store import open_store
from tests.attacks import Attack, Outcomes
from tests.attacks.files import KEY
from tests.attacks.names import transcript

_COMMAND = [sys.executable, "-m", "assay.cli"]


def _run(folder: Path, words: list[str], how: Callable[[], None] | None = None) -> tuple[int, str]:
    """Exit code and what was printed, of a process that prepares its streams with `how`."""
    temporary = folder / "temporary"
    temporary.mkdir(exist_ok=True)
    environment = os.environ | {"ASSAY_STORE": str(folder / "runs.db"), "TMPDIR": str(temporary)}
    done = subprocess.run(
        [*_COMMAND, *words], env=environment, capture_output=True, text=True, errors="replace", check=False,
        preexec_fn=how, timeout=300,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


def _closed(*streams: int) -> Callable[[], None]:
    def close() -> None:
        for stream in streams:
            os.close(stream)

    return close


def _from(path: str) -> Callable[[], None]:
    def open_input() -> None:
        os.dup2(os.open(path, os.O_RDONLY), 0)

    return open_input


def _to(path: str) -> Callable[[], None]:
    def open_output() -> None:
        os.dup2(os.open(path, os.O_WRONLY), 1)

    return open_output


def _unread() -> None:
    """Standard output as a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.dup2(writing, 1)
    os.close(reading)
    os.close(writing)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it again


_STREAMS: list[tuple[list[str], Callable[[], None], int]] = [
    (["runs", "show", "no-such-run"], _closed(2), 2),
    (["events", "decode", "-"], _closed(0), 2),
    (["runs", "show", "@last"], _unread, 141),
    (["events", "decode", "-"], _from("/dev/zero"), 2),
    (["runs", "show", "@last"], _closed(1), 0),
    (["runs", "show", "@last"], _closed(0, 1, 2), 0),
    (["runs", "export", "@last", "-"], _to("/dev/full"), 2),
    (["runs", "show", "@last"], _to("/dev/full"), 2),
    (["events", "decode", "-"], _from("/dev/null"), 2),
]


def streams(times: int, folder: Path) -> Outcomes:
    """Streams that are closed, full, without an end or not read: the right exit code, no traceback, nothing left."""
    file = folder / "t.jsonl"
    file.write_text(transcript(), "utf-8")
    if any("@last" in words for words, _, _ in _STREAMS[:times]):
        _run(folder, ["chat", "score", str(file)])
    for words, how, expected in _STREAMS[:times]:
        code, shown = _run(folder, words, how)
        left = os.listdir(folder / "temporary")
        held = code == expected and "Traceback" not in shown and not left
        yield None if held else f"{words} ended with {code}, not {expected}: {shown[-100:]!r} {left}"


def pipes(times: int, folder: Path) -> Outcomes:
    """A pipe in place of a file, as a shell makes one of `<(command)`: all of it is read, or it is refused."""
    lines = "".join(f'{{"text": "{KEY}", "episode": "e"}}\n' for _ in range(2000))
    file = folder / "truth.jsonl"
    file.write_text(lines)
    right = evaluate(str(file), str(file), protocols=["owa"], reps=10).flat("owa")
    for number in range(times):
        pipe = folder / f"pipe{number}"
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_text, args=(lines,), daemon=True)
        writer.start()
        try:
            found = evaluate(str(pipe), str(file), protocols=["owa"], reps=10).flat("owa")
            yield None if found == right else "a pipe gives other numbers than its file"
        except AssayError:
            yield None
        finally:
            _emptied(pipe)
            writer.join()


def _emptied(pipe: Path) -> None:
    """Let a writer that still waits for a reader end."""
    with open(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), "rb") as rest:
        rest.read()


def terminated(times: int, folder: Path) -> Outcomes:
    """SIGTERM while input is read: the exit code says so, and no temporary file is left."""
    for _ in range(times):
        with tempfile.TemporaryDirectory(dir=folder) as temporary:
            environment = os.environ | {"TMPDIR": temporary}
            words = [*_COMMAND, "events", "decode", "-"]
            pipes_to = subprocess.PIPE
            with subprocess.Popen(words, env=environment, stdin=pipes_to, stdout=pipes_to, stderr=pipes_to) as process:
                assert process.stdin is not None
                process.stdin.write(b'{"text": "x"}\n' * 100_000)
                process.stdin.flush()
                for _ in _waiting():
                    if os.listdir(temporary):
                        break
                process.terminate()
                _, shown = process.communicate(timeout=120)
            left = os.listdir(temporary)
            held = process.returncode == 143 and not left and b"Traceback" not in shown
            yield None if held else f"it ended with {process.returncode} and left {left}: {shown[-100:]!r}"


def interrupted(times: int, folder: Path) -> Outcomes:
    """Ctrl-C or SIGTERM at any moment, while modules are loaded too: no traceback, and no half file or run is left."""
    chance = random.Random(17)
    file, store, target = folder / "t.jsonl", folder / "runs.db", folder / "out.json"
    file.write_text("".join(transcript(scenario=f"s{at}") + "\n" for at in range(300)), "utf-8")
    words = [sys.executable, "-m", "assay", "chat", "score", str(file), "--json", str(target), "--store", str(store)]
    for number in range(times):
        sent = (signal.SIGINT, signal.SIGTERM)[number % 2]
        target.unlink(missing_ok=True)
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
            # The interpreter itself starts in the first part of a second; a traceback then is not ours.
            time.sleep(chance.uniform(0.3, 3.0))
            process.send_signal(sent)
            _, shown = process.communicate(timeout=120)
        # By the signal itself before Python has set its handler; 130 if the command was about to end. Python 3.11 ends
        # by SIGINT, whatever code it is given, if the interrupt met an `exec` of text, as dataclasses have.
        ended = process.returncode in (0, 130, 128 + sent, -sent, -signal.SIGINT)
        whole = not target.exists() or target.read_bytes().endswith(b"}\n")
        left = [path.name for path in folder.iterdir() if path.suffix == ".part"]
        with open_store(store) as opened:
            complete = all(entry.complete for entry in opened.list())
        held = ended and whole and complete and not left and b"Traceback" not in shown
        yield None if held else f"{sent.name}: {process.returncode}, {left}, {complete}, {shown[-100:]!r}"


def _waiting() -> Iterator[None]:
    for _ in range(6000):
        yield
        time.sleep(0.02)


ATTACKS = [
    Attack("closed, full, endless and unread streams", streams, 2, len(_STREAMS), seconds=4),
    Attack("pipes in place of files", pipes, 1, 20),
    Attack("commands that are told to end", terminated, 1, 10, seconds=2),
    Attack("commands that are interrupted at any moment", interrupted, 1, 20, seconds=2),
]
