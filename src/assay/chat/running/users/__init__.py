"""Simulated users with a goal: what they say next depends on the answers they get."""
