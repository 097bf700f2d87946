"""The words by which a language offers a way forward: check, ask, again, website, instead."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True, slots=True)
class WayWords:
    """The words of one language for ways forward."""

    actions: frozenset[str]
    """What somebody can do: check, ask, come back."""
    before_action: frozenset[str]
    """What may lead to an action, beside the start of a clause: please, perhaps, to."""
    modals: frozenset[str]
    users: frozenset[str]
    """Who acts, before a modal verb."""
    sources: frozenset[str]
    """Where to look or whom to ask: website, hotline."""
    again: frozenset[str]
    """When or how: again, later."""
    own: frozenset[str]
    """Words for the assistant itself."""
    offers: frozenset[str]
    """What it may offer to do."""
    empty: frozenset[str]
    """Words that add nothing to an offer: help, best."""
    tells: frozenset[str]
    """What a source does: shows, tells."""
    substitutes: frozenset[str]
    """Words beside something else that is to be had."""
    restored: frozenset[str]
    """What something will be when it works again."""
    nothing: frozenset[str]
    """Words such as "nothing", after which no way forward follows."""
    connectives: frozenset[str]
    """Words that only lead to an alternative: instead, meanwhile."""

    @classmethod
    def of(cls, language: Mapping[str, Any]) -> WayWords:
        """The words of a language's file; none if it has none."""
        words = language.get("ways_forward", {})
        return cls(**{field.name: frozenset(words.get(field.name, ())) for field in fields(cls)})
