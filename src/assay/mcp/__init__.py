"""An MCP server over the store of runs, for assistants: list runs, read scores and evidence, compare, follow a figure.

`tools` does what a client asks, through `assay.runs`; `files` decides which files it may name; `bounds` keeps answers
short; `server` is the only module that knows the SDK.
"""
