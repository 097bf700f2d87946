"""What scoring a batch costs in a training loop, against one forward pass of a model of 100 million parameters."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from assay import events
from assay.events import synthetic
from assay.events.protocols import every_protocol
from benchmarks.measuring import at_most, show

ROWS, POSITIONS = 4, 512


def main() -> None:
    try:
        import torch
        import transformers
    except ImportError:
        print(
            "In training: skipped, because PyTorch and transformers are not installed (make test-train installs them)."
        )
        return
    from assay.events.training import TokenEvaluation, TrainerMetrics

    codec: Any = events.codec("hierarchical")
    table = dict(enumerate(codec.vocabulary()))
    labels = torch.tensor(_labels(codec, table))
    torch.manual_seed(0)
    config = transformers.GPT2Config(vocab_size=50_257, n_positions=POSITIONS, n_embd=768, n_layer=9, n_head=12)
    model = transformers.GPT2LMHeadModel(config).eval()
    parameters = sum(weight.numel() for weight in model.parameters())
    with torch.no_grad():
        forward = _cpu_seconds(lambda: model(labels), repeats=3)
        logits = model(labels).logits
    # A model that is half right, so that there is something to score.
    half = torch.rand(labels.shape) < 0.5
    following = torch.nn.functional.one_hot(torch.roll(labels, -1, dims=1), logits.shape[-1]).bool()
    logits = logits.masked_fill(half[..., None] & following, 100.0)
    results = []
    for protocols in (["owa"], every_protocol()):
        evaluation = TokenEvaluation(table, protocols)
        metrics = TrainerMetrics(table, protocols)

        def update(
            evaluation: TokenEvaluation = evaluation, metrics: TrainerMetrics = metrics, logits: Any = logits
        ) -> None:
            evaluation.update(metrics.preprocess_logits_for_metrics(logits, labels), labels)

        update()
        ours = _cpu_seconds(update, repeats=10)
        n = evaluation.evaluation.truth.events // 11
        results.append(
            at_most(
                f"{' '.join(protocols)}: {ROWS} × {POSITIONS} tokens, {n} events, against a forward pass of "
                f"{parameters / 1e6:.0f} million parameters",
                f"{ours * 1000:,.1f} ms CPU",
                f"{forward * 1000:,.0f} ms CPU",
                ours / forward,
                0.05,
            )
        )
    show("In training", results)


def _cpu_seconds(function: Callable[[], object], *, repeats: int) -> float:
    """Seconds of CPU time of all threads, the least of several runs."""
    least = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        function()
        least = min(least, time.process_time() - start)
    return least


def _labels(codec: Any, table: dict[int, str]) -> Any:
    """Rows full of events, shape (ROWS, POSITIONS)."""
    ids = {token: number for number, token in table.items()}
    recording = synthetic.recording(episodes=ROWS, seconds=20, seed=1)
    rows = np.zeros((ROWS, POSITIONS), np.int64)
    for at in range(ROWS):
        texts = codec.encode_each(codec.quantise(recording[recording.episode == at]))
        tokens = [ids[f"<{part}"] for text in texts for part in text.split("<")[1:]]
        rows[at] = tokens[:POSITIONS]
    return rows
