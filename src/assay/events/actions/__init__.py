"""The parts of `assay@1`: keys, buttons and scrolls as labelled moments, matched in time.

Each file measures one thing about one episode and knows nothing of files, tallies or reports. `protocols/assay.py` puts
them together.
"""
