"""Jobs and ensembles on several engines, and workers that are lost."""

import multiprocessing
import os
import pickle
import signal
import weakref
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import isobar
from conftest import ROOT
from isobar._fan_out import _attempt, _member, _size

FRICTION = "materials.foam.friction"


def processes() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn"))


def loss(final: isobar.State) -> tuple[float, dict[str, float]]:
    miss = final["ball.px_m"] - 0.2
    return miss**2, {"ball.px_m": 2 * miss}


def counted(folder: Path, job: int) -> int:
    """A job that says that it was done."""
    (folder / f"{job}.{len(list(folder.iterdir()))}").touch()
    if job == 3:
        raise isobar.InputError("three: found 3; it must be another number")
    return 10 * job


def fatal(folder: Path, job: int) -> int:
    """A job of which the fifth ends its worker, the first time only."""
    marker = folder / "killed"
    if job == 4 and not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return 10 * job


def always_fatal(job: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Unsendable(Exception):
    """Its pickle cannot be restored."""

    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"{first} and {second}")


def unsendable(folder: Path, job: int) -> None:
    counted(folder, job)
    raise Unsendable(1, 2)


def threads_of(job: int) -> str:
    return os.environ["RAYON_NUM_THREADS"]


def pushed(time, state):
    return np.r_[0.2, np.zeros(12)]


def test_forces_act_on_all_members(thrown):
    members = [{"ball.vx": 0.1 * k} for k in range(3)]
    found = isobar.ensemble(thrown, members, loss, 0.01, ["ball.mass"], forces=pushed)
    for k, member in enumerate(members):
        asked = thrown.with_values(member), loss, 0.01, ["ball.mass"]
        value, by = isobar.value_and_gradient(*asked, forces=pushed)
        assert (found.losses[k], found.gradients[k, 0]) == (value, by["ball.mass"])
        assert value != isobar.value_and_gradient(*asked)[0]


def test_an_ensemble_is_its_members(thrown):
    members = [{"ball.vx": 0.1 * k, FRICTION: 0.3 + 0.1 * k} for k in range(5)]
    found = isobar.ensemble(thrown, members, loss, 0.02, [FRICTION, "ball.mass"])
    for k, member in enumerate(members):
        motion = thrown.with_values(member).rollout(until=0.02)
        gradient = motion.gradient(loss, [FRICTION, "ball.mass"])
        assert np.array_equal(found.finals[k], motion.values[-1]) and found.losses[k] == gradient.value
        assert found.gradients[k].tolist() == list(gradient.by_parameters.values())
    mean, by = found.mean
    assert mean == pytest.approx(found.losses.mean()) and by[FRICTION] == pytest.approx(found.gradients[:, 0].mean())


def test_the_bits_do_not_depend_on_the_engine(thrown, tmp_path):
    members = [{"ball.vx": 0.1 * k} for k in range(6)]
    ask = partial(isobar.ensemble, thrown, members, loss, 0.02, [FRICTION])
    here = ask()
    with processes() as two:
        there = ask(executor=two)
    first = ask(executor=processes, folder=tmp_path)
    assert len(list(tmp_path.iterdir())) == 6
    # Nothing is left to do: this executor could not.
    again = ask(executor=lambda: pytest.fail("there is no job"), folder=tmp_path)
    for other in (there, first, again):
        assert np.array_equal(here.finals, other.finals) and here.mean == other.mean


def test_a_batch_on_processes(thrown):
    states = [thrown.rollout(until=0.01).state(k) for k in (0, 4, 8)]
    found = thrown.rollout_batch(states, 0.02, executor=processes)
    for one, other in zip(found, thrown.rollout_batch(states, 0.02)):
        assert np.array_equal(one.values, other.values)
        assert np.array_equal(one.gradient({"ball.px_m": 1.0}).by_state, other.gradient({"ball.px_m": 1.0}).by_state)


def test_what_is_there_is_not_done_again(tmp_path):
    done, results = tmp_path / "done", tmp_path / "results"
    done.mkdir()
    jobs = partial(isobar.run_jobs, partial(counted, done), folder=results)
    assert jobs([1, 2]) == [10, 20]
    assert jobs([2, 1, 5]) == [20, 10, 50]
    assert sorted(file.name[0] for file in done.iterdir()) == ["1", "2", "5"]
    # Errors of isobar's are results, which no engine changes.
    with pytest.raises(isobar.InputError, match="three"):
        jobs([1, 3])
    found = jobs([1, 3], executor=processes, return_errors=True)
    assert found[0] == 10 and isinstance(found[1], isobar.InputError)
    assert sorted(file.name[0] for file in done.iterdir()) == ["1", "2", "3", "5"]


class Counting(ThreadPoolExecutor):
    """Counts messages."""

    messages = 0

    def submit(self, *given):
        self.messages += 1
        return super().submit(*given)


def test_short_jobs_are_sent_together(tmp_path):
    with Counting(2) as executor:
        for chunk, most in ((None, 60), (10, 100), (1, 1000)):
            executor.messages = 0
            assert isobar.run_jobs(str, range(1000), executor, chunk=chunk) == list(map(str, range(1000)))
            assert executor.messages <= most and (chunk is None or executor.messages == most)
        executor.messages = 0
        # What is there is not sent, and each result has a file of its own.
        isobar.run_jobs(str, range(0, 40, 2), executor, tmp_path)
        assert isobar.run_jobs(str, range(40), executor, tmp_path, chunk=5) == list(map(str, range(40)))
        assert executor.messages <= 20 + 4 and len(list(tmp_path.iterdir())) == 40
    # Of those that take long, and at the end, few go together.
    assert [_size(left, 2, 10.0) for left in (1000, 1)] == [1, 1]
    sizes = [_size(left, 2, 0.02) for left in (1000, 200, 80, 1)]
    assert sizes == [50, 25, 10, 2]
    # Nor do a thousand workers ask for more than 50 messages a second.
    assert _size(10**6, 1000, 0.1) == 200


