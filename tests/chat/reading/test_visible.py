"""An answer is read as it is shown: what is hidden, struck or of no width says nothing, and looks count."""

from __future__ import annotations

import time

import pytest

from assay.chat import ChatbotEvaluator
from assay.chat.reading.visible import as_latin, visible_part

TRUTH = {"current": {"city": "Oslo", "temperature": 5, "main_condition": "rain"}}


def shown(text: str) -> str:
    found = visible_part(text)
    return text if found is None else " ".join(found.text.split())


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("It is 5 °C <!-- or 9 °C -->.", "It is 5 °C ."),
        ("Fine. <!-- 5 °C", "Fine."),
        ('Fine. <span style="display: none">5 °C</span>', "Fine."),
        ('Fine. <span style="opacity: 0">5 °C</span>', "Fine."),
        ('Fine. <b style="color:transparent">5 °C</b>', "Fine."),
        ('<b style="border-width:0; background-color:transparent">5 °C</b>', "5 °C</b>"),
        ('<b style="opacity: 0.9">5 °C</b>', "5 °C</b>"),
        ("Fine. <p hidden>5 °C</p> Bye.", "Fine. Bye."),
        ('Fine. <font size="0">5 °C</font>', "Fine."),
        ('Fine. <font color="white">5 °C</font>', "Fine."),
        ('Fine. <span style="color: #FFF">5 °C</span>', "Fine."),
        ('Fine. <span style="color:rgba(0, 0, 0, 0)">5 °C</span>', "Fine."),
        ('<td style="background: navy; color: white">5 °C</td>', "5 °C</td>"),
        ('Fine. <i style="position:absolute; left:-9999px">5 °C</i>', "Fine."),
        ('Fine. <i style="font-size: 1px">5 °C</i> Bye.', "Fine. Bye."),
        ('<i style="font-size: 12px">5 °C</i>', "5 °C</i>"),
        ("Fine. <noscript>5 °C</noscript><title>5 °C</title>", "Fine."),
        ('Fine. <i title="It is 5 °C">Bye.</i>', "Fine. Bye.</i>"),
        ('Fine. <img src="a.png" alt="It is 5 °C" hidden> Bye.', "Fine. Bye."),
        ("Fine. ![It is 5 °C](https://example.org/a.png) Bye.", "Fine. Bye."),
        ("x <y and z> 5 °C",) * 2,
        ("<script>5 °C</script>Fine.", "Fine."),
        ("<think>5 °C?</think>Fine.", "Fine."),
        ("5 °C?\n</think>\nFine.", "Fine."),
        ("<Thinking>5 °C, so", ""),
        ("I think 5 < 9.",) * 2,
        ("~~€119~~ €89.90", "€89.90"),
        ("<del>€119</del> €89.90", "€89.90"),
        ("1\u200b5 °C", "15 °C"),
        ("1\u00ad5 °C", "15 °C"),
        ("5\u0336 9 °C", "9 °C"),
        ("&#49;5 &#176;C &amp; rain", "15 °C & rain"),
        ("See [the report](https://example.org/5-degrees).", "See [the report] ."),
        ("Fine.\n\n[//]: # (5 °C)\n", "Fine. ["),
        ("5 °C ~~ or so", "5 °C ~~ or so"),
        ("<b>5 °C</b> and <i>rain</i>", "<b>5 °C</b> and <i>rain</i>"),
        ("AT&T, R&D and 3 < 5", "AT&T, R&D and 3 < 5"),
    ],
)
def test_only_what_is_seen_is_shown(text: str, seen: str) -> None:
    assert shown(text) == seen


def test_words_are_where_they_were_written() -> None:
    response = "<!-- hm -->It is <b>1\u200b5&nbsp;&deg;C</b> in Oslo with ~~sun~~ rain."
    (line,) = ChatbotEvaluator().evaluate_response("Weather in Oslo?", response, "a", TRUTH)["accuracy"]["evidence"]
    assert line["id"] == "figure_wrong"
    assert response[line["start"] : line["end"]] == "1\u200b5&nbsp;&deg;C"


def test_lookalike_letters_are_read() -> None:
    assert as_latin("r\u0430in") == "rain"
    assert as_latin("\uff52\uff41\uff49\uff4e") == "rain"
    assert as_latin("Malmö") == "Malmö"
    assert as_latin("погода") == "погода"


def test_hidden_words_do_not_make_an_answer_long() -> None:
    entries = ChatbotEvaluator().evaluate_response("Weather in Oslo?", f"5 °C. <!-- {'rain ' * 100} -->", "a", TRUTH)
    assert entries["task_completion"]["score"] == 0.1


@pytest.mark.parametrize(
    "part",
    [
        "<!--",
        "~~",
        "<del>",
        "](",
        "![",
        "<a ",
        "<a b=",
        "<a color=",
        "[x]: ",
        "<span hidden>",
        "&#1",
        "\u200b",
        "a\u0336",
    ],
)
def test_the_time_is_linear_whatever_is_open(part: str) -> None:
    def seconds(size: int) -> float:
        text = part * size
        start = time.process_time()
        visible_part(text)
        return time.process_time() - start

    seconds(1_000)
    assert seconds(40_000) < 1.0
