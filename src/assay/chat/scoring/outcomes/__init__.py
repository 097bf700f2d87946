"""Outcomes of difficult turns: the model misbehaves, the user interrupts, or the conversation grows long."""
