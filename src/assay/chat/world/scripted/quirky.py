"""What a model with a quirk makes of its tools' results: it sees that a call was refused, and makes it again.

It also believes that its calls arrived whole: the result of a call whose arguments were cut off, lost or changed counts
as the result of the call that it meant. A tool of an agent of the user's own may know few cities, as those of quick
starts do: if it refuses the same city twice, or answers twice with what cannot be read, that is believed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from assay.chat.world.scripted.conversation import ToolOutcome
from assay.chat.world.scripted.planning import Toolbox
from assay.chat.world.scripted.weather_data import LookupFailure, read_current_weather, read_forecast_days
from assay.chat.world.wanted_calls import CURRENT, FORECAST

_BELIEVED_AFTER = 2


def believed(
    outcomes: Sequence[ToolOutcome], cities: Sequence[str], toolbox: Toolbox, *, is_altered: bool = False
) -> list[ToolOutcome]:
    """The results that count, for a turn about these cities; `is_altered` says that the quirk alters arguments."""
    found: list[ToolOutcome] = []
    refused: Counter[tuple[str, str]] = Counter()
    for outcome in outcomes:
        role = toolbox.role_of(outcome.name)
        if outcome.failure is not None or role == "":
            asked = str(next(iter(outcome.arguments.values()), ""))
            if role in (CURRENT, FORECAST) and outcome.name != role and asked in cities:
                refused[outcome.name, asked] += 1
                if refused[outcome.name, asked] == _BELIEVED_AFTER:
                    found.append(outcome)
            continue
        if role in (CURRENT, FORECAST):
            asked = str(next((value for value in outcome.arguments.values() if isinstance(value, str)), ""))
            read = read_current_weather if role == CURRENT else read_forecast_days
            if isinstance(read(outcome, asked), LookupFailure):
                refused[outcome.name, asked] += 1
                if refused[outcome.name, asked] < _BELIEVED_AFTER or asked not in cities:
                    continue
                found += [outcome] * (_BELIEVED_AFTER - 1)  # each counts, so that it is not tried again
            known = {one.arguments.get("city") for one in found if one.name == outcome.name}
            waiting = [city for city in cities if city not in known] if is_altered else []
            meant = next((city for city in cities if asked and city.casefold().startswith(asked.casefold())), None)
            outcome = replace(outcome, arguments={"city": meant or next(iter(waiting), asked)})
        found.append(outcome)
    return found
