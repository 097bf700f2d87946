"""The decision in words that every medium shares: an answer for each priority, or what would give one.

Every function takes `named`, which is how the medium writes a name that others chose.
"""

from __future__ import annotations

from collections.abc import Callable

from assay.compare.decision import Decision, PriorityAnswer
from assay.compare.scenario_table import Shortcoming
from assay.compare.standing import TIE
from assay.compare.weights import CANCELLATION, CONSENT, COST, LOAD, RESTART
from assay.plural import counted, listed
from assay.report.overall import ahead_words, fixed, signed_ends, signed_fixed
from assay.stats.tails import largest_chance

Named = Callable[[str], str]
# The other criteria have a suite of the same name.
_WITHOUT_SUITE = (LOAD, COST)
# Suites that need the embedded services, or a process whose memory assay may keep.
_FOR_BUNDLED = (RESTART, CANCELLATION, CONSENT)
# So few scenarios that were missed would not change an overall score by more than a margin of 0.05.
_LITTLE = 0.05
# A smaller part of a lead rounds to 0.000.
_LEAST_SHOWN = 0.0005


def leader_words(answer: PriorityAnswer, named: Named = str) -> str:
    """Who leads, in a few words."""
    if answer.sureness == "tie":
        return f"{listed([named(agent) for agent in answer.leaders])} tie"
    if answer.sureness == "open":
        return f"{named(answer.leaders[0])} is ahead, but nothing separates it from {named(answer.second or '')}"
    return f"{named(answer.leaders[0])} leads"


def by_words(answer: PriorityAnswer, named: Named = str) -> str:
    """By what the first leads, and how surely."""
    if answer.sureness == "tie" or answer.lead is None:
        return _tie_words(answer)
    ahead = f"{ahead_words(answer.lead)} of {named(answer.second or '')}"
    parts = [(name, adds) for name, adds in answer.made_by if adds >= _LEAST_SHOWN]
    made = ", ".join(f"{_title(name)} {signed_fixed(adds)}" for name, adds in parts)
    return f"{ahead}{f', by {made}' if made else ''}. {sure_words(answer)}"


def _tie_words(answer: PriorityAnswer) -> str:
    """How close those are that tie."""
    if not answer.apart or answer.apart <= TIE:
        return "They have the same overall score."
    by = f"by at most {fixed(answer.apart, 3)}" if answer.apart >= _LEAST_SHOWN else "by less than 0.001"
    return f"Their overall scores differ {by}, and the choice of scenarios may explain it."


def sure_words(answer: PriorityAnswer) -> str:
    """How sure a lead is."""
    if answer.low is None or answer.high is None:
        return "One scenario cannot show how certain that is."
    ends = signed_ends(answer.low, answer.high)
    # Few scenarios that all agree come first in every resample, which says nothing about others.
    is_misleading = answer.sureness == "open" and answer.first_in == 1.0
    share = "" if answer.first_in is None or is_misleading else f"; first in {percent(answer.first_in)} of resamples"
    if not answer.once:
        if answer.sureness == "sure":
            return f"More than the choice of scenarios explains: {ends}{share}."
        return f"The choice of scenarios may explain it: {ends}{share}."
    part = f"{signed_fixed(answer.by_scenarios or 0.0)} {ends}"
    single = ", ".join(f"{_title(name)} {signed_fixed(adds)}" for name, adds in answer.once_by)
    what = single if len(answer.once_by) == 1 else f"{signed_fixed(answer.once)} ({single})"
    return f"Of this, {what} was measured once and has no interval; scenarios add {part}{share}."


def given_up_words(answer: PriorityAnswer, named: Named = str) -> str:
    """What one gives up with the leader; empty if nobody leads."""
    if answer.sureness not in ("sure", "once"):
        return ""
    if not answer.gives_up:
        return "No measured criterion is given up."
    return f"Given up: {'; '.join(_shortcoming(one, named) for one in answer.gives_up)}."


def needed_words(answer: PriorityAnswer, decision: Decision) -> str:
    """How many scenarios would decide; empty if it is decided."""
    if answer.sureness in ("sure", "once"):
        return ""
    if answer.sureness == "tie" and answer.needed is not None:
        return "Only many times as many scenarios of this kind could tell them apart."
    if answer.needed is None or answer.sureness == "tie":
        missed = largest_chance(0, decision.scenarios, (1 - decision.level) / 2)
        if missed <= _LITTLE:
            return "More scenarios of this kind would not decide."
        return (
            f"More scenarios of this kind may tell them apart: after {decision.scenarios:,}, "
            f"up to {percent(missed)} of all may still do so."
        )
    low, high = answer.needed
    return f"About {f'{low:,} to {high:,}' if low < high else f'{high:,}'} such scenarios would decide."


def untested_words(decision: Decision) -> str:
    """What was not tested and may separate the agents, with how to test it."""
    experience = (
        ""
        if decision.has_experience
        else "Developer experience was not measured, so what developers feel rests on the other criteria."
    )
    if not decision.untested:
        return experience or ("Everything that assay can test was tested." if decision.is_open else "")
    suites = [name for name in decision.untested if name not in _WITHOUT_SUITE]
    each = f" and the same with {listed(suites[1:])}" if len(suites) > 1 else ""
    commands = [f"`assay chat run --suite {suites[0]}`{each}"] if suites else []
    bundled = [name for name in suites if name in _FOR_BUNDLED]
    be = "is" if len(bundled) == 1 else "are"
    only = f"{listed(bundled).capitalize()} {be} for agents that come with assay." if bundled else ""
    commands += ["`assay chat load`"] if LOAD in decision.untested else []
    runs = f"Run {listed(commands)}, then `assay decide` with the names of all runs." if commands else ""
    prices = "Cost counts once the price of every model is known." if COST in decision.untested else ""
    names = listed([_title(name) for name in decision.untested])
    return " ".join(part for part in (experience, f"Not tested here: {names}.", runs, only, prices) if part)


def basis_words(decision: Decision) -> str:
    """What the decision rests on."""
    return (
        f"From {counted(decision.scenarios, 'scenario')}, paired; {100 * decision.level:g} % intervals. The weights of "
        "each priority are presets of the overall score."
    )


def percent(share: float) -> str:
    """A share in percent; one that is not quite 0 or 1 does not look as if it were."""
    if 0 < share < 0.01:
        return "<1\u00a0%"
    return ">99\u00a0%" if 0.99 < share < 1 else f"{100 * share:.0f}\u00a0%"


def _shortcoming(one: Shortcoming, named: Named) -> str:
    ends = "measured once"
    if one.low is not None and one.high is not None:
        ends = f"[{fixed(one.low, 2)}, {fixed(one.high, 2)}]"
    return f"{_title(one.criterion)} to {named(one.to)} by {fixed(one.by, 2)} ({ends})"


def _title(name: str) -> str:
    return name.replace("_", " ")
