"""The `assay` fixture for pytest: evaluate in a test, and assert on estimates instead of on single noisy scores.

    def test_keys(assay):
        assay.events("predicted.jsonl", "truth.jsonl").at_least("keyboard_accuracy", 0.9)

    def test_my_bot(assay):
        assay.run("suite.yaml", {"mine": answer}).passes()

An assertion checks the less favourable end of the interval, so a test passes because the agent is good enough and not
by luck. Nothing but pytest is imported before the fixture evaluates something.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

if TYPE_CHECKING:
    from assay.compare import Comparison
    from assay.runs.results import ExperimentResult
    from assay.types import Estimate, Run

_MOST_FAILURES = 20
Bound = Literal["interval", "value"]


@pytest.fixture(scope="session")
def assay() -> AssayFixture:
    """Evaluate events or transcripts, run agents, compare runs, and assert on the estimates."""
    return AssayFixture()


class AssayFixture:
    """The value of the fixture."""

    def events(self, predicted: Any, truth: Any, **settings: Any) -> Evaluated:
        """Score predicted events against the truth; takes what `assay.events.evaluate` takes."""
        from assay.events import evaluate

        report = evaluate(predicted, truth, **settings)
        protocols = report.protocols
        several = len(protocols) > 1
        estimates = {
            f"{name}:{key}" if several else key: estimate
            for name, result in protocols.items()
            for key, estimate in result.estimates.items()
        }
        return Evaluated(estimates, ", ".join(result.label for result in protocols.values()))

    def transcripts(
        self, transcripts: Iterable[Any] | str | Path, *, agent: str | None = None, **settings: Any
    ) -> Evaluated:
        """Score transcripts, or a file of them; takes what `assay.chat.score` takes.

        `agent` chooses one agent and is required if there are several.
        """
        from assay import chat

        path = Path(transcripts) if isinstance(transcripts, str | Path) else None
        given: Iterable[Any] = transcripts if path is None else chat.read_transcripts(path)  # type: ignore[assignment]
        scores = chat.score(given, **settings)
        name = _only(scores.agents, agent)
        return Evaluated({line.metric: line.estimate for line in scores.lines() if line.agent == name}, name)

    def run(self, suite: Any, agents: Any, **settings: Any) -> PlayedSuite:
        """Run agents through a suite; takes what `assay.chat.run` takes. Baselines need `baselines=True`."""
        from assay import chat

        return PlayedSuite(chat.run(suite, agents, **{"baselines": False, **settings}))

    def estimates(self, estimates: Mapping[str, Estimate], of: str = "estimates") -> Evaluated:
        """Assert on estimates that were computed elsewhere."""
        return Evaluated(estimates, of)

    def compare(self, baseline: Run, candidate: Run, **settings: Any) -> Compared:
        """Compare two runs; takes what `assay.compare.compare` takes."""
        from assay.compare import compare

        return Compared(compare(baseline, candidate, **settings))


@dataclass(frozen=True, slots=True)
class Evaluated:
    """Estimates, by metric: 'owa:comparable', or just 'comparable' if no other protocol has a metric of that name."""

    estimates: Mapping[str, Estimate]
    of: str
    """Name of what was evaluated, for messages."""

    def __getitem__(self, metric: str) -> Estimate:
        if metric in self.estimates:
            return self.estimates[metric]
        qualified = [name for name in self.estimates if name.partition(":")[2] == metric]
        if len(qualified) == 1:
            return self.estimates[qualified[0]]
        from assay.errors import unknown_name

        raise unknown_name("metric", metric, self.estimates)

    def at_least(self, metric: str, bound: float, *, by: Bound = "interval") -> Evaluated:
        """Fail unless the lower end of the interval reaches `bound`; with by='value', the estimate itself.

        Also fails if there is no value, or no interval when the interval is asserted on.
        """
        __tracebackhide__ = True
        found = self[metric]
        end = found.value if by == "value" else found.low
        if end is None or end < bound:
            pytest.fail(_message(metric, found, f"at least {bound:g}", by, "lower", self.of))
        return self

    def at_most(self, metric: str, bound: float, *, by: Bound = "interval") -> Evaluated:
        """Fail unless the upper end of the interval is at most `bound`; with by='value', the estimate itself."""
        __tracebackhide__ = True
        found = self[metric]
        end = found.value if by == "value" else found.high
        if end is None or end > bound:
            pytest.fail(_message(metric, found, f"at most {bound:g}", by, "upper", self.of))
        return self


@dataclass(frozen=True, slots=True)
class PlayedSuite:
    """Agents that were run through a suite, to assert on."""

    result: ExperimentResult

    def passes(self, share: float = 1.0, *, agent: str | None = None) -> PlayedSuite:
        """Fail unless at least this share of the trials passes, for each agent or for one; names failed checks."""
        __tracebackhide__ = True
        from assay.report.failures import failure_words, failures_of

        scores = self.result.scores
        for name in scores.agents if agent is None else [_only(scores.agents, agent)]:
            trials = [passed for of_scenario in scores.trials(name).values() for passed in of_scenario.values()]
            if not trials or sum(trials) < share * len(trials):
                failed = [failure_words(one, agent=False) for one in failures_of(scores) if one.agent == name]
                wanted = "all of them" if share == 1.0 else f"at least {share:.0%}"
                from assay.plural import counted

                text = f"{name} passes {sum(trials)} of {counted(len(trials), 'trial')}; {wanted} should pass"
                pytest.fail("\n".join([text, *failed[:_MOST_FAILURES]]))
        return self

    def metrics(self, agent: str | None = None) -> Evaluated:
        """The metrics of one agent, to assert on; `agent` is required if there are several."""
        from assay.runs.gates import estimates_of

        name = _only(self.result.agents, agent)
        return Evaluated(estimates_of(self.result.scores, name), name)


@dataclass(frozen=True, slots=True)
class Compared:
    """A comparison to assert on."""

    comparison: Comparison

    def none(self, *calls: str) -> Compared:
        """Fail if the verdict on any metric is one of `calls`: 'worse', 'inconclusive' or 'unmeasured'."""
        __tracebackhide__ = True
        from assay.compare import Gates

        failures = [outcome.failure for outcome in Gates(calls).check([self.comparison]) if outcome.failure]
        if failures:
            pytest.fail("\n".join(failures))
        return self


def _message(metric: str, found: Estimate, wanted: str, by: Bound, end: str, of: str) -> str:
    """The requirement and the measurement: value, interval, n."""
    if found.value is None:
        return f"{metric} of {of} should be {wanted}, but nothing was measured ({found.n_skipped:,} skipped)"
    value = f"{found.value:.4g}"
    interval = "no interval" if found.low is None else f"{found.level:.0%} interval [{found.low:.4g}, {found.high:.4g}]"
    asked = "its value" if by == "value" else f"the {end} end of its interval"
    unit = f" from {found.n_units:,} {found.unit}s" if found.low is not None and found.unit != "none" else ""
    text = f"{metric} of {of} should be {wanted} by {asked}: value {value}, {interval}, n = {found.n:,}{unit}"
    if found.low is None and by == "interval":
        text += "; without an interval, assert with by='value' or evaluate more than one episode"
    return text


def _only(agents: Sequence[str], wanted: str | None) -> str:
    if wanted in agents and wanted is not None:
        return wanted
    if wanted is None and len(agents) == 1:
        return agents[0]
    from assay.errors import UsageError

    raise UsageError(f"there are {len(agents)} agents", hint=f"Name one with agent=: {', '.join(agents)}")
