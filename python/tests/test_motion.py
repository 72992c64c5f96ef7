"""Motions from Python are those of the command, and of single steps."""

import html
import json
import subprocess

import numpy as np
import pytest

import isobar
from conftest import ROOT, THROWN, blocks, command


def guide_scene() -> isobar.Scene:
    """The first scene of the guide."""
    page = ROOT / "docs/guide/src/start-here.md"
    return isobar.Scene.parse(next(b for b in blocks(page, "toml") if b.startswith("# ball.toml")))


def test_the_motion_is_that_which_the_guide_prints():
    # A test of the command compares what it prints with the same page.
    text = next(b for b in blocks(ROOT / "docs/guide/src/start-here.md", "text") if "position, m" in b)
    printed = {line.split(",")[0].strip(): line.split()[-3:] for line in text.splitlines() if ", " in line and "e-1" in line}
    final = guide_scene().rollout(until=1).final["ball"]
    for part, found in [("position", final.position), ("velocity", final.linear_velocity)]:
        expected = [float(x) for x in printed[part]]
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-12), part


@pytest.mark.parametrize("scene", ["fit_ball/scene.toml", "grasp_lift/gripper.toml"])
def test_the_command_writes_the_same_trajectory(scene, tmp_path):
    if (program := command()) is None:
        pytest.skip("there is no command isobar; cargo build --release builds it")
    path, (theirs, ours) = ROOT / "examples" / scene, [tmp_path / name for name in ("theirs.csv", "ours.csv")]
    subprocess.run([program, "simulate", path, "--until", "0.05", "--out", theirs], check=True, capture_output=True)
    isobar.Scene.load(path).rollout(until=0.05).save(ours)
    assert theirs.read_bytes() == ours.read_bytes()


def test_steps_are_those_of_the_rollout(gripper):
    # With its commands, which change in the meantime.
    motion = gripper.rollout(until=0.8)
    for k in (0, 17, 250, 399):
        state = motion.state(k)
        after = gripper.step(state, time=motion.times[k])
        assert np.array_equal(after.vector, motion.values[k + 1]), k
    assert motion["ball"].position[-1, 2] > 0.05


def test_controls_replace_commands(gripper):
    names = gripper.control_names
    steps = round(0.1 / gripper.time_step)
    controls = np.zeros((steps, len(names)))
    motion = gripper.rollout(until=0.1, controls=controls)
    assert not np.array_equal(motion.values, gripper.rollout(until=0.1).values)
    after = gripper.step(motion.state(3), control=np.zeros(len(names)), time=0.0)
    assert np.array_equal(after.vector, motion.values[4])


def test_contact_is_that_of_the_command(gripper):
    state = gripper.rollout(until=0.5).final
    patches = gripper.contact(state)
    assert {(patch.a, patch.b) for patch in patches} >= {("ball", "left finger"), ("ball", "right finger")}
    for patch in patches:
        assert patch.areas.sum() == pytest.approx(patch.area, rel=1e-9)
        assert patch.areas @ patch.tractions_on_a == pytest.approx(patch.force_on_a, rel=1e-9, abs=1e-9)
        assert patch.points.shape == patch.normals.shape == (len(patch.pressures), 3)
        assert np.linalg.norm(patch.normals, axis=1) == pytest.approx(1)
    if (program := command()) is None:
        return
    done = subprocess.run([program, "contact", "--json", gripper.path], check=True, capture_output=True)
    theirs = {(p["a"], p["b"]): p for p in json.loads(done.stdout)["pairs"] if p["faces"] > 0}
    ours = gripper.contact()
    assert {(p.a, p.b) for p in ours} == set(theirs)
    for patch in ours:
        assert patch.force_on_a.tolist() == pytest.approx(theirs[patch.a, patch.b]["force_on_a"], abs=1e-15)


def test_a_batch_has_the_bits_of_single_motions(thrown):
    states = []
    for k in range(5):
        state = thrown.initial_state
        state["ball"].linear_velocity[0] = 0.1 * k
        states.append(state)
    motions = thrown.rollout_batch(states, until=0.05)
    for state, motion in zip(states, motions):
        assert np.array_equal(motion.values, thrown.rollout(until=0.05, state=state).values)
    assert thrown.rollout_batch([], until=0.05) == []


