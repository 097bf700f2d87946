"""Speed and memory against peers, in one run: `make bench`, or `python -m benchmarks [name …]`.

Every figure is a ratio of two measurements on the same machine within a few minutes, so that it applies to other
machines too. Neither tests nor benchmarks assert times; benchmarks print them.
"""
