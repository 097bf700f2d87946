"""The report about events in a real browser: drawn without a complaint, sortable, and no wider than a phone."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from tests.report.browser import CHARTS, DARK, Browser, Page

from assay import events
from assay.events import synthetic
from assay.events.protocols import every_protocol
from assay.report.html.events import write

pytestmark = [pytest.mark.browser, pytest.mark.slow(seconds=5)]


# Opens all that can be opened, then counts heads of columns and those that begin before the one to their left ends.
_OVERLAPS = """(() => {
  document.querySelectorAll("details").forEach((one) => { one.open = true; });
  let overlaps = 0, heads = 0;
  for (const row of document.querySelectorAll("thead tr")) {
    const range = document.createRange();
    let before = -Infinity;
    for (const head of row.cells) {
      range.selectNodeContents(head);
      const box = range.getBoundingClientRect();
      if (box.width) { heads += 1; overlaps += box.left < before; before = box.right; }
    }
  }
  return [heads, overlaps];
})()"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Page]:
    """The report of two models, its charts drawn."""
    truth = synthetic.recording(episodes=3, seconds=6, seed=4, long_holds=True)
    models = {"late": synthetic.prediction(truth, synthetic.LATE), "echo": synthetic.echo(truth)}
    reports = {
        name: events.evaluate(predicted, truth, protocols=every_protocol(), reps=20)
        for name, predicted in models.items()
    }
    path = write(reports, tmp_path_factory.mktemp("page") / "report.html")
    with browser.page(path.as_uri(), scheme=DARK, done=CHARTS) as opened:
        yield opened


def test_charts_are_drawn_and_a_click_on_a_head_sorts(page: Page) -> None:
    # Once by recall, largest first; the second click turns it round.
    head = "document.querySelector('table.sortable th:nth-child(4)')"
    page.value(f"[1, 2].forEach(() => {head}.querySelector('button').click())")
    page.wait(f"{head}.ariaSort === 'ascending'")
    dom = page.dom
    assert page.console == []
    assert not re.search(r"<figure[^>]* data-error", dom)
    body = re.search(r'<table class="sortable">.*?<tbody>(.*?)</tbody>', dom, re.S)
    assert body is not None
    values = [re.findall(r'<td[^>]* data-value="([^"]*)"', row)[2] for row in body[1].split("</tr>")[:-1]]
    known = [float(value) for value in values if value]
    assert known == sorted(known)
    assert len(set(known)) > 1
    assert values[len(known) :] == [""] * (len(values) - len(known))  # what is undefined comes last


def test_heads_of_columns_do_not_overlap_on_a_phone(page: Page) -> None:
    page.resize(390)
    heads, overlaps = page.value(_OVERLAPS)
    assert heads > 20
    assert overlaps == 0
    assert page.value("document.documentElement.scrollWidth") == 390
    assert page.console == []
