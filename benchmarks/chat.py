"""Speed of scoring conversations: against a plain loop over the same words, and against the length of the answer.

The loop is what evaluators of this kind do: for each word of each list, `word in text`, over the answer, the question
and every turn of the history. It finds words inside words, reads no figures and explains nothing; it is here for speed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from assay.chat.evaluator import ChatbotEvaluator
from assay.chat.lexicon import Lexicon

TURNS = 5
ANSWERS = 200
LENGTHS = (1_000, 10_000, 100_000, 1_000_000)

_CITIES = ("Helsinki", "Paris", "Oslo", "Madrid", "Lisbon", "Vienna", "Dublin", "Athens")
_STATES = ("light rain", "clear skies", "heavy snow", "scattered clouds", "mist", "a thunderstorm")
_QUERIES = ("What's the weather in {city}?", "Should I take an umbrella in {city} tomorrow?", "Is it cold in {city} now?")
_ANSWER = (
    "The temperature in {city} is {degrees}°C with {state} and {humidity}% humidity; it feels like {feels}°C. "
    "Based on this, I recommend a warm jacket and an umbrella, because it may get wet later in the day. "
    "Tomorrow will be similar, with a high of {high}°C and a low of {low}°C, so plan for layers."
)


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    what: str
    seconds: float
    ratio: float | None = None
    """How many times as fast as what it is compared with."""


def answers(number: int) -> list[dict[str, object]]:
    """Made-up answers of about 300 characters, all different, each with five turns of history and its truth."""
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
                "framework_name": "made up",
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
    phrases = [phrase for table in (lexicon.by_stem, lexicon.by_form) for listed in table.values() for phrase in listed]
    return [" ".join(form for form, _ in phrase.parts).lower() for phrase in phrases]


def _texts(case: dict[str, object]) -> list[str]:
    history = case["conversation_history"]
    assert isinstance(history, list)
    sides = [side for turn in history for side in turn.values()]
    return [str(case["user_query"]), str(case["response"]), *sides]


def _best(work: Callable[[], object], repeats: int = 5) -> float:
    """Least time of several runs, in seconds: the others were disturbed."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def main() -> list[Row]:
    """Print the table and return its rows."""
    cases = answers(ANSWERS)
    words = words_of(ChatbotEvaluator().reader.lexicon)
    loop = _best(lambda: [plain_loop(words, _texts(case)) for case in cases]) / ANSWERS

    def fresh() -> None:
        evaluator = ChatbotEvaluator()
        for case in cases:
            evaluator.evaluate_response(**case)  # type: ignore[arg-type]

    def cold() -> float:
        """Each answer read for the first time, its history as a conversation leaves it."""
        evaluator = ChatbotEvaluator()
        evaluator.evaluate_response(**cases[0])  # type: ignore[arg-type]
        start = time.process_time()
        for case in cases[1:]:
            evaluator.evaluate_response(**case)  # type: ignore[arg-type]
        return (time.process_time() - start) / (ANSWERS - 1)

    fresh()
    scored = min(cold() for _ in range(5))
    rows = [
        Row(f"plain loop, {len(words)} words, 300 characters and {TURNS} turns", loop),
        Row("assay, the same with all metrics and evidence", scored, loop / scored),
    ]
    evaluator = ChatbotEvaluator()
    before = None
    for length in LENGTHS:
        text = (" ".join(str(case["response"]) for case in cases) * (length // 60_000 + 2))[:length]
        case = {**cases[-1], "response": text}
        seconds = _best(lambda case=case: evaluator.evaluate_response(**case), 3)  # type: ignore[misc]
        rows.append(Row(f"an answer of {length:,} characters", seconds, None if before is None else before * 10 / seconds))
        before = seconds
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:8.2f}x"
        print(f"{row.what:60s} {row.seconds * 1e6:14,.0f} µs {ratio}")
    return rows


if __name__ == "__main__":
    main()
