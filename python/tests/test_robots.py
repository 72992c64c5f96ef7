"""Robots from files, and models of MuJoCo, against MuJoCo."""

import numpy as np
import pytest

import isobar
from conftest import ROOT

ARM = """
<mujoco model="arm">
  <compiler angle="radian"/>
  <option timestep="0.001" gravity="0 0 -9.5"/>
  <asset><mesh name="wedge" vertex="0 0 0 0.1 0 0 0 0.1 0 0 0 0.1" scale="1 2 1" refpos="0.01 0 0"/></asset>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 0.1" pos="0 0 -2"/>
    <body name="upper" pos="0 0 0.5">
      <joint name="shoulder" axis="0 1 0" damping="0.1" armature="0.02"/>
      <geom name="rod" type="capsule" size="0.03 0.2" pos="0 0 -0.2" density="800"/>
      <body name="lower" pos="0 0 -0.4">
        <joint name="elbow" axis="0 1 0" stiffness="2" springref="0.3" ref="0.1"/>
        <joint name="slide" type="slide" axis="0 0 1" damping="3"/>
        <geom name="tip" type="mesh" mesh="wedge" density="500"/>
      </body>
    </body>
    <body name="puck" pos="0.5 0.2 0.3">
      <freejoint name="puck"/>
      <geom name="disc" type="cylinder" size="0.05 0.02" mass="0.4"/>
    </body>
  </worldbody>
  <actuator><motor name="push" joint="elbow" gear="2"/></actuator>
</mujoco>
"""
SITES = "<site name='a'/><site name='b' pos='1 0 0'/></worldbody>"
FOAM = {"hydroelastic_modulus": 1e5, "friction": 0.5}
EXPLICIT = {"kind": "semi_implicit_euler", "time_step": 1e-4}


@pytest.fixture(scope="module")
def mujoco():
    return pytest.importorskip("mujoco")


def make(model, tmp_path, **tables):
    return isobar.from_mujoco(model, folder=tmp_path, **tables)


@pytest.mark.parametrize("form", ["model", "spec"])
def test_accelerations_are_those_of_mujoco(mujoco, tmp_path, form):
    spec = mujoco.MjSpec.from_string(ARM)
    model = mujoco.MjModel.from_xml_string(ARM)
    # The mass of this model, which is not that of its file.
    model.body_mass[1] *= 1.5
    spec.body("upper").geoms[0].density *= 1.5
    given = model if form == "model" else spec
    with pytest.warns(isobar.SimulationWarning):
        scene = make(given, tmp_path, solver=EXPLICIT)
    inertia = model if form == "model" else spec.compile()
    data = mujoco.MjData(inertia)
    rng = np.random.default_rng(8)
    joints = ["shoulder", "elbow", "slide"]
    assert scene.control_names == ["push"] and scene.initial_state["elbow.q"] == 0.1
    for _ in range(5):
        state = scene.initial_state
        mujoco.mj_resetData(inertia, data)
        for name in joints:
            data.joint(name).qpos = state[name + ".q"] = rng.normal(0, 0.5)
            data.joint(name).qvel = state[name + ".v"] = rng.normal()
        data.ctrl[0] = rng.normal()
        mujoco.mj_forward(inertia, data)
        after = scene.step(state, control=np.array(data.ctrl))
        found = [(after[name + ".v"] - state[name + ".v"]) / EXPLICIT["time_step"] for name in joints]
        # MuJoCo saves poses to six digits, and has vertices in single precision.
        assert found == pytest.approx([float(data.joint(name).qacc[0]) for name in joints], rel=1e-5, abs=1e-5)
    puck = [c for c in state.columns if c.startswith("puck.v")][2:]
    assert scene.step(scene.initial_state).vector[state.columns.index(puck[-1])] / 1e-4 == pytest.approx(-9.5)


