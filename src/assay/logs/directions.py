"""Which way a score of a log is better, by the words of its name: latency, cost and error are better when lower."""

from __future__ import annotations

import re

# Whole words, so that "timeliness", "uptime" and "terror" do not match.
_LOWER = {
    "bpb", "brier", "cer", "cost", "costs", "delay", "distance", "dollars", "duration", "elapsed", "error",
    "errors", "failures", "hallucination", "hallucinations", "latency", "loss", "losses", "mae", "mape",
    "milliseconds", "ms", "mse", "nll", "perplexity", "ppl", "price", "rmse", "runtime", "sec", "seconds",
    "secs", "time", "token", "tokens", "toxicity", "ttft", "usd", "violations", "wer",
}  # fmt: skip
# Beside one of these, the word above is what is avoided, found or handled, or the name is a rate of good things.
_HIGHER = {
    "acc", "accuracy", "avoidance", "avoided", "correct", "correction", "detected", "detection",
    "effectiveness", "efficiency", "f1", "found", "free", "gain", "handled", "handling", "improvement",
    "match", "matched", "no", "non", "not", "on", "overlap", "pass", "passed", "precision", "quality",
    "recall", "recovered", "recovery", "reduction", "robust", "robustness", "saved", "savings", "score",
    "similarity", "success", "throughput", "within", "without",
}  # fmt: skip
_UNITS_OF_TIME = {"hour", "minute", "ms", "s", "sec", "second"}
_WORD = re.compile(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*|\d+")


def lower_is_better(name: str) -> bool:
    """Whether a score of this name is better when it is lower; unknown names are better when higher.

    Example:
        >>> [lower_is_better(name) for name in ("latency_ms", "wordErrorRate", "accuracy", "tokens_per_second")]
        [True, True, False, False]

    """
    words = [word.lower() for word in _WORD.findall(name)]
    if "per" in words:
        at = words.index("per")
        words, unit = words[:at], words[at + 1 : at + 2]
        if unit and unit[0] in _UNITS_OF_TIME and {"token", "tokens"} & set(words):
            return False  # a speed
    found = set(words)
    return bool(found & _LOWER) and not found & _HIGHER
