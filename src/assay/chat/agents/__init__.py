"""The same weather assistant in several frameworks: a folder each, with an `AGENT`; and agents of any other making."""
