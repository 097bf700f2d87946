"""Scores inside a training loop: batches as they come, from any number of processes, with the numbers of `evaluate`."""
