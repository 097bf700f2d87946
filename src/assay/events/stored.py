"""The way back from a stored run to how it was scored: settings, encoding, protocols as they were configured.

Everything that reads runs of events (reports, comparisons) goes through here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.events.bounded import SETTING, bounded_protocols
from assay.events.codecs import NAMES, Codec, codec, codec_from_json
from assay.events.protocols import PROTOCOLS, EventProtocol
from assay.types import Run


def settings_of(run: Run) -> dict[str, Any]:
    """The settings of a run of events: `encoding` and `protocols` are nested, whatever form the run was stored in."""
    stated = dict(run.settings)
    if isinstance(stated.get("encoding"), Mapping):
        return stated
    return _from_first_form(stated, run.versions)


def encoding_of(settings: Mapping[str, Any]) -> Codec:
    """The encoding of `settings_of` a run. A codec of another package is not known here, only its name is."""
    return codec_from_json(settings["encoding"])


def protocol_of(run: Run, name: str) -> EventProtocol:
    """A protocol as it was configured for a run."""
    settings = settings_of(run)
    kept = settings["protocols"].get(name, {})
    found = PROTOCOLS.get(name).configured(encoding_of(settings), kept)
    return bounded_protocols([found])[0] if kept.get(SETTING) else found


def _from_first_form(stated: Mapping[str, Any], versions: Mapping[str, int]) -> dict[str, Any]:
    """Settings from before 0.2: names with dots in them, and of an encoding only what was unusual."""
    kept: dict[str, Any] = {}
    encoding: dict[str, Any] = {}
    protocols: dict[str, dict[str, Any]] = {name: {} for name in versions}
    for key, value in stated.items():
        owner, dot, name = key.partition(".")
        if not dot:
            kept[key] = value
        elif owner == "encoding":
            encoding[name] = value
        else:
            protocols.setdefault(owner, {})[name] = value
    known = str(kept.pop("encoding", "hierarchical"))
    encoding["strict"] = bool(kept.pop("strict", False))
    whole = codec(known, **encoding).to_json() if known in NAMES else {"name": known} | encoding
    return {"encoding": whole, **kept, "protocols": protocols}
