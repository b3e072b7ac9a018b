"""Runs on many machines: DBOS keeps the queue, knows who carries out what, and hands on what a dead worker left.

What a run has done is not kept by DBOS but in our own rows, by path: then parallel branches cannot confuse a
recovery, a result and the event that tells of it are one commit, and `awf run` and a worker record the same.
"""

from __future__ import annotations

from awf.infrastructure.fleet.submitting import RunQueue
from awf.infrastructure.fleet.worker import FleetWorker, WorkerPlan

__all__ = ["FleetWorker", "RunQueue", "WorkerPlan"]
