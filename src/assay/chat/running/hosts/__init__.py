"""Where an agent runs: in a worker process, in this process, or on a node of a cluster. Baselines need no place."""
