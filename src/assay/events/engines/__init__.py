"""Engines that run the scoring. All give the same tallies, bit for bit, because states can be added in any order."""
