"""Threads, signals, processes and pickles."""

import copy
import os
import pickle
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import isobar
from conftest import ROOT, THROWN


def python(code: str, **environment: str) -> subprocess.CompletedProcess:
    """Runs a program that finds the scene of the tests in THROWN."""
    code = f"THROWN = {THROWN!r}\n{textwrap.dedent(code)}"
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, timeout=120
    )


def test_the_bits_do_not_depend_on_threads():
    code = """
        import hashlib, isobar, numpy
        scene = isobar.Scene.parse(THROWN)
        states = [scene.initial_state for _ in range(6)]
        for k, state in enumerate(states):
            state["ball"].linear_velocity[0] = 0.1 * k
        digest = hashlib.sha256()
        for motion in scene.rollout_batch(states, until=0.05):
            digest.update(motion.values.tobytes())
            gradient = motion.gradient({"ball.px_m": 1.0}, ["foam.dynamic_friction"])
            digest.update(gradient.by_state.tobytes() + numpy.float64(gradient.by_parameters["foam.dynamic_friction"]).tobytes())
        print(digest.hexdigest())
    """
    found = [python(code, RAYON_NUM_THREADS=threads) for threads in ("1", "2", "5")]
    assert all(run.returncode == 0 for run in found), found[0].stderr
    assert len({run.stdout for run in found}) == 1


@pytest.mark.parametrize(
    "work",
    [
        "scene.rollout(until=1000)",
        "scene.rollout_batch([scene.initial_state] * 8, until=1000)",
        f"isobar.optimize({str(ROOT / 'examples/grasp_lift/problem.toml')!r})",
    ],
)
def test_ctrl_c_ends_long_work(work):
    code = f"""
        import isobar, os, signal, threading, time
        scene = isobar.Scene.parse(THROWN)
        threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        begin = time.monotonic()
        try:
            {work}
        except KeyboardInterrupt:
            print("interrupted", time.monotonic() - begin)
        # The process goes on, and optimizations would too.
        print(len(scene.rollout(until=0.01)))
    """
    run = python(code)
    assert run.returncode == 0, run.stderr
    (said, seconds), (length,) = [line.split() for line in run.stdout.splitlines()]
    assert said == "interrupted" and length == "11"
    # An iteration of the optimization may have to end.
    assert float(seconds) < 30


def test_other_threads_run_meanwhile(thrown):
    counts, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counts[0] += 1
            time.sleep(1e-3)

    counter = threading.Thread(target=count)
    counter.start()
    begin = time.monotonic()
    thrown.rollout(until=2)
    seconds = time.monotonic() - begin
    done.set()
    counter.join()
    # Where the lock were held, it would have counted once or twice.
    assert counts[0] > 10 * seconds + 3


def test_several_threads_simulate_one_scene(thrown):
    expected = thrown.rollout(until=0.05).values
    found = []
    threads = [threading.Thread(target=lambda: found.append(thrown.rollout(until=0.05).values)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all(np.array_equal(values, expected) for values in found)


def test_pickles(thrown, gripper):
    changed = thrown.with_values({"foam.dynamic_friction": 0.3}).with_values({"ball.px": 0.1})
    for scene in (thrown, gripper, changed):
        other = pickle.loads(pickle.dumps(scene))
        assert other.parameters == scene.parameters
        assert np.array_equal(other.rollout(until=0.02).values, scene.rollout(until=0.02).values)
    state = thrown.initial_state
    assert pickle.loads(pickle.dumps(state)) == state and copy.deepcopy(state) == state
    assert np.array_equal(thrown.step(pickle.loads(pickle.dumps(state))).vector, thrown.step(state).vector)
    controls = np.full((20, 1), 0.03)
    motion = thrown.rollout(until=0.02, controls=controls)
    other = pickle.loads(pickle.dumps(motion))
    controls[:] = 7
    assert len(other) == 21 and other["ball"].position.shape == (21, 3)
    gradients = [one.gradient({"ball.px_m": 1.0}, ["foam.dynamic_friction"]) for one in (motion, other)]
    assert gradients[0].by_parameters == gradients[1].by_parameters
    assert np.array_equal(gradients[0].by_state, gradients[1].by_state)


def test_scenes_are_known_by_what_they_are_made_of(tmp_path):
    (tmp_path / "block.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n")
    text = """
        materials.foam = { hydroelastic_modulus = 1e5, friction = 0.5 }
        [[bodies]]
        name = "block"
        density = 100
        geometries = [{ shape = { mesh = { file = "block.obj" } }, rigid = true, material = "foam" }]
    """
    scene = isobar.Scene.parse(text, base=tmp_path)
    pickled = pickle.dumps(scene)
    assert pickle.loads(pickled) is pickle.loads(pickled)
    assert pickle.loads(pickled).digest == scene.digest != scene.with_values({"block.mass": 2.0}).digest
    with (tmp_path / "block.obj").open("a") as file:
        file.write("# another\n")
    assert isobar.Scene.parse(text, base=tmp_path).digest != scene.digest
    isobar._scene._restored.cache_clear()
    with pytest.raises(isobar.InputError, match="other files"):
        pickle.loads(pickled)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_says_what_to_do():
    run = python(
        """
        import isobar, os, warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        scene = isobar.Scene.parse(THROWN)
        scene.rollout(until=0.01)
        child = os.fork()
        if child == 0:
            try:
                scene.rollout(until=0.01)
            except isobar.InputError as error:
                print(error, flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        """
    )
    assert run.returncode == 0 and "spawn" in run.stdout, run.stderr
