"""Names in a suite that nobody knows: fields and states of a truth, tools and their arguments, cities, preferences.

A misspelt name would otherwise be ignored, and whatever the agents do would pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from assay.chat.domains import DOMAINS, Domain, leaves
from assay.chat.domains._states import listed_states, nearest_state
from assay.chat.domains._truths import field_problem
from assay.chat.reading.places import words_of
from assay.chat.suites.cities import is_known_city, nearest_city, unknown_city
from assay.chat.yamlfile import Steps, refusal, refused
from assay.errors import AssayError, unknown_name

if TYPE_CHECKING:
    from pydantic_core import PydanticCustomError

    from assay.chat.reading.text import Reader
    from assay.chat.suites.fields import ExpectedCall
    from assay.chat.suites.scenario import Scenario, Suite


# A hint lists the fields of a truth if there are no more than these.
_FEW_FIELDS = 20


def unknown_names(suite: Suite) -> Iterator[PydanticCustomError]:
    """The first unknown name of each kind in each turn, as errors that a validator raises."""
    domain = DOMAINS.get(suite.domain)
    tools = {*domain.tools, *suite.tools}
    names = _Names(suite, domain)
    known = partial(is_known_city, names=suite.names, is_looked_up=True)
    for at, scenario in enumerate(suite.scenarios):
        where: Steps = ("scenarios", at)
        if scenario.preferences:
            yield from names.preferences(scenario.preferences, (*where, "preferences"))
        persona = scenario.persona
        if persona is not None and domain.uses_places and not known(persona.city):
            yield refused(unknown_city(persona.city, suite.names), at=(*where, "persona", "city"))
        for number, turn in enumerate(scenario.turns):
            of_turn = (*where, "turns", number)
            if turn.weather is not None and domain.uses_places and not known(turn.weather.city):
                yield refused(unknown_city(turn.weather.city, suite.names), at=(*of_turn, "weather"))
            if turn.preferences:
                yield from names.preferences(turn.preferences, (*of_turn, "preferences"))
            if turn.state:
                yield from names.preferences(turn.state, (*of_turn, "state"))
            if turn.calls:
                yield from _calls(turn.calls, tools, of_turn)
                for place, call in enumerate(turn.calls):
                    yield from names.arguments(call, scenario, (*of_turn, "calls", place))
            if turn.weather is not None and not domain.uses_places:
                yield refusal(
                    f"the suite is about '{domain.name}', and the weather tells nothing of it",
                    hint=f"Write a truth in its place, {_truth_to_write(domain)}",
                    at=(*of_turn, "weather"),
                )
            if turn.truth is not None:
                is_checked = bool(turn.checks or turn.says or turn.never_says)
                yield from names.truth(turn.truth, (*of_turn, "truth"), is_checked=is_checked)
                yield from names.misspelt_cities(turn.truth, scenario, (*of_turn, "truth"))


def _calls(calls: Iterable[ExpectedCall], tools: Iterable[str], at: Steps) -> Iterator[PydanticCustomError]:
    if not tools:
        return
    for place, call in enumerate(calls):
        if call.name not in tools:
            error = unknown_name("tool", call.name, tools)
            yield refusal(
                error.what,
                hint=f"{error.hint}. Add your own tools to the suite's 'tools'",
                at=(*at, "calls", place),
            )


class _Names:
    """Looks names up in a domain; its words are read when they are first needed."""

    def __init__(self, suite: Suite, domain: Domain) -> None:
        self._suite = suite
        self._domain = domain
        self._read: Reader | None = None

    @property
    def _reader(self) -> Reader:
        if self._read is None:
            from assay.chat.evaluator import ChatbotEvaluator

            self._read = ChatbotEvaluator(domain=self._domain, language=self._suite.language, metrics=[]).reader
        return self._read

    def preferences(self, given: Mapping[str, Any], at: Steps) -> Iterator[PydanticCustomError]:
        from assay.chat.scoring.context.preferences import read_preferences

        known = [*self._domain.preferences, *self._domain.other_preferences]
        for name, value in given.items() if known else ():
            # In another form, such as {dislikes: [cold]}, it is known if it can be read.
            if name not in known and not read_preferences({name: value}, self._domain, self._reader):
                yield refused(unknown_name("preference", name, known), at=(*at, name))

    def arguments(self, call: ExpectedCall, scenario: Scenario, at: Steps) -> Iterator[PydanticCustomError]:
        """Arguments that a tool of the domain does not have, and cities among them that are misspelt."""
        known = self._domain.arguments.get(call.name)
        if known is None or call.name in self._suite.tools:
            return
        where = (*at, "arguments") if "arguments" in call.model_fields_set else at
        for name in call.arguments:
            if name not in known:
                error = unknown_name(f"argument of {call.name}", name, known)
                hint = f"{error.hint}. Add {call.name} to the suite's 'tools' if it is a tool of your own"
                yield refusal(error.what, hint=hint, at=where)
        yield from self.misspelt_cities(call.arguments, scenario, where, is_looked_up=True)

    def misspelt_cities(
        self, data: Any, scenario: Scenario, at: Steps, *, is_looked_up: bool = False
    ) -> Iterator[PydanticCustomError]:
        """Cities that nobody knows and that the user does not name, if there is one with almost the same name."""
        if not self._domain.uses_places:
            return
        subjects = set(self._domain.fields.subject)
        said = [words_of(turn.user) for turn in scenario.turns]
        for path, value in leaves(data):
            if not path or path[-1] not in subjects or not isinstance(value, str) or not value.strip():
                continue
            is_said = any(_contains(words, words_of(value)) for words in said)
            if is_said or is_known_city(value, self._suite.names, is_looked_up=is_looked_up):
                continue
            if nearest_city(value, self._suite.names) is not None:
                yield refused(unknown_city(value, self._suite.names), at=at)

    def truth(self, data: Any, at: Steps, *, is_checked: bool) -> Iterator[PydanticCustomError]:
        """Fields that the domain does not know, values that it cannot read, states without a word for them, and truths
        by which no answer is wrong, unless the subject alone is given and the answer `is_checked` in another way.
        """
        problem = field_problem(data, self._domain)
        if problem is not None:
            yield refused(problem[1], at=(*at, *problem[0]))
            return
        try:
            read = self._domain.read_truth(data)
        except AssayError as error:
            yield refused(error, at=at)
            return
        if not read and not (read.subject and is_checked):
            what = f"the truth tells nothing of '{read.subject:.60}'" if read.subject else "the truth is empty"
            hint = f"Add what is true, {_truth_to_write(self._domain)}, or leave the truth out"
            yield refusal(f"{what}, so any answer would pass", hint=hint, at=at)
        for words in read.states.values() if self._domain.states else ():
            if self._reader.read(words).all("states"):
                continue
            named = self._domain.states_named(words)
            for name in named - listed_states(self._domain, self._suite.language).keys():
                file = f"{self._suite.language}.toml"
                yield refusal(
                    f"the state '{name}' is in domain.toml, but {file} has no words for it, so no answer can name it",
                    hint=f'Add {name} = ["{words:.60}"] to [lists.states] of {file}',
                    at=at,
                )
            if not named:
                near = nearest_state(words, self._domain, self._suite.language)
                yield refusal(f"the domain has no state called '{words:.60}'", hint=near, at=at)


def _contains(words: Sequence[str], part: Sequence[str]) -> bool:
    return any(tuple(words[at : at + len(part)]) == tuple(part) for at in range(len(words) - len(part) + 1))


def _truth_to_write(domain: Domain) -> str:
    """Fields of a truth, as a part of a hint."""
    names = [name for name in domain.truth_fields if name not in domain.fields.subject]
    return (
        f"such as {', '.join(names[:-1])} or {names[-1]}" if 1 < len(names) <= _FEW_FIELDS else "in the domain's form"
    )