def test_actuators_of_tendons_act_as_in_mujoco(mujoco, tmp_path):
    tendon = "<tendon><fixed name='pair'><joint joint='elbow' coef='2'/><joint joint='slide' coef='-0.5'/></fixed></tendon>"
    pull = "<actuator><general name='pull' tendon='pair' gear='3' gainprm='4'/>"
    spec = mujoco.MjSpec.from_string(ARM.replace("<actuator>", tendon + pull))
    data = mujoco.MjData(spec.compile())
    with pytest.warns(isobar.SimulationWarning):
        scene = make(spec, tmp_path, solver=EXPLICIT)
    assert set(scene.control_names) == {"pull", "push"}
    data.ctrl[:] = [0.7, -0.4]
    mujoco.mj_forward(data.model, data)
    control = [{"pull": 0.7, "push": -0.4}[name] for name in scene.control_names]
    after = scene.step(scene.initial_state, control=np.array(control))
    for name in ["shoulder", "elbow", "slide"]:
        expected = float(data.joint(name).qacc[0])
        assert after[name + ".v"] / EXPLICIT["time_step"] == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_contact_has_the_materials_that_are_given(mujoco, tmp_path):
    spec = mujoco.MjSpec.from_string(ARM)
    materials = {"disc": FOAM, "floor": "rigid", "rod": "none", "tip": "none"}
    scene = make(spec, tmp_path, materials=materials, solver={"time_step": 1e-3})
    state = scene.initial_state
    heights = [c for c in state.columns if c.startswith("puck.q")]
    state[heights[-1]] = -1.985
    (patch,) = scene.contact(state)
    assert {patch.a, patch.b} == {"puck", "world"} and patch.area > 1e-3


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (("</worldbody>", "</worldbody><equality><weld body1='upper' body2='puck'/></equality>"), "weld"),
        (("</worldbody>", "</worldbody><equality><connect body1='upper' body2='puck' anchor='0 0 0'/></equality>"), "connect"),
        (("</worldbody>", SITES + "<tendon><spatial name='cable'><site site='a'/><site site='b'/></spatial></tendon>"), "cable"),
    ],
)
def test_what_is_not_simulated_is_refused_by_name(mujoco, tmp_path, change, named):
    with pytest.raises(isobar.InputError, match=named):
        make(mujoco.MjSpec.from_string(ARM.replace(*change)), tmp_path)


def test_what_is_left_out_is_told(mujoco, tmp_path):
    fluid = ARM.replace("<option ", "<option density='1.2' ")
    with pytest.warns(isobar.SimulationWarning, match="fluid of `density`"):
        make(mujoco.MjSpec.from_string(fluid), tmp_path)


def test_models_that_cannot_be_saved(mujoco, tmp_path):
    with pytest.raises(isobar.InputError, match="model: found str"):
        isobar.from_mujoco("arm.xml")
    first = mujoco.MjModel.from_xml_string(ARM)
    mujoco.MjModel.from_xml_string(ARM.replace('name="upper"', 'name="other"'))
    with pytest.raises(isobar.InputError, match="upper"):
        make(first, tmp_path)
    mujoco.MjModel.from_xml_string("<mujoco/>")
    with pytest.raises(isobar.InputError, match="loaded last"):
        make(first, tmp_path)


def test_robots_of_files():
    path = ROOT / "tests/reference/multibody/small_arm.urdf"
    robot = isobar.Robot.load(path, prefix="left ", base="fixed")
    scene = robot.scene(gravity=[0, 0, 0], robots=[isobar.Robot.load(path, prefix="right ", translation=[1, 0, 0]).entry])
    joints = [c for c in scene.initial_state.columns if c.endswith(".q")]
    assert len(joints) > 1 and sum(c.startswith("left ") for c in joints) == len(joints) / 2
    assert scene.rollout(until=0.01).final["left " + joints[0].removeprefix("left ")[:-2]].q == pytest.approx(0, abs=1e-9)
    with pytest.raises(isobar.InputError, match="urdf"):
        isobar.Robot.load("no_such.urdf").scene()
