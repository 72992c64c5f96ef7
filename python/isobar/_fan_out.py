"""Jobs on any engine, and ensembles by them."""

from __future__ import annotations

import hashlib
import inspect
import io
import os
import pickle
import reprlib
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np

from ._errors import Error, InputError
from ._isobar import __version__
from ._motions import Controls, Loss, OfTime
from ._scene import Scene
from ._states import Array, listed, number, write

# So many times in a row every worker may be lost before a job is done.
_LOSSES = 3
# Several jobs go to a worker in one message: of this time together, s, or longer where all workers would have more messages
# a second; but what is left is so many messages for each worker, until they are short, by this factor.
_LONG, _RATE, _SHARES, _SHORTER = 1.0, 50.0, 4, 20


def run_jobs(
    function: Callable[[Any], Any],
    jobs: Iterable[Any],
    executor: Any = None,
    folder: str | PathLike[str] | None = None,
    return_errors: bool = False,
    chunk: int | None = None,
) -> list[Any]:
    """What `function` makes of each of `jobs`, in their order, on `executor`: None for threads of this process, or

    - an executor, with `submit` as those of `concurrent.futures` have it;
    - a function that makes one, so that another is made when it has lost a worker: `lambda: ProcessPoolExecutor(…)`;
    - a `dask.distributed.Client`; the module `ray`.

    Jobs must not depend on each other. A job whose worker is lost is done again. One that raises is not: when all have ended
    the first such exception is raised, or with `return_errors` each stands in the place of its result. Its notes have the job.

    A worker is sent `chunk` jobs at a time: if that is None as many as take about a second, and fewer towards the end.

    With `folder` the results go there as they come, and what is there is not done again: of the same function, job, and
    version of isobar. The function's own code counts; what it calls does not, nor do files but those of scenes.

    For processes the function and the jobs are pickled. Start those by `multiprocessing.get_context("spawn")`. They use one
    thread each, unless `RAYON_NUM_THREADS` says another number.
    """
    if chunk is not None and (not isinstance(chunk, int) or chunk < 1):
        raise InputError(f"chunk: found {chunk!r}; it must be a number of jobs, at least 1, or None")
    jobs = list(jobs)
    results: dict[int, tuple[bool, Any]] = {}
    files: list[Path] = []
    if folder is not None:
        files = [Path(folder) / f"{digest}.pickle" for digest in _digests(function, jobs)]
        Path(folder).mkdir(parents=True, exist_ok=True)
        results = {i: pickle.loads(file.read_bytes()) for i, file in enumerate(files) if file.exists()}

    def keep(i: int, outcome: tuple[bool, Any]) -> None:
        results[i] = outcome
        # Other exceptions than isobar's may be the machine's.
        if files and (outcome[0] or isinstance(outcome[1], Error)):
            write(files[i], pickle.dumps(outcome))

    losses = 0
    while missing := deque(i for i in range(len(jobs)) if i not in results):
        found = len(results)
        with _engine(executor) as (submit, workers):
            lost = _work(submit, workers, function, jobs, missing, chunk, keep)
        if lost is not None:
            # Alone, what has lost a worker takes no others with it again.
            chunk = 1
        if isinstance(lost, (pickle.PicklingError, AttributeError, TypeError, ImportError)):
            found_one = f"found one that cannot be sent to workers, or its result back ({lost})"
            message = f"{found_one}; it must be one of a module that they can import"
            raise InputError(f"function: {message}") from lost
        losses = losses + 1 if len(results) == found else 0
        if losses == _LOSSES:
            kept = f", which are kept in {folder}" if files else ""
            message = f"{len(results)} of {len(jobs)} jobs are done{kept}; a function that makes an executor replaces one"
            raise Error(f"executor: its workers were lost {_LOSSES} times in a row ({lost!r}); {message}") from lost
    outcomes = [results[i] for i in range(len(jobs))]
    for i, (is_done, outcome) in enumerate(outcomes):
        if not is_done:
            outcome.add_note(f"job {i}: {reprlib.repr(jobs[i])}")
    if not return_errors and (failed := [outcome for is_done, outcome in outcomes if not is_done]):
        raise failed[0]
    return [outcome for _, outcome in outcomes]


