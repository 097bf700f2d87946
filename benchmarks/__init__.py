"""Speed and memory against peers, in one run: `make bench`, or `python -m benchmarks [name …]`.

Every figure is a ratio of two things measured on the same machine within the same minutes, so that it means something
on other machines too. Tests never assert times; this does not either, it prints.
"""
