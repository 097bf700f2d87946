"""The Ray engine: items become tasks on a cluster that is running, or on a Ray of our own on this machine.

Ray runs a task again if its worker or machine is lost. No usage statistics leave the machine, and no dashboard is
started. A task is a function of assay with one item; the nodes need the same version of assay.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import suppress
from typing import Any

from assay import __version__
from assay.engines import FailedItem, ItemT, ResultT, attempted
from assay.errors import AssayError, UsageError, missing_extra

# Tasks that are running or queued, for each core of the cluster: enough that no core waits for the driver.
_AHEAD = 2
# How often a task is run again if its machine or worker is lost; errors of the task itself are not repeated.
_RETRIES = 10
# The cluster may grow or shrink; how often we look.
_SECONDS_BETWEEN_LOOKS = 5.0
# Tallies and lines are small; Ray's default is a third of the memory.
_OBJECT_STORE = 256 << 20
_CONNECT_SECONDS = 10.0
_HOST_AND_PORT = re.compile(r"(?:ray://)?(?P<host>[^\s/:]+|\[[0-9A-Fa-f:]+\]):(?P<port>\d{1,5})")


class RayEngine:
    """A Ray cluster: the one at `address` or RAY_ADDRESS, otherwise one of `workers` cores that is started here.

    `address` is 'auto' for the cluster that this machine belongs to, HOST:PORT, or ray://HOST:PORT.
    """

    name = "ray"

    def __init__(self, address: str | None = None, *, workers: int | None = None) -> None:
        # Read by Ray when it is imported, and inherited by the processes that it starts.
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        # Ray waits 10 s for its own processes to start, which may be too short on a busy machine.
        os.environ.setdefault("RAY_raylet_start_wait_time_s", "120")
        try:
            import ray
        except ImportError as error:
            raise missing_extra("ray", "ray", "score on a Ray cluster") from error
        self._ray: Any = ray
        self._folder: str | None = None
        self._slots, self._looked = 1, float("-inf")
        known = (address if address is not None else os.environ.get("RAY_ADDRESS", "")).strip()
        if known and known != "local":
            _check_address(known)
        self._owns = not ray.is_initialized()
        """Whether this engine connects, and so has to disconnect."""
        if not self._owns:
            return
        quiet = {"log_to_driver": False, "logging_level": "ERROR", "namespace": "assay"}
        if known and known != "local":
            self._connect(address=known, **quiet)
        else:
            from assay.engines.local import cores

            # By default Ray's workers hardly run beside other processes; here they work for this one.
            os.environ.setdefault("RAY_worker_niceness", "0")
            self._folder = tempfile.mkdtemp(prefix="assay-ray-")
            self._connect(
                address="local",
                num_cpus=workers or cores(),
                include_dashboard=False,
                object_store_memory=_OBJECT_STORE,
                _temp_dir=self._folder,
                **quiet,
            )

    def _connect(self, **settings: Any) -> None:
        try:
            self._ray.init(**settings)
        except BaseException as error:
            self.close()
            if not isinstance(error, Exception):
                raise
            # Ray's own sentences are paragraphs; the first says what happened.
            reason = str(error).strip().split("\n")[0][:300] or type(error).__name__
            raise UsageError(
                f"Ray could not be reached or started: {reason}",
                where=settings["address"],
                hint="Check the address with `ray status`; without --address, a new cluster is started on this machine",
            ) from error

    def results(
        self, work: Callable[[ItemT], ResultT], items: Iterable[ItemT]
    ) -> Generator[tuple[int, ResultT | FailedItem], None, None]:
        """As `Engine.results`."""
        ray = self._ray
        remote = ray.remote(num_cpus=1, max_retries=_RETRIES, retry_exceptions=False)(_task)
        running: dict[Any, int] = {}
        try:
            for number, item in enumerate(items):
                while running and (
                    len(running) >= _AHEAD * self.slots() or number - min(running.values()) >= 4 * _AHEAD * self.slots()
                ):
                    yield self._next(running)
                running[remote.remote(work, item, __version__)] = number
            while running:
                yield self._next(running)
        finally:
            # Reached with something running if the caller stopped, by an error or Ctrl-C.
            for reference in running:
                with suppress(Exception):
                    ray.cancel(reference, force=True)

    def _next(self, running: dict[Any, int]) -> tuple[int, Any]:
        """The next task that is done."""
        ready, _ = self._ray.wait(list(running), num_returns=1)
        number = running.pop(ready[0])
        try:
            return number, self._ray.get(ready[0])
        except self._ray.exceptions.RayTaskError as error:
            reason = str(getattr(error, "cause", None) or error).strip().split("\n")[-1][:300]
            hint = f'Every node needs the same package: pip install "assay-agents[all]=={__version__}"'
            return number, FailedItem(AssayError(f"a worker could not run the task: {reason}", hint=hint))
        except self._ray.exceptions.RayError as error:
            reason = str(error).strip().split("\n")[0][:300] or type(error).__name__
            hint = "If it ran out of memory, use smaller files or more memory for each core"
            return number, FailedItem(AssayError(f"its worker was lost {_RETRIES + 1} times: {reason}", hint=hint))

    def actor(self, kind: type, *, cores: int) -> Any:
        """An object of a class on some node, for as long as `end_actor` is not called; nodes are used in turn."""
        settings = {"num_cpus": cores, "scheduling_strategy": "SPREAD", "max_restarts": 0}
        return self._ray.remote(**settings)(kind).remote()

    def end_actor(self, actor: Any) -> None:
        """End an actor and its process."""
        with suppress(Exception):
            self._ray.kill(actor)

    @property
    def task_errors(self) -> tuple[type[Exception], ...]:
        """Raised if a call of an actor raised an error."""
        return (self._ray.exceptions.RayTaskError,)

    @property
    def lost_errors(self) -> tuple[type[Exception], ...]:
        """Raised if an actor's process or node is gone."""
        return (self._ray.exceptions.RayError,)

    def driver_host(self) -> str | None:
        """The address under which the nodes reach this machine; None if all of them are on this machine."""
        own = self._ray.util.get_node_ip_address()
        nodes = {node["NodeManagerAddress"] for node in self._ray.nodes() if node["Alive"]}
        return None if nodes <= {own, "127.0.0.1"} else own

    def slots(self) -> int:
        """How many tasks the cluster runs at a time."""
        now = time.monotonic()
        if now - self._looked > _SECONDS_BETWEEN_LOOKS:
            self._looked = now
            self._slots = max(1, int(self._ray.cluster_resources().get("CPU", 0)))
        return self._slots

    def close(self) -> None:
        """Disconnect; a Ray that was started here is stopped, and its files are deleted."""
        if self._owns:
            self._ray.shutdown()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


def _task(work: Callable[[ItemT], ResultT], item: ItemT, version: str) -> ResultT | FailedItem:
    if version != __version__:
        return FailedItem(
            UsageError(
                f"a node has assay {__version__}, and this is assay {version}",
                hint="Install the same version on every node",
            )
        )
    return attempted(work, item)


def _check_address(address: str) -> None:
    """Raise UsageError if the address has another form, or nothing listens there: Ray would try for minutes."""
    if address == "auto":
        return
    found = _HOST_AND_PORT.fullmatch(address)
    if found is None or int(found["port"]) > 65535:
        raise UsageError(
            f"'{address:.100}' is not the address of a Ray cluster", hint="auto, HOST:PORT or ray://HOST:PORT"
        )
    try:
        socket.create_connection((found["host"].strip("[]"), int(found["port"])), _CONNECT_SECONDS).close()
    except OSError as error:
        raise UsageError(
            f"nothing answers there: {error.strerror or error}",
            where=address,
            hint="Is the cluster running, and its port open to this machine? `ray status` shows its address",
        ) from error
    if address.startswith("ray://"):
        try:
            import grpc  # noqa: F401
        except ImportError as error:
            raise missing_extra("grpcio", "ray", "connect to ray://") from error