def _work(
    submit: Callable[..., Future[Any]],
    workers: int,
    function: Callable[[Any], Any],
    jobs: list[Any],
    missing: deque[int],
    chunk: int | None,
    keep: Callable[[int, tuple[bool, Any]], None],
) -> Exception | None:
    """Has the missing jobs done and keeps their outcomes. Returns what went wrong with the engine, not with jobs."""
    futures: dict[Any, list[int]] = {}
    ended: SimpleQueue[Any] = SimpleQueue()
    lost: Exception | None = None

    def send(size: int) -> Exception | None:
        sent = [missing.popleft() for _ in range(min(size, len(missing)))]
        try:
            future = submit(_attempt, function, [jobs[i] for i in sent], os.getpid())
        except Exception as error:  # Its workers are lost while there are jobs to hand out.
            return error
        futures[future] = sent
        future.add_done_callback(ended.put)
        return None

    try:
        # One at a time until it is known how long they take: of many workers one for each.
        alone = min(_SHARES * workers, max(workers, 64))
        while missing and lost is None and (chunk or len(futures) < alone):
            lost = send(chunk or 1)
        slowest = 0.0
        while futures:
            future = ended.get()
            sent = futures.pop(future)
            try:
                seconds, outcomes = future.result()
            except Exception as error:  # What a job raises is an outcome: this is the engine's.
                lost = error
                continue
            finally:
                # While it is referred to, Dask does it again when the worker that has its result is lost.
                del future
            for i, outcome in zip(sent, outcomes):
                keep(i, outcome)
            slowest = max(slowest, seconds)
            # Those that fail may do so early.
            if outcomes[0][0] or not futures:
                while missing and lost is None:
                    lost = send(_size(len(missing), workers, slowest))
    finally:
        for future in futures:
            future.cancel()
    return lost


