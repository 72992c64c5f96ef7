"""Steps and motions as functions of arrays: their derivatives by the numbers of states, against differences."""

import numpy as np
import pytest

import isobar
from conftest import THROWN
from isobar._functions import function, named

SWINGING = """
contact.bristle_length = 1e-4
[[bodies]]
name = "bob"
mass = 0.3
center_of_mass = [0.1, 0, -0.4]
inertia = [[2e-3, 0, 0], [0, 3e-3, 0], [0, 0, 1e-3]]
[bodies.joint]
name = "socket"
type = "ball"
"""
POST = {
    "materials": {"wood": {"hydroelastic_modulus": 1e7}},
    "bodies": [
        {"name": "post", "fixed": True, "geometries": [{"shape": {"half_space": {}}, "material": "wood", "rigid": True}]}
    ],
}


@pytest.fixture(scope="module")
def swinging() -> isobar.Scene:
    """The scene of the tests with bristles, and a body on a ball joint."""
    bristles, _, bob = SWINGING.partition("[[bodies]]")
    return isobar.Scene.parse(bristles + THROWN + "[[bodies]]" + bob)


def quaternions(scene: isobar.Scene) -> list[slice]:
    """Where they are in a state."""
    names = scene._layout.names.values()
    found = [parts["quaternion"] for parts in names if "quaternion" in parts]
    joints = [parts["q"] for parts in names if "q" in parts]
    return found + [slice(q.start, q.start + 4) for q in joints if q.stop - q.start > 3]


def state_of(scene: isobar.Scene) -> np.ndarray:
    """A state in motion, whose quaternions are not of unit length."""
    vector = scene.rollout(until=0.005).final.vector
    for q in quaternions(scene):
        vector[q] *= 1.3
    return vector


def differences(of, arguments, which, step=1e-6):
    """The derivatives of a function of arrays by one of them, a column for each of its numbers."""
    columns = []
    for place in np.ndindex(arguments[which].shape):
        sides = []
        for sign in (1, -1):
            moved = [np.array(a) for a in arguments]
            moved[which][place] += sign * step
            sides.append(of(*moved))
        columns.append((sides[0] - sides[1]) / (2 * step))
    return np.stack(columns, -1).reshape(*columns[0].shape, *arguments[which].shape)


@pytest.mark.parametrize("scene", ["thrown", "swinging"])
def test_the_tangent_spaces_are_those_of_gradients(scene, request):
    scene = request.getfixturevalue(scene)
    motion = scene.rollout(until=0.005)
    weights = np.random.default_rng(3).normal(size=len(motion.columns))
    # Of a loss of the first state alone, in the directions of its tangent space.
    by_state = motion.gradient(np.vstack([weights, 0 * motion.values[1:]])).by_state
    found = function(scene, {}).core.in_numbers(motion.values[0], by_state)
    # They are the weights, but for what is along a quaternion.
    for place in quaternions(scene):
        q = motion.values[0][place]
        weights[place] -= q * (q @ weights[place])
    assert found == pytest.approx(weights, rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("scene", ["thrown", "swinging"])
def test_the_derivatives_of_a_step(scene, request):
    scene = request.getfixturevalue(scene)
    of = function(scene, {"materials.foam.friction": 0.4, "ball.mass": 0.1})
    arguments = [state_of(scene), np.array([0.03]), np.array([0.4, 0.1]), np.array(0.0)]
    after, *jacobians = of.linearized(*arguments)
    assert np.array_equal(after, of.value(*arguments))
    for which, found in enumerate(jacobians):
        expected = differences(of.value, arguments, which, 1e-7 if "bob" in scene.body_names else 1e-6)
        assert found == pytest.approx(expected, rel=2e-5, abs=2e-5 * np.abs(expected).max()), which
        assert np.abs(expected).max() > 1e-4
    by = np.random.default_rng(4).normal(size=after.shape)
    for pulled, jacobian in zip(of.pullback(*arguments, by), jacobians):
        assert pulled == pytest.approx(by @ jacobian, rel=1e-12)


def test_the_derivatives_of_a_motion(thrown):
    of = function(thrown, {"materials.foam.friction": 0.4, "ball.mass": 0.1}, until=0.01)
    arguments = [state_of(thrown), np.full((10, 1), 0.03), np.array([0.4, 0.1])]
    values = of.value(*arguments)
    assert values.shape == (11, 15)
    by = np.random.default_rng(5).normal(size=values.shape)
    pulled = of.pullback(*arguments, values, by)
    for which, found in enumerate(pulled):
        expected = differences(lambda *a: np.vdot(by, of.value(*a)), arguments, which)
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-5 * np.abs(expected).max()), which


