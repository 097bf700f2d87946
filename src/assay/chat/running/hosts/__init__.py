"""Where an agent runs: in a worker process, in this process, on a node of a cluster; or a baseline, nowhere."""
