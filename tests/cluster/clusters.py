"""Real Ray clusters of several nodes on this machine.

Without Ray the tests are skipped, unless ASSAY_REQUIRE_RAY is set.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

# Read by Ray when it starts. Ray's workers are less urgent than other processes by default, which on a busy machine
# means that they hardly run.
os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0", "RAY_health_check_period_ms": "1000"}
os.environ.setdefault("RAY_raylet_start_wait_time_s", "120")
_MEMORY = 80 << 20


def require_ray() -> None:
    try:
        import ray  # noqa: F401
    except ImportError:
        if os.environ.get("ASSAY_REQUIRE_RAY"):
            raise
        pytest.skip("Ray is not installed: make test-cluster", allow_module_level=True)


@contextmanager
def nodes(count: int) -> Iterator[Any]:
    """A cluster whose head runs no tasks, with `count` nodes of one core each."""
    from ray.cluster_utils import Cluster

    settings = {"include_dashboard": False, "object_store_memory": _MEMORY}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, **settings})
    try:
        for _ in range(count):
            cluster.add_node(num_cpus=1, object_store_memory=_MEMORY)
        cluster.wait_for_nodes()
        yield cluster
    finally:
        cluster.shutdown()
