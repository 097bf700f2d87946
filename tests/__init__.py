"""A package, so that `tests` means this folder even if an installed distribution brings its own `tests`."""
