"""The report about events in a real browser: drawn without a complaint, sortable, and no wider than a phone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.report.browser import CHARTS, DARK, Browser

from assay import events
from assay.events import synthetic
from assay.events.protocols import every_protocol
from assay.report.html import events as page

pytestmark = [pytest.mark.browser, pytest.mark.slow(seconds=5)]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    truth = synthetic.recording(episodes=3, seconds=6, seed=4, long_holds=True)
    models = {"late": synthetic.prediction(truth, synthetic.LATE), "echo": synthetic.echo(truth)}
    reports = {
        name: events.evaluate(predicted, truth, protocols=every_protocol(), reps=20)
        for name, predicted in models.items()
    }
    return page.write(reports, tmp_path_factory.mktemp("page") / "report.html")


def test_charts_are_drawn_and_a_click_on_a_head_sorts(written: Path, browser: Browser) -> None:
    # Once by recall, largest first; the second click turns it round.
    head = "document.querySelector('table.sortable th:nth-child(4)')"
    click = f"(window.clicks ??= [1, 2].map(() => {head}.querySelector('button').click()))"
    dom, console = browser.opened(written, scheme=DARK, done=f"{CHARTS} && {click} && {head}.ariaSort === 'ascending'")
    assert console == []
    assert not re.search(r"<figure[^>]* data-error", dom)
    body = re.search(r'<table class="sortable">.*?<tbody>(.*?)</tbody>', dom, re.S)
    assert body is not None
    values = [re.findall(r'<td[^>]* data-value="([^"]*)"', row)[2] for row in body[1].split("</tr>")[:-1]]
    known = [float(value) for value in values if value]
    assert known == sorted(known)
    assert len(set(known)) > 1
    assert values[len(known) :] == [""] * (len(values) - len(known))  # what is undefined comes last


def test_heads_of_columns_do_not_overlap_on_a_phone(written: Path, browser: Browser) -> None:
    frame = written.with_name("phone.html")
    # A window of a headless browser cannot be as narrow as a phone; a frame can.
    frame.write_text(
        f'<iframe src="{written.name}" width="390" height="800"></iframe><script>'
        "onload = async () => { const inside = document.querySelector('iframe').contentDocument;"
        "while (inside.documentElement.dataset.charts !== 'done') await new Promise((next) => setTimeout(next, 50));"
        "inside.querySelectorAll('details').forEach((one) => { one.open = true; });"
        "let overlaps = 0, heads = 0; for (const row of inside.querySelectorAll('thead tr')) {"
        "  const range = inside.createRange(); let before = -Infinity;"
        "  for (const head of row.cells) { range.selectNodeContents(head); const box = range.getBoundingClientRect();"
        "    if (box.width) { heads += 1; overlaps += box.left < before; before = box.right; } } }"
        "document.body.dataset.found = [inside.documentElement.scrollWidth, overlaps, heads > 20].join(' '); };"
        "</script>",
        encoding="utf-8",
    )
    dom, console = browser.opened(frame, done="document.body.dataset.found")
    assert console == []
    assert 'data-found="390 0 true"' in dom
