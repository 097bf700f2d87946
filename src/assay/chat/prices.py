"""What tokens cost: prices by the name of a model, from the list of `genai-prices` or as a user states them.

The list is part of that package: nothing is fetched. An unknown price is None, and so is what a turn cost by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from assay.chat.scoring.answers import Record

CURRENCY = "USD"
_MILLION = 1_000_000
_STATED = "as stated"


class ModelPrice(BaseModel):
    """US dollars for a million tokens of one model."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)
    cached: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """For input tokens that the provider read from its cache; None if they cost what others do."""
    source: str = Field(default=_STATED, max_length=200)
    """Where the price comes from."""
    holds_up_to: int | None = Field(default=None, ge=0)
    """Input tokens of a request above which another price holds; None if there is one price."""

    def cost(
        self, input_tokens: int | None, output_tokens: int | None, cached_tokens: int | None = None
    ) -> float | None:
        """What a turn cost, in US dollars; None if its tokens are not known, or if another price may hold.

        `cached_tokens` are among the input tokens; if they are not known, all are taken to be new.

        Example:
            >>> ModelPrice(input=2.0, output=10.0, cached=0.5).cost(1_000_000, 100_000, 400_000)
            2.4

        """
        if input_tokens is None or output_tokens is None:
            return None
        if self.holds_up_to is not None and input_tokens > self.holds_up_to:
            return None
        cached = 0 if self.cached is None else min(cached_tokens or 0, input_tokens)
        whole = (input_tokens - cached) * self.input + cached * (self.cached or 0.0) + output_tokens * self.output
        return whole / _MILLION

    def cost_of_turn(self, record: Record) -> float | None:
        """What a recorded turn cost.

        What the endpoint itself counted is what it charges; otherwise what the framework reports has to do.
        """
        tokens = (record.input_tokens, record.output_tokens)
        if record.wire_tokens is not None and record.wire_output_tokens is not None:
            tokens = (record.wire_tokens - record.wire_output_tokens, record.wire_output_tokens)
        return self.cost(*tokens, record.cached_tokens)

    def words(self) -> str:
        """The price as a reader sees it: 'USD 0.25 in, 2 out and 0.025 cached for a million tokens'."""
        cached = "" if self.cached is None else f" and {self.cached:g} cached"
        return f"{CURRENCY} {self.input:g} in, {self.output:g} out{cached} for a million tokens ({self.source})"


def prices_of(models: Iterable[str], stated: Mapping[str, ModelPrice], *, url: str = "") -> dict[str, ModelPrice]:
    """The price of each model: as stated, else as listed for the provider at `url`. Unknown ones are left out."""
    found = {}
    for model in dict.fromkeys(models):
        price = stated[model] if model in stated else listed_price(model, url=url)
        if price is not None:
            found[model] = price
    return found


def listed_price(model: str, *, url: str = "") -> ModelPrice | None:
    """The price that `genai-prices` lists; None if it lists none, or if the package is not installed.

    The provider is recognised by its address. At any other address, such as that of a proxy, it is recognised by the
    model's name: `gpt-5-mini`, or with the provider's name, `openai/gpt-5-mini`.
    """
    try:
        from genai_prices import __version__, data_snapshot
    except ImportError:
        return None
    from datetime import UTC, datetime

    snapshot = data_snapshot.get_snapshot()
    provider_name, mark, rest = model.partition("/")
    tries: list[tuple[str, str | None, str | None]] = [(model, None, None)]
    if mark:
        tries.append((rest, provider_name, None))
    try:
        provider = snapshot.find_provider(None, None, url) if url else None
    except LookupError:
        provider = None
    if provider is not None:
        tries = [(model, provider.id, None)]
    for name, provider_id, address in tries:
        try:
            by, known = snapshot.find_provider_model(name, None, provider_id, address)
        except LookupError:
            continue
        prices = known.get_prices(datetime.now(UTC))
        listed = (prices.input_mtok, prices.output_mtok, prices.cache_read_mtok)
        of_input, of_output, of_cached = map(_base, listed)
        if of_input is None or of_output is None:
            return None
        steps = [start for price in listed for start in _starts(price)]
        return ModelPrice(
            input=of_input,
            output=of_output,
            cached=of_cached,
            source=f"{known.id} of {by.name}, genai-prices {__version__}",
            holds_up_to=min(steps) if steps else None,
        )
    return None


def _base(price: Any) -> float | None:
    """The price of a request that is not long; some cost more from a number of input tokens on."""
    return None if price is None else float(getattr(price, "base", price))


def _starts(price: Any) -> list[int]:
    return [int(tier.start) for tier in getattr(price, "tiers", ())]
