"""Gradients and Jacobians against differences, at states that nothing makes special."""

import numpy as np
import pytest

import isobar
from conftest import ROOT, THROWN, tangent

UNTIL = 0.03
STEP = 1e-6


def displaced(scene: isobar.Scene, name: str, by: float) -> isobar.Scene:
    return scene.with_values({name: scene.parameters.get(name, 0.0) + by})


def difference(scene, name, of, step=STEP):
    """The central difference of a function of a scene by a parameter or direction."""
    return (of(displaced(scene, name, step)) - of(displaced(scene, name, -step))) / (2 * step)


def test_the_jacobian_of_a_step(thrown):
    start = thrown.initial_state
    jacobian = thrown.step_jacobian(start, parameters=["materials.foam.friction", "ball.mass"])
    names = thrown.tangent_names
    assert jacobian.by_state.shape == (len(names), len(names)) and jacobian.by_control.shape == (len(names), 1)
    base = thrown.step(start)
    assert jacobian.state == base
    after = lambda scene: tangent(scene, base, scene.step(scene.initial_state))  # noqa: E731
    for column, name in enumerate(names):
        expected = difference(thrown, name, after)
        assert jacobian.by_state[:, column] == pytest.approx(expected, rel=1e-5, abs=1e-5), name
    def under(motor: float) -> np.ndarray:
        return tangent(thrown, base, thrown.step(start, control=np.array([motor])))

    expected = (under(0.02 + STEP) - under(0.02 - STEP)) / (2 * STEP)
    assert jacobian.by_control[:, 0] == pytest.approx(expected, rel=1e-5, abs=1e-6)
    assert np.abs(expected).max() > 0.1
    friction = lambda f: tangent(thrown, base, thrown.with_values({"materials.foam.friction": f}).step(start))  # noqa: E731
    expected = (friction(0.5 + STEP) - friction(0.5 - STEP)) / (2 * STEP)
    assert jacobian.by_parameters[:, 0] == pytest.approx(expected, rel=1e-5, abs=1e-5)
    assert jacobian.by_parameters[:, 1] == pytest.approx(difference(thrown, "ball.mass", after), rel=1e-5, abs=1e-4)


def weights(scene) -> np.ndarray:
    return np.random.default_rng(7).normal(size=len(scene.initial_state.columns))


def test_the_gradient_of_a_motion(thrown):
    w = weights(thrown)

    def loss(state):
        return float(np.sin(w @ state.vector)), np.cos(w @ state.vector) * w

    def value(scene):
        return loss(scene.rollout(until=UNTIL).final)[0]

    names = ["materials.foam.friction", "foam.hydroelastic_modulus", "ball.mass", "hinge.damping", "gravity[2]"]
    motion = thrown.rollout(until=UNTIL)
    gradient = motion.gradient(loss, names)
    assert gradient.value == value(thrown)
    assert list(gradient.by_parameters) == names
    for name, found in zip(thrown.tangent_names, gradient.by_state, strict=True):
        assert found == pytest.approx(difference(thrown, name, value), rel=1e-5, abs=1e-6), name
    for name in names[1:]:
        step = STEP * max(1.0, thrown.parameters[name])
        assert gradient.by_parameters[name] == pytest.approx(difference(thrown, name, value, step), rel=1e-4, abs=1e-8), name
    friction = [value(thrown.with_values({"materials.foam.friction": 0.5 + h})) for h in (STEP, -STEP)]
    expected = (friction[0] - friction[1]) / (2 * STEP)
    assert gradient.by_parameters["materials.foam.friction"] == pytest.approx(expected, rel=1e-5)
    assert abs(expected) > 1e-3
    # By the control values: all shifted alike.
    controls = np.full((30, 1), 0.02)
    shifted = [loss(thrown.rollout(UNTIL, controls + h).final)[0] for h in (STEP, -STEP)]
    assert gradient.by_controls.shape == controls.shape
    assert gradient.by_controls.sum() == pytest.approx((shifted[0] - shifted[1]) / (2 * STEP), rel=1e-5)


