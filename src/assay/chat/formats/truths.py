"""Checks the truths of a transcript with its domain when it is read, while the file and the line are known."""

from __future__ import annotations

from typing import Any

from assay.chat.domains import DOMAINS, Domain
from assay.chat.domains._truths import field_problem
from assay.chat.transcript import Transcript
from assay.chat.yamlfile import Steps, dotted
from assay.errors import AssayError, SourceError


def check_truths(transcript: Transcript, where: str, *, is_messages: bool, read: bool = True) -> None:
    """Raise SourceError for the first truth with a field that its domain does not know, or that it cannot read.

    Without `read`, only the fields are checked: whoever scores the truth has to read it anyway.
    """
    for number, turn in enumerate(transcript.turns):
        if turn.truth is None:
            continue
        # The truth of a message list is beside the messages.
        path: Steps = ("truth",) if is_messages else ("turns", number, "truth")
        try:
            domain = DOMAINS.get(transcript.domain)
        except AssayError as error:
            raise SourceError(error.what, where=where, hint=error.hint) from error
        problem = _problem(turn.truth, domain, read)
        if problem is not None:
            inside, wrong = problem
            hint = wrong.hint
            if "domain" not in transcript.model_fields_set:
                hint = f"{hint}. The domain is '{domain.name}', because neither the file nor --domain names another"
            raise SourceError(f"{dotted((*path, *inside))}: {wrong.what}", where=where, hint=hint)


def _problem(truth: Any, domain: Domain, read: bool) -> tuple[Steps, AssayError] | None:
    try:
        problem = field_problem(truth, domain)
        if problem is None and read:
            domain.read_truth(truth)
    except AssayError as error:
        return (), error
    except RecursionError:
        return (), SourceError("is nested too deeply")
    return problem
