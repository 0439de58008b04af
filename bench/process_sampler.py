"""Samples what a process and all that it starts use, while it runs: CPU time, and memory of Python and of Java."""

from __future__ import annotations

import threading
from typing import Self

import psutil
from bench.cpu_time import cpu_seconds, process_tree

SAMPLE_SECONDS = 0.25


class ProcessSampler:
    """The CPU time of a process and all that it starts, and the most memory its Pythons, its Java and all of
    them together held."""

    def __init__(self, pid: int) -> None:
        self.cpu, self.python, self.java, self.memory = 0.0, 0, 0, 0
        self._process = psutil.Process(pid)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._done.wait(SAMPLE_SECONDS):
            memory = {"python": 0, "java": 0}
            for process in process_tree(self._process):
                kind, resident = _own_memory(process)
                memory[kind] += resident
            self.cpu = max(self.cpu, cpu_seconds(self._process))
            self.python, self.java = max(self.python, memory["python"]), max(self.java, memory["java"])
            self.memory = max(self.memory, sum(memory.values()))


def _own_memory(process: psutil.Process) -> tuple[str, int]:
    """Return what kind of process it is, and the bytes that it alone holds."""
    try:
        return "java" if "java" in process.name() else "python", int(process.memory_full_info().uss)
    except psutil.Error:
        return "python", 0
