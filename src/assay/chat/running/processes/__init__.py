"""Processes that a run starts: how one is started, forked, talked to and ended. Knows nothing of agents and scores."""
