"""Sample runs for an empty store: synthetic recordings and made-up assistants, scored in a few seconds."""

from __future__ import annotations

from assay.runs.loading import record
from assay.store.store import Store

_SEED = 7
_TAG = "demo"


def store_demo(store: Store) -> None:
    """Score three synthetic models of desktop events and the sample conversations, and store them as runs."""
    from assay.chat import samples, score
    from assay.events import synthetic
    from assay.events.evaluation import evaluate

    truth = synthetic.recording(seed=_SEED, long_holds=True)
    models = {
        "good": synthetic.prediction(truth, synthetic.SOUND, seed=_SEED),
        "late": synthetic.prediction(truth, synthetic.LATE, seed=_SEED),
        "echo": synthetic.echo(truth, seed=_SEED),
    }
    for name, predicted in models.items():
        record(evaluate(predicted, truth), store=store, name=name, tags=[_TAG])
    record(score(samples.transcripts()), store=store, name="conversations", tags=[_TAG])
