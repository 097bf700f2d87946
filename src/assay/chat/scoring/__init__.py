"""How an answer is scored: what a metric is, what it may ask about an answer, and the table of scores."""
