"""Timelines of desktop events: recordings in the folders named at start, opened, cut into tiles and windows."""
