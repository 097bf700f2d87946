"""How agents are run: an experiment is played scenario by scenario, each agent in a separate process."""