def test_messages_are_small(gripper):
    """The figures of the guide's plan for many machines."""
    one = partial(_member, gripper, loss, 0.01, [FRICTION, "ball.mass"], None, None)
    members = [{"ball.vx": 0.1 * k, "ball.mass": 0.2} for k in range(11)]
    sent = [len(pickle.dumps((_attempt, one, members[:count], 1))) for count in (1, 11)]
    assert sent[0] < 5000 and sent[1] - sent[0] < 10 * 60
    result = True, (gripper.initial_state.vector, 1.0, [1.0, 2.0])
    back = [len(pickle.dumps((1.0, [result] * count))) for count in (1, 2)]
    assert back[0] < 600


def test_errors_are_not_tried_again(tmp_path):
    with pytest.raises(isobar.InputError, match="three") as raised:
        isobar.run_jobs(partial(counted, tmp_path), [1, 3, 4], executor=processes)
    assert raised.value.__notes__ == ["job 1: 3"]
    assert sorted(file.name[0] for file in tmp_path.iterdir()) == ["1", "3", "4"]


def test_errors_that_cannot_be_sent_are_told(tmp_path):
    with pytest.raises(RuntimeError, match="Unsendable: 1 and 2"):
        isobar.run_jobs(partial(unsendable, tmp_path), [1], executor=processes)
    assert len(list(tmp_path.iterdir())) == 1
    with pytest.raises(Unsendable):
        isobar.run_jobs(partial(unsendable, tmp_path), [2])


def test_results_are_not_held_by_the_engine():
    # Of a worker that is lost, Dask does all again that somebody refers to.
    futures, held = [], []

    class Watched(ThreadPoolExecutor):
        def submit(self, *arguments):
            held.append(sum(future() is not None and future().done() for future in futures))
            future = super().submit(*arguments)
            futures.append(weakref.ref(future))
            return future

    with Watched(1) as executor:
        assert isobar.run_jobs(abs, range(40), executor, chunk=1) == list(range(40))
    assert len(held) == 40 and max(held) < 8


def test_a_class_of_executors_makes_one():
    assert isobar.run_jobs(abs, [1, -2], executor=ThreadPoolExecutor) == [1, 2]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL")
def test_lost_workers(tmp_path):
    assert isobar.run_jobs(partial(fatal, tmp_path), range(8), executor=processes) == [10 * k for k in range(8)]
    assert (tmp_path / "killed").exists()
    # What was sent together with it is done too.
    (tmp_path / "killed").unlink()
    found = isobar.run_jobs(partial(fatal, tmp_path), range(8), executor=processes, chunk=8)
    assert found == [10 * k for k in range(8)] and (tmp_path / "killed").exists()
    with pytest.raises(isobar.Error, match="lost 3 times.* 0 of 1 jobs"):
        isobar.run_jobs(always_fatal, [1], executor=processes)


def test_workers_have_one_thread_each(monkeypatch):
    monkeypatch.delenv("RAYON_NUM_THREADS", raising=False)
    assert isobar.run_jobs(threads_of, [1], executor=processes) == ["1"]
    assert "RAYON_NUM_THREADS" not in os.environ


def test_bad_engines_and_jobs(thrown, tmp_path):
    with pytest.raises(isobar.InputError, match="executor: found int"):
        isobar.run_jobs(threads_of, [1], executor=3)
    with pytest.raises(isobar.InputError, match="chunk: found 0"):
        isobar.run_jobs(threads_of, [1], chunk=0)
    with pytest.raises(isobar.InputError, match="cannot be pickled"):
        isobar.run_jobs(lambda job: job, [1], folder=tmp_path)
    with pytest.raises(isobar.InputError, match="cannot be sent to workers"):
        isobar.run_jobs(lambda job: job, [1], executor=processes)
    with pytest.raises(isobar.InputError, match="members"):
        isobar.ensemble(thrown, [], loss, 0.01)
    with pytest.raises(isobar.InputError, match="members: found 3"):
        isobar.ensemble(thrown, [3], loss, 0.01)
    with pytest.raises(isobar.InputError, match="scene: found int"):
        isobar.ensemble(3, [{}], loss, 0.01)
    with pytest.raises(isobar.InputError, match="weight"):
        isobar.ensemble(thrown, [{"weight": 1.0}], loss, 0.01)


def test_starts_are_optimized_on_processes(tmp_path):
    folder = ROOT / "crates/cli/src/init"
    problem = (folder / "problem.toml").read_text(encoding="utf-8")
    several = "[optimizer]\nstarts = { count = 4, spread = 0.3, seed = 2 }\n"
    assert "[optimizer]\n" in problem
    (tmp_path / "problem.toml").write_text(problem.replace("[optimizer]\n", several), encoding="utf-8")
    (tmp_path / "pusher.toml").write_bytes((folder / "pusher.toml").read_bytes())
    here = isobar.optimize(tmp_path / "problem.toml")
    there = isobar.optimize(tmp_path / "problem.toml", executor=processes, folder=tmp_path / "kept")
    assert here == there
    assert len(list((tmp_path / "kept").iterdir())) == 4
