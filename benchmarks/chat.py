"""Speed of scoring conversations: against a plain loop over the same words, and against the length of the answer.

The loop is what evaluators of this kind do: for each word of each list, `word in text`, over the answer, the question
and every turn of the history. It matches inside words, reads no figures and explains nothing; it only serves as a
measure of speed.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from assay.chat.evaluator import ChatbotEvaluator
from assay.chat.reading.lexicon import Lexicon
from benchmarks.measuring import Result, at_least, at_most, show

TURNS = 5
ANSWERS = 200
LENGTHS = (100_000, 1_000_000)
ROUNDS = 12
WANTED = 5_000
"""Answers a second."""
TESTS = Path(__file__).parent.parent / "tests" / "chat"
CASES = ("cases.jsonl", "cases2.jsonl", "more_cases.jsonl", "reading_cases.jsonl")

_CITIES = ("Helsinki", "Paris", "Oslo", "Madrid", "Lisbon", "Vienna", "Dublin", "Athens")
_STATES = ("light rain", "clear skies", "heavy snow", "scattered clouds", "mist", "a thunderstorm")
_QUERIES = (
    "What's the weather in {city}?",
    "Should I take an umbrella in {city} tomorrow?",
    "Is it cold in {city} now?",
)
_ANSWER = (
    "The temperature in {city} is {degrees}°C with {state} and {humidity}% humidity; it feels like {feels}°C. "
    "Based on this, I recommend a warm jacket and an umbrella, because it may get wet later in the day. "
    "Tomorrow will be similar, with a high of {high}°C and a low of {low}°C, so plan for layers."
)


def answers(number: int) -> list[dict[str, object]]:
    """Synthetic answers of about 300 characters, all different, each with five turns of history and its truth."""
    out: list[dict[str, object]] = []
    history: list[dict[str, str]] = []
    for at in range(number):
        city, state = _CITIES[at % len(_CITIES)], _STATES[at % len(_STATES)]
        query = _QUERIES[at % len(_QUERIES)].format(city=city)
        response = _ANSWER.format(
            city=city, state=state, degrees=at % 37 - 5, humidity=40 + at % 60, feels=at % 37 - 7,
            high=at % 37, low=at % 37 - 9,
        )  # fmt: skip
        truth = {"current": {"city": city, "temperature": at % 37 - 5, "main_condition": state.split()[-1]}}
        out.append(
            {
                "user_query": query,
                "response": f"{response} ({at})",
                "framework_name": "synthetic",
                "weather_data_used": truth,
                "conversation_history": list(history[-TURNS:]),
                "user_preferences": {"dislikes_cold": True},
                "response_time": 1.5,
                "tool_call_count": 1,
            }
        )
        history.append({"user": query, "assistant": f"{response} ({at})"})
    return out


def plain_loop(words: Sequence[str], texts: Sequence[str]) -> int:
    """How many words occur in the texts, found with `in`."""
    found = 0
    for text in texts:
        lower = text.lower()
        for word in words:
            if word in lower:
                found += 1
    return found


def words_of(lexicon: Lexicon) -> list[str]:
    """Every entry of every list, as the loop would look for it."""
    tables = (lexicon.by_stem, lexicon.by_form)
    patterns = [pattern for table in tables for listed in table.values() for pattern in listed]
    phrases = [phrase for pattern in patterns for phrase in pattern.phrases()]
    return [" ".join(form for form, _ in phrase.parts).lower() for phrase in phrases]


def _texts(case: dict[str, object]) -> list[str]:
    history = case["conversation_history"]
    assert isinstance(history, list)
    sides = [side for turn in history for side in turn.values()]
    return [str(case["user_query"]), str(case["response"]), *sides]


def main() -> list[Result]:
    results = [*_against_the_loop(), _different_answers(), *_against_length()]
    show("Conversations", results)
    return results


def _against_the_loop() -> list[Result]:
    """Answers as in a conversation: each new one is read for the first time, its history was read before."""
    cases = answers(ANSWERS)
    evaluator = ChatbotEvaluator()
    words = words_of(evaluator.reader.lexicon)
    numbers = itertools.count()

    def new_cases() -> list[dict[str, object]]:
        # Different words in each round, so that no answer is in a cache.
        number = next(numbers)
        return [{**case, "response": f"{case['response']} ({number})"} for case in cases]

    def one_by_one() -> None:
        for case in new_cases():
            evaluator.evaluate_response(**case)  # type: ignore[arg-type]

    def together() -> None:
        for _ in evaluator.evaluate_responses(new_cases()):
            pass

    def plain() -> None:
        for case in cases:
            plain_loop(words, _texts(case))

    one_by_one()
    rounds = [(_cpu(one_by_one), _cpu(together), _cpu(plain)) for _ in range(ROUNDS)]
    alone, ours, theirs = (min(times) / ANSWERS for times in zip(*rounds, strict=True))
    what = f"all metrics of a 300-character answer with {TURNS} turns, against `in` over the same {len(words)} words"
    return [
        at_least(what, _us(alone), _us(theirs), theirs / alone, 1),
        _rate("300-character answers, scored together", ours),
    ]


def _different_answers() -> Result:
    """The answers of the test cases, which have little in common; each text is new, so nothing is in a cache."""
    lines = [line for name in CASES for line in (TESTS / name).read_text("utf-8").splitlines()]
    cases = [json.loads(line) for line in lines]
    inputs = [case["input"] for case in cases if case.get("domain", "weather") == "weather"]
    evaluator = ChatbotEvaluator()

    def score(number: int) -> None:
        new = (
            {**case, **{name: f"{case[name]} ({number}.{at})" for name in ("user_query", "response")}}
            for at, case in enumerate(inputs)
        )
        for _ in evaluator.evaluate_responses(new):
            pass

    score(0)
    seconds = min(_cpu(lambda number=number: score(number)) for number in range(1, ROUNDS))  # type: ignore[misc]
    return _rate(f"answers of {len(inputs)} test cases, scored together", seconds / len(inputs))


def _rate(what: str, seconds: float) -> Result:
    """Answers a second on one core, against what is wanted."""
    return at_least(
        f"{what} with all evidence, on one core",
        f"{1 / seconds:,.0f} a second",
        f"{WANTED:,} a second",
        1 / seconds / WANTED,
        1,
    )


def _against_length() -> list[Result]:
    """An answer ten times as long should take ten times as long, up to a megabyte."""
    cases = answers(ANSWERS)
    evaluator = ChatbotEvaluator()
    text = " ".join(str(case["response"]) for case in cases) * 20
    seconds = {}
    for length in LENGTHS:
        case = {**cases[-1], "response": text[:length]}
        seconds[length] = min(_cpu(lambda case=case: evaluator.evaluate_response(**case)) for _ in range(3))  # type: ignore[misc]
    return [
        at_most(
            f"time for each character of {long:,} against {short:,}",
            _us(seconds[long] / long * 1000) + " per 1000",
            _us(seconds[short] / short * 1000) + " per 1000",
            seconds[long] / long * short / seconds[short],
            1.1,
        )
        for short, long in itertools.pairwise(LENGTHS)
    ]


def _cpu(work: Callable[[], object]) -> float:
    """Seconds of CPU time of this process, independent of other load on the machine."""
    start = time.process_time()
    work()
    return time.process_time() - start


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:,.0f} µs"