def test_losses_of_every_form(thrown):
    motion = thrown.rollout(until=UNTIL)
    w = weights(thrown)
    reference = motion.gradient(w)
    assert reference.value == pytest.approx(w @ motion.final.vector)
    by_column = dict(zip(motion.columns, w))
    forms = [by_column, lambda s: (w @ s.vector, w), lambda s: (w @ s.vector, by_column), lambda s: w @ s.vector]
    for loss in forms:
        assert motion.gradient(loss).by_state == pytest.approx(reference.by_state, rel=1e-7, abs=1e-7)
    class Foreign:
        """An array of another library."""

        def __array__(self, dtype=None, copy=None):
            return w

    assert np.array_equal(motion.gradient(lambda s: (1.0, Foreign())).by_state, reference.by_state)
    with pytest.raises(isobar.InputError, match="float32"):
        motion.gradient(lambda s: (1.0, w.astype(np.float32)))
    # A loss of all states is the sum of what each contributes.
    everywhere = np.zeros_like(motion.values)
    everywhere[0] = everywhere[-1] = w
    start = motion.gradient(np.vstack([w, 0 * motion.values[1:]]))
    assert motion.gradient(everywhere).by_state == pytest.approx(start.by_state + reference.by_state)
    # The tangent space of the start: a position is a direction itself.
    place = thrown.tangent_names.index("ball.px")
    assert start.by_state[place] == w[motion.columns.index("ball.px_m")]


def test_value_and_gradient_by_names(thrown):
    def loss(final):
        return (final["ball.pz_m"] - 0.1) ** 2

    value, gradient = isobar.value_and_gradient(thrown, loss, UNTIL, ["materials.foam.hydroelastic_modulus"])
    assert value == loss(thrown.rollout(UNTIL).final)
    name = "foam.hydroelastic_modulus"
    expected = difference(thrown, name, lambda scene: loss(scene.rollout(UNTIL).final), 1.0)
    assert gradient == {"materials.foam.hydroelastic_modulus": pytest.approx(expected, rel=1e-5)}


def test_joints_of_several_coordinates():
    scene = isobar.Scene.parse(
        """
        [[bodies]]
        name = "bob"
        mass = 0.3
        center_of_mass = [0.1, 0, -0.4]
        inertia = [[2e-3, 0, 0], [0, 3e-3, 0], [0, 0, 1e-3]]
        [bodies.joint]
        name = "ball joint"
        type = "ball"
        """
    )
    motion = scene.rollout(until=0.2)
    w = weights(scene)
    gradient = motion.gradient(w)
    for name, found in zip(scene.tangent_names, gradient.by_state, strict=True):
        expected = difference(scene, name, lambda scene: w @ scene.rollout(until=0.2).final.vector)
        assert found == pytest.approx(expected, rel=1e-5, abs=1e-7), name
    assert np.abs(gradient.by_state).max() > 0.1


def test_bristles_have_names():
    scene = isobar.Scene.parse(f"contact.bristle_length = 1e-4\n{THROWN}")
    start = scene.rollout(until=0.005).final
    jacobian = scene.step_jacobian(start)
    names = scene.tangent_names
    assert jacobian.by_state.shape == (len(names), len(names))
    column = "ball-floor.bristle_x_m"
    step, sides = 1e-8, [start.copy(), start.copy()]
    sides[0][column] -= step
    sides[1][column] += step
    after = [scene.step(side)[column] for side in sides]
    at = names.index(column)
    assert jacobian.by_state[at, at] == pytest.approx((after[1] - after[0]) / (2 * step), rel=1e-4, abs=1e-7)


def test_the_gradient_through_controllers():
    scene = isobar.Scene.load(ROOT / "examples/codesign/scene.toml")
    motion = scene.rollout(until=0.05)
    gradient = motion.gradient({motion.columns[2]: 1.0})
    assert gradient.by_controllers.size > 0 and np.isfinite(gradient.by_controllers).all()


def test_check_gradient(thrown):
    check = isobar.check_gradient(thrown, steps=3, only="ball.v")
    assert check.passed and len(check.rows) > 10 and "ball.vx" in str(check)
    assert {row["input"] for row in check.rows} == {"ball.vx", "ball.vy", "ball.vz"}
