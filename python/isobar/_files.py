"""Fits and optimizations from files."""

from __future__ import annotations

import json
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from . import _isobar
from ._errors import SimulationError
from ._fan_out import run_jobs
from ._scene import _warn


def fit(path: str | PathLike[str]) -> dict[str, Any]:
    """Fits the parameters of a fit file, as `isobar fit` does: a dictionary with `converged`, `termination`, `estimates`
    (`name`, `value`, `standard_error`, …) and more. Ctrl-C ends it between iterations."""
    result, told = _isobar.fit(path)
    _warn(told)
    found: dict[str, Any] = json.loads(result)
    return found


def optimize(
    path: str | PathLike[str], executor: Any = None, folder: str | PathLike[str] | None = None
) -> dict[str, Any]:
    """Optimizes the problem of a problem file, as `isobar optimize` does: a dictionary with `cost`, `converged`,
    `termination`, `values`, `commands` (knots by actuator), `history` and more. Ctrl-C ends it between iterations.

    Of several `starts` the best result is returned. For `executor` and `folder`, by which each is a job, see `run_jobs`.
    """
    if executor is None and folder is None:
        return _optimized(path)
    count, digest = _isobar.starts(path)
    jobs = [(digest, number) for number in range(count)]
    outcomes = run_jobs(partial(_from_start, Path(path)), jobs, executor, folder, return_errors=True)
    if failed := [outcome for outcome in outcomes if isinstance(outcome, Exception)]:
        # A start that cannot be simulated from leaves the others.
        others = [error for error in failed if not isinstance(error, SimulationError)]
        if others or len(failed) == count:
            raise (others or failed)[0]
    found: list[dict[str, Any]] = [outcome for outcome in outcomes if not isinstance(outcome, Exception)]
    return found[_isobar.best([json.dumps(optimum | {"history": []}) for optimum in found])]


def _optimized(path: str | PathLike[str], number: int | None = None) -> dict[str, Any]:
    result, told = _isobar.optimize(path, number)
    _warn(told)
    found: dict[str, Any] = json.loads(result)
    return found


def _from_start(path: Path, job: tuple[str, int]) -> dict[str, Any]:
    """What is found from a start of a problem with a digest, by which results in folders are told apart."""
    return _optimized(path, job[1])