def test_batches_have_the_bits_of_single_calls(thrown):
    names = {"materials.foam.friction": 0.4}
    rng = np.random.default_rng(6)
    states = np.stack([thrown.initial_state.vector] * 6).reshape(2, 3, -1)
    states[..., 0] += 0.1 * rng.normal(size=(2, 3))
    controls, values = rng.normal(size=(2, 3, 1)), rng.uniform(0.2, 0.8, (2, 3, 1))
    step, times = function(thrown, names), np.zeros((2, 3))
    together = step.linearized(states, controls, values, times)
    motion, long = function(thrown, names, until=0.005), np.broadcast_to(controls[..., None, :], (2, 3, 5, 1))
    motions = motion.value(states, long, values)
    by = rng.normal(size=motions.shape)
    pulled = motion.pullback(states, long, values, motions, by)
    for at in np.ndindex(2, 3):
        for one, all_of_them in zip(step.linearized(states[at], controls[at], values[at], times[at]), together):
            assert np.array_equal(one, all_of_them[at])
        assert np.array_equal(motion.value(states[at], long[at], values[at]), motions[at])
        for one, all_of_them in zip(motion.pullback(states[at], long[at], values[at], motions[at], by[at]), pulled):
            assert np.array_equal(one, all_of_them[at])


def test_states_in_arrays_by_name(thrown):
    motion = thrown.rollout(until=0.01)
    states = named(thrown, motion.values)
    assert np.array_equal(states["ball.pz_m"], motion["ball.pz_m"])
    assert np.array_equal(states["ball"].position, motion["ball"].position)
    assert repr(states).startswith("Named(array(")
    for wrong in ("cube.pz_m", ["ball"]):
        with pytest.raises(isobar.InputError, match="name: found"):
            states[wrong]


@pytest.mark.parametrize("name", ["jax", "torch"])
def test_states_of_other_scenes_are_refused(thrown, name):
    library = pytest.importorskip(name)
    if name == "jax":
        library.config.update("jax_enable_x64", True)
    step, other = getattr(isobar, name).step, isobar.Scene.parse(THROWN.replace('"ball"', '"bead"'))
    for message, ask in (
        ("state: found a state with the columns bead.px_m", lambda: step(thrown, other.initial_state)),
        ("parameters: found list", lambda: step(thrown, thrown.initial_state, parameters=["ball.mass"])),
        ("parameters: found 1; it must be a name", lambda: step(thrown, thrown.initial_state, parameters={1: 0.1})),
    ):
        with pytest.raises(isobar.InputError, match=message):
            ask()


def test_quaternions_without_a_direction_are_refused(thrown):
    vector = thrown.initial_state.vector
    vector[quaternions(thrown)[0]] = 0
    of = function(thrown, {})
    with pytest.raises(isobar.InputError, match="quaternion of `ball` has length 0"):
        of.value(vector, None, np.zeros(0), np.zeros(()))


def test_what_has_no_state():
    of = function(isobar.Scene.parse(POST), {}, until=0.002)
    assert of.value(np.zeros(0), None, np.zeros(0)).shape == (3, 0)
