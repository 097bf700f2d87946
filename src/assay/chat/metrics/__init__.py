"""The metrics: a file each, with its rules and their points. A new metric is a new file with a `METRIC` in it."""
