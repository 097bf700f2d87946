"""Load tests: many conversations at once in one process for each agent, against the embedded services.

plan.py       how many users, turns and repetitions, and the conversations that follow from them
canaries.py   what each user says that no other may ever see, and the search for it
meters.py     memory, CPU time and stalls of the event loop of this process
worker.py     plays the conversations, in the agent's process
driver.py     starts services and workers, and collects what they report
results.py    what was measured: steps, knee, leaks
"""
