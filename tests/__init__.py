"""A package, so that `tests` means this folder even where an installed distribution brings a `tests` of its own."""
