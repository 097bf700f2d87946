"""Talking to agents side by side: `hosting` keeps agents and services open, `talking` plays turns, `keeping` stores."""
