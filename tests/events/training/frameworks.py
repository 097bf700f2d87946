"""PyTorch and what builds on it, which `make test` does not install and `make test-train` does.

With ASSAY_REQUIRE_TRAIN set, a missing package is a failure; else the tests that need it are skipped and say so.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

import pytest


def needed(package: str) -> Any:
    """The package, or a skipped test module."""
    if os.environ.get("ASSAY_REQUIRE_TRAIN"):
        return importlib.import_module(package)
    return pytest.importorskip(package, reason=f"{package} is not installed: make test-train")
