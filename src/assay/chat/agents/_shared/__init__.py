"""Shared by the bundled assistants of all frameworks: instructions, model client, spans."""