def _size(left: int, workers: int, seconds: float) -> int:
    """How many of the jobs that are left go into the next message, if one takes so long."""
    most = max(_LONG, workers / _RATE) / max(seconds, 1e-6)
    return max(1, int(most / _SHORTER), min(int(most), left // (_SHARES * workers)))


def _attempt(function: Callable[[Any], Any], jobs: list[Any], asked_by: int) -> tuple[float, list[tuple[bool, Any]]]:
    """What comes of jobs, on a worker: how long the slowest took, s, and of each whether it is done, and its result or what it
    raised."""
    is_elsewhere = os.getpid() != asked_by
    if is_elsewhere:
        os.environ.setdefault("RAYON_NUM_THREADS", "1")
    seconds, outcomes = 0.0, []
    for job in jobs:
        begin = time.perf_counter()
        try:
            outcomes.append((True, function(job)))
        except Exception as error:
            outcomes.append((False, _sendable(error) if is_elsewhere else error))
        seconds = max(seconds, time.perf_counter() - begin)
    return seconds, outcomes


def _sendable(error: Exception) -> Exception:
    """The exception, or its text where it cannot be pickled and restored, which an executor takes for the loss of a worker."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


@contextmanager
def _engine(executor: Any) -> Iterator[tuple[Callable[..., Future[Any]], int]]:
    """How an engine is given a job, and how many workers it has, as far as that is known."""
    if executor is None:
        with ThreadPoolExecutor() as threads:
            yield threads.submit, _workers(threads)
    elif type(executor).__module__.partition(".")[0] == "distributed" and hasattr(executor, "get_executor"):
        yield executor.get_executor(pure=False).submit, max(1, sum(executor.nthreads().values()))
    elif getattr(executor, "__name__", "") == "ray":
        remote = executor.remote(_attempt)
        submit = lambda _, *arguments: remote.remote(*arguments).future()  # noqa: E731
        yield submit, max(1, int(executor.cluster_resources().get("CPU", 1)))
    elif hasattr(executor, "submit") and not isinstance(executor, type):
        yield executor.submit, _workers(executor)
    elif callable(executor):
        with executor() as own:
            yield own.submit, _workers(own)
    else:
        allowed = "None, an executor with `submit`, a function that makes one, a Client of dask.distributed, or the module ray"
        raise InputError(f"executor: found {type(executor).__name__}; it must be {allowed}")


def _workers(executor: Any) -> int:
    # Those of the standard library and loky say it.
    return getattr(executor, "_max_workers", None) or os.cpu_count() or 1


def _digests(function: Callable[[Any], Any], jobs: list[Any]) -> Iterator[str]:
    """What tells each job from others."""
    # Functions are pickled by their names.
    parts = [function.func, *function.args, *function.keywords.values()] if isinstance(function, partial) else [function]
    parts += [own for scene in parts if isinstance(scene, Scene) for law in scene.laws for own in law.functions]
    common = hashlib.sha256(_pickled((__version__, function)))
    for part in filter(inspect.isfunction, parts):
        with suppress(OSError):
            common.update(inspect.getsource(part).encode())
    for job in jobs:
        own = common.copy()
        own.update(_pickled(job))
        yield own.hexdigest()[:32]


def _pickled(found: Any) -> bytes:
    written = io.BytesIO()
    pickler = pickle.Pickler(written)
    # Without a memory: which equal objects are one object makes no difference.
    pickler.fast = True
    try:
        pickler.dump(found)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InputError(f"function: found one that cannot be pickled ({error}); it must be one of a module") from None
    return written.getvalue()


@dataclass(frozen=True)
class Ensemble:
    """Motions of one scene under other values of its parameters, a row each."""

    finals: Array
    """The last states: a column for each of `State.columns`."""
    losses: Array
    """The losses of these."""
    gradients: Array
    """The derivatives of the losses: a column for each parameter that was asked for."""
    parameters: list[str]
    """Their names."""

    @property
    def mean(self) -> tuple[float, dict[str, float]]:
        """The mean loss and its derivatives, summed in the order of the members, so that workers make no difference."""
        of_each = np.column_stack([self.losses, self.gradients])
        loss, *by = (np.add.accumulate(of_each)[-1] / len(of_each)).tolist()
        return loss, dict(zip(self.parameters, by))


def ensemble(
    scene: Scene,
    members: Iterable[Mapping[str, float]],
    loss: Loss,
    until: float,
    parameters: Iterable[str] = (),
    controls: Controls | None = None,
    executor: Any = None,
    folder: str | PathLike[str] | None = None,
    forces: OfTime | None = None,
) -> Ensemble:
    """The motions of `scene.with_values(member)` for each of `members`, until a time in s, with a loss of the final state and
    its derivatives by `parameters` at the member's values (see `Trajectory.gradient`).

    Directions of the initial state (`{"ball.vx": 0.1}`) displace it. For `controls` and `forces` see `Scene.rollout`, for
    `executor` and `folder` `run_jobs`.
    """
    if not isinstance(scene, Scene):
        raise InputError(f"scene: found {type(scene).__name__}; it must be a Scene")
    names, members = listed(parameters), list(members)
    if wrong := [member for member in members if not isinstance(member, Mapping)]:
        raise InputError(f"members: found {wrong[0]!r}; each must be values of parameters by their names")
    members = [{name: number(x, f"members[{i}][{name!r}]") for name, x in member.items()} for i, member in enumerate(members)]
    if not members:
        raise InputError("members: found none; there must be at least one")
    one = partial(_member, scene, loss, number(until, "until"), names, controls, forces)
    finals, losses, gradients = zip(*run_jobs(one, members, executor, folder))
    return Ensemble(np.array(finals), np.array(losses), np.array(gradients).reshape(len(members), len(names)), names)


def _member(
    scene: Scene,
    loss: Loss,
    until: float,
    names: list[str],
    controls: Controls | None,
    forces: OfTime | None,
    values: Mapping[str, float],
) -> tuple[Array, float, list[float]]:
    changed = scene.with_values(values)
    (motion,) = changed.rollout_batch([changed.initial_state], until, controls, forces=forces)
    gradient = motion.gradient(loss, names)
    return motion.values[-1], gradient.value, list(gradient.by_parameters.values())
