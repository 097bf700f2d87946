"""The bundled conversations: two made-up assistants on the same scenarios, scored and shown."""

from __future__ import annotations

import json
from importlib.resources import as_file, files
from pathlib import Path

from rich.console import Console

from assay.chat.readers import read_transcripts
from assay.chat.scoring import Scores, score
from assay.chat.table import table
from assay.chat.transcript import Transcript, write_jsonl

SAMPLES = "conversations.jsonl"


def transcripts() -> list[Transcript]:
    """The bundled transcripts."""
    with as_file(files("assay.chat") / "samples" / SAMPLES) as path:
        return read_transcripts(path)


def demo(out: Path, console: Console) -> Scores:
    """Score the bundled transcripts, print the table, and write transcripts and scores into the folder `out`."""
    samples = transcripts()
    scores = score(samples)
    agents = " and ".join(f"[bold]{agent}[/bold]" for agent in scores.agents)
    scenarios = len({sample.scenario for sample in samples})
    console.print(
        f"[bold]Conversations.[/bold] {len(scores.answers)} answers of two made-up assistants, {agents}, "
        f"in {scenarios} scenarios.\n"
    )
    console.print(table(scores))
    write_jsonl(samples, out / SAMPLES)
    (out / "conversations.json").write_text(json.dumps(scores.as_dict(), ensure_ascii=False, indent=1), "utf-8")
    console.print(f"\nWritten to [bold]{out}/[/bold]: {SAMPLES}, and conversations.json with all evidence.")
    console.print(f"  assay chat score {out / SAMPLES} --html conversations.html", highlight=False, soft_wrap=True)
    return scores