def test_states_are_named_and_can_be_changed(thrown):
    state = thrown.initial_state
    state["ball"].position = [0.1, 0.2, 0.3]
    state["ball.vz_m_s"] = -1
    state["hinge"].q = 0.7
    assert state["ball.py_m"] == 0.2 and state["ball"].linear_velocity[2] == -1
    assert state["hinge.q"] == 0.7 and thrown.initial_state["hinge.q"] == 0.3
    other = state.copy()
    other["ball"].position[0] = 5
    assert state["ball.px_m"] == 0.1 and other != state and state == state.copy()
    assert set(thrown.body_names) == {"ball", "arm", "floor"}
    assert thrown.control_names == ["motor"]


def test_trajectories_by_name(thrown, tmp_path):
    motion = thrown.rollout(until=0.02)
    assert motion["ball"].position.shape == (21, 3) and motion["hinge"].q.shape == (21, 1)
    assert np.array_equal(motion["ball.pz_m"], motion["ball"].position[:, 2])
    motion.save(tmp_path / "motion.csv")
    pandas = pytest.importorskip("pandas")
    table = motion.to_pandas()
    read = pandas.read_csv(tmp_path / "motion.csv", index_col="t_s")
    assert read.equals(table)


def test_a_motion_has_a_page(thrown, tmp_path):
    motion = thrown.rollout(until=0.02)
    motion.save(tmp_path / "motion.html")
    page = (tmp_path / "motion.html").read_text(encoding="utf-8")
    assert page.lstrip().lower().startswith("<!doctype html") and "</html>" in page
    shown = motion._repr_html_()
    assert shown.startswith("<iframe srcdoc=") and html.unescape(shown.split('"')[1]) == page


def test_other_values(thrown):
    assert thrown.parameters["foam.dynamic_friction"] == 0.5
    assert thrown.parameter_units["foam.hydroelastic_modulus"] == "Pa"
    other = thrown.with_values({"materials.foam.friction": 0.1, "ball.mass": 0.2, "ball.px": 0.25})
    assert other.parameters["foam.static_friction"] == other.parameters["foam.dynamic_friction"] == 0.1
    assert other.parameters["ball.mass"] == 0.2 and other.initial_state["ball.px_m"] == 0.25
    assert thrown.parameters["ball.mass"] == 0.1


def test_scenes_from_dictionaries():
    foam = {"hydroelastic_modulus": 1e5, "friction": 0.5}
    ball = {"name": "ball", "mass": 0.1, "translation": [0, 0, 1]}
    ball["geometries"] = [{"shape": {"sphere": {"radius": 0.05, "resolution": 0.05}}, "material": "foam"}]
    scene = isobar.Scene.parse({"materials": {"foam": foam}, "bodies": [ball]})
    assert scene.rollout(until=0.1).final["ball.vz_m_s"] == pytest.approx(-0.981)


def test_warnings_and_failures(thrown):
    with pytest.warns(isobar.SimulationWarning):
        isobar.Scene.parse(THROWN.replace('"lagged"', '"semi-implicit-euler"'))
    # A stiff ball in long explicit steps: its state overflows.
    stiff = isobar.Scene.parse(
        """
        materials.steel = { hydroelastic_modulus = 1e300, friction = 0.5 }
        solver = { kind = "semi_implicit_euler", time_step = 1e-2 }
        [[bodies]]
        name = "ball"
        mass = 1e-3
        translation = [0, 0, 0.04]
        geometries = [{ shape = { sphere = { radius = 0.05, resolution = 0.05 } }, material = "steel" }]
        [[bodies]]
        name = "floor"
        fixed = true
        geometries = [{ shape = { half_space = {} }, rigid = true, material = "steel" }]
        """
    )
    with pytest.raises(isobar.SimulationError, match="ball") as failed:
        stiff.rollout(until=1)
    before = failed.value.trajectory
    assert 0 < len(before) < 101
    with pytest.raises(isobar.SimulationError):
        before.gradient({"ball.pz_m": 1.0})
    start = stiff.initial_state
    away = start.copy()
    away["ball"].position[2] = 100
    found = stiff.rollout_batch([away, start], until=0.1, return_errors=True)
    assert isinstance(found[1], isobar.SimulationError) and len(found[0]) == 11
    with pytest.raises(isobar.SimulationError):
        stiff.rollout_batch([away, start], until=0.1)
