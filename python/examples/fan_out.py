"""An ensemble on several engines: how much faster two workers are than one thread, and what limits many of them.

    pip install ./python "dask[distributed]" ray
    python python/examples/fan_out.py [members] [turns]

Each member is a lift of the gripper in `examples/grasp_lift` with another ball, differentiated by four parameters. Engines that are
not installed are left out. Each turn has one thread of this process first, then two workers of each engine with one thread each;
the ratio of the times of each turn is printed, and whether all bits are the same. Then the sizes of messages, and what the client
does for each member.
"""

import os

os.environ["RAYON_NUM_THREADS"] = "1"

import multiprocessing
import pickle
import signal
import sys
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import numpy as np

import isobar
from isobar import _fan_out

SCENE = Path(__file__).resolve().parents[2] / "examples/grasp_lift/gripper.toml"
WANTED = ["materials.rubber.hydroelastic_modulus", "materials.rubber.friction", "ball.mass", "ball.px"]
UNTIL = 1.2  # s


def loss(final):
    miss = final["ball.pz_m"] - 0.1
    return miss**2, {"ball.pz_m": 2 * miss}


def drawn(count):
    rng = np.random.default_rng(1)
    names = ["ball.mass", "materials.rubber.friction", "ball.px"]
    return [dict(zip(names, rng.uniform([0.15, 0.6, -2e-3], [0.25, 0.9, 2e-3]))) for _ in range(count)]


@contextmanager
def processes(count):
    with ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


@contextmanager
def dask(count):
    from dask.distributed import Client, LocalCluster

    with LocalCluster(count, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        yield client


@contextmanager
def ray(count):
    import ray

    ray.init(num_cpus=count, include_dashboard=False, log_to_driver=False)
    yield ray
    ray.shutdown()


def kill_one(client, after):
    """Ends a worker of Dask's in a while."""
    pid = next(iter(client.run(os.getpid).values()))
    threading.Timer(after, os.kill, (pid, signal.SIGKILL)).start()


def timed(work):
    begin = time.perf_counter()
    return work(), time.perf_counter() - begin


def speed(members, turns):
    scene = isobar.Scene.load(SCENE)
    run = partial(isobar.ensemble, scene, members, loss, UNTIL, WANTED)
    warm = partial(isobar.ensemble, scene, members[:8], loss, 0.1, WANTED)
    killed = "dask, one killed"
    for name, engine in {"processes": processes, "ray": ray, "dask": dask, killed: dask}.items():
        with suppress(ImportError), engine(2) as executor, ThreadPoolExecutor(1) as one:
            warm(executor=executor)
            for _ in range(turns if name != killed else 1):
                here, alone = timed(partial(run, executor=one))
                if name == killed:
                    kill_one(executor, alone / 4)
                there, together = timed(partial(run, executor=executor))
                is_same = here.mean == there.mean and all(
                    np.array_equal(getattr(here, of), getattr(there, of)) for of in ("finals", "losses", "gradients")
                )
                load = os.getloadavg()[0]
                print(
                    f"{name:18} {alone:6.1f} s alone, {together:6.1f} s by two: {alone / together:.2f} ×, "
                    f"{'the same' if is_same else 'OTHER'} bits, load {load:.1f}",
                    flush=True,
                )


def client(count=1000):
    scene = isobar.Scene.load(SCENE)
    one = partial(_fan_out._member, scene, loss, UNTIL, WANTED, None, None)
    members = drawn(count)
    sent = lambda jobs: len(pickle.dumps((_fan_out._attempt, one, jobs, 1)))
    outcome = (True, one(members[0]))
    back = lambda jobs: len(pickle.dumps((1.0, [(True, _fan_out._member(*one.args, job)) for job in jobs])))
    for what, size in (("a message of one member", sent), ("its results", back)):
        one_more = (size(members[:11]) - size(members[:1])) / 10
        print(f"{what:24} {size(members[:1]):6} bytes, {one_more:.0f} for each further member")

    def told(what, seconds):
        print(f"{what:24} {1e6 * seconds / count:6.1f} µs a member")

    def each(what, work):
        told(what, timed(lambda: [work(member) for member in members])[1])

    each("its message alone", lambda member: pickle.dumps((_fan_out._attempt, one, [member], 1)))
    each("its results, read", lambda _, got=pickle.dumps((1.0, [outcome])): pickle.loads(got))
    told("its file's name", timed(lambda: list(_fan_out._digests(one, members)))[1])
    with tempfile.TemporaryDirectory() as folder:
        each("its file", lambda member: _fan_out.write(Path(folder) / f"{id(member)}.pickle", pickle.dumps(outcome)))
    finals, losses, gradients = zip(*[outcome[1]] * count)
    ensemble = isobar.Ensemble(np.array(finals), np.array(losses), np.array(gradients), WANTED)
    told("summing", timed(lambda: ensemble.mean)[1])


if __name__ == "__main__":
    count, turns = (*map(int, sys.argv[1:]), *(200, 3)[len(sys.argv) - 1 :])
    client()
    speed(drawn(count), turns)
