"""courtesy: is the answer polite? The whole of a third-party metric."""

from __future__ import annotations

from assay.chat import Metric, Rule

METRIC = Metric(
    name="courtesy",
    group="own",
    base=0.5,
    asks="Is it polite?",
    rules=(
        Rule("greets", +0.2, "greets the user", words=("hello", "good morning", "welcome")),
        Rule("thanks", +0.2, "thanks the user", words=("thank you", "thanks")),
        Rule("rude", -0.4, "is rude", words=("nonsense", "stupid")),
    ),
)
