"""Gradients and Jacobians against differences, at states that nothing makes special."""

import pickle

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


def test_the_steps_of_a_motion_are_linearized(thrown, gripper):
    names = ["materials.foam.friction", "ball.mass"]
    # The last step is a shorter one.
    motion = thrown.rollout(until=0.0295)
    steps = motion.linearize(names)
    d = len(thrown.tangent_names)
    assert steps.by_state.shape == (30, d, d) and steps.by_control.shape == (30, d, 1)
    assert steps.by_parameters.shape == (30, d, 2)
    assert np.array_equal(steps.state["ball"].position, motion["ball"].position[1:])
    for k in (0, 7, 28):
        one = thrown.step_jacobian(motion.state(k), time=motion.times[k], parameters=names)
        for part in ("by_state", "by_control", "by_parameters"):
            assert getattr(steps, part)[k] == pytest.approx(getattr(one, part), rel=1e-7, abs=1e-7), (k, part)
    # Backward through them is the adjoint.
    w = weights(thrown)
    gradient = motion.gradient(w, names)
    by = thrown.rollout(until=0.0, state=motion.final).gradient(w).by_state
    by_parameters, by_controls = 0.0, []
    for a, b, p in zip(steps.by_state[::-1], steps.by_control[::-1], steps.by_parameters[::-1]):
        by_parameters, by_controls, by = by_parameters + by @ p, [by @ b, *by_controls], by @ a
    assert by == pytest.approx(gradient.by_state, rel=1e-6, abs=1e-8)
    assert by_parameters == pytest.approx(list(gradient.by_parameters.values()), rel=1e-6)
    assert np.array(by_controls) == pytest.approx(gradient.by_controls, rel=1e-6, abs=1e-10)
    # With commands that change, and with controllers, whose commands are not the file's.
    controlled = isobar.Scene.load(ROOT / "examples/codesign/scene.toml")
    for scene, until in ((gripper, 0.05), (controlled, 0.02)):
        motion = scene.rollout(until)
        steps = motion.linearize()
        assert np.isfinite(steps.by_state).all() and np.abs(steps.by_control).max() > 0
        assert steps.by_parameters.shape[2] == 0


def test_hessian_products_are_differences_of_gradients(thrown):
    names = ["materials.foam.friction", "foam.hydroelastic_modulus", "ball.vx", "ball.wy", "hinge.damping"]
    size = dict(zip(names, [1.0, 1e4, 1.0, 1.0, 1e-2]))
    rng = np.random.default_rng(11)
    controls, direction = np.full((30, 1), 0.02), rng.normal(size=(30, 1))
    motion = thrown.rollout(UNTIL, controls)
    along = {name: size[name] * x for name, x in zip(names, rng.normal(size=len(names)))}
    along["ball.mass"] = 0.0
    matrix = rng.normal(size=(4, len(motion.columns)))
    base = motion.final.vector

    def residuals(state):
        return np.sin(matrix @ (state.vector - base))

    found, by_controls = motion.hessian_product(residuals, along, direction)
    assert list(found) == list(along)

    def half_squares(state):
        r = residuals(state)
        return 0.5 * r @ r, r * np.cos(matrix @ (state.vector - base)) @ matrix

    # It is the Hessian of these, as the residuals are 0.
    def gradient(by):
        values = {name: thrown.parameters.get(name, 0.5 if "friction" in name else 0.0) + by * x for name, x in along.items()}
        moved = thrown.with_values(values).rollout(UNTIL, controls + by * direction)
        return moved.gradient(half_squares, list(along))

    plus, minus = gradient(STEP), gradient(-STEP)
    for name in along:
        expected = (plus.by_parameters[name] - minus.by_parameters[name]) / (2 * STEP)
        assert found[name] == pytest.approx(expected, rel=1e-4), name
        assert abs(expected) > 0
    expected = (plus.by_controls - minus.by_controls) / (2 * STEP)
    assert by_controls == pytest.approx(expected, rel=1e-4, abs=1e-4 * np.abs(expected).max())
    # Its derivatives, given; and residuals of every state.
    same, _ = motion.hessian_product(matrix, along, direction)
    assert same == pytest.approx(found, rel=1e-6)
    everywhere = np.zeros((len(motion), *matrix.shape))
    everywhere[-1] = matrix
    assert motion.hessian_product(everywhere, along, direction)[0] == same
    everywhere[:] = matrix
    total = [0.0] * len(along)
    for k in range(len(motion)):
        part = thrown.rollout(motion.times[k], controls[:k]).hessian_product(matrix, along, direction[:k])[0]
        total = [sum(pair) for pair in zip(total, part.values())]
    assert list(motion.hessian_product(everywhere, along, direction)[0].values()) == pytest.approx(total, rel=1e-6)


PID = """
[[controllers]]
name = "hold"
[controllers.law.pid]
actuators = ["motor"]
joint = { joint = "hinge" }
proportional = 0.3
derivative = 0.05
target = [1.0]
"""


def hold(time, state):
    # With the command of the file, which the controller adds to.
    return 0.02 + (0.3 * (1.0 - state["hinge"].q) - 0.05 * state["hinge"].v)


def test_a_function_controls_as_a_controller_of_the_file_does(thrown):
    theirs, ours = isobar.Scene.parse(THROWN + PID).rollout(until=0.1), thrown.rollout(0.1, hold)
    assert ours.values == pytest.approx(theirs.values, rel=1e-12, abs=1e-12)
    assert ours.controls.shape == (100, 1) and np.ptp(ours.controls) > 1e-3
    assert np.array_equal(thrown.rollout(0.1, ours.controls).values, ours.values)
    w, names = weights(thrown), ["ball.mass", "hinge.damping"]
    expected, found = theirs.gradient(w, names), ours.gradient(w, names)
    # Its derivatives are differences here.
    assert found.by_state == pytest.approx(expected.by_state, rel=1e-7, abs=1e-8)
    assert found.by_parameters == pytest.approx(expected.by_parameters, rel=1e-7)
    assert found.by_controls == pytest.approx(expected.by_controls, rel=1e-7, abs=1e-10)
    batch = thrown.rollout_batch([thrown.initial_state] * 3, 0.1, hold)
    assert all(np.array_equal(motion.values, ours.values) for motion in batch)
    rows, along = np.stack([w, w**2]), {"ball.mass": 0.3, "hinge.damping": 2.0}
    push = np.sin(np.arange(100.0))[:, None]
    (by_names, by_controls), (ours_by, ours_controls) = (of.hessian_product(rows, along, push) for of in (theirs, ours))
    assert list(ours_by.values()) == pytest.approx(list(by_names.values()), rel=1e-7)
    assert ours_controls == pytest.approx(by_controls, rel=1e-7, abs=1e-10)
    # It is that by dual numbers, where there are no controllers.
    free = thrown.rollout(0.1)
    for of in (rows, np.stack([rows, 2 * rows] + [0 * rows] * 99)):
        by_duals, (by_rows, by_controls) = free.hessian_product(of, along, push), free._product_by_rows(of, along, push)
        assert list(by_rows.values()) == pytest.approx(list(by_duals[0].values()), rel=1e-8)
        assert by_controls == pytest.approx(by_duals[1], rel=1e-8, abs=1e-10)
    other = pickle.loads(pickle.dumps(ours))
    assert np.array_equal(other.gradient(w).by_state, found.by_state)
    assert np.array_equal(other.linearize().by_control, ours.linearize().by_control)


def test_a_function_controls_beside_a_controller_of_the_file(thrown):
    theirs = isobar.Scene.parse(THROWN + PID).rollout(until=0.1)
    # Each does a part of what that one does.
    scene = isobar.Scene.parse(THROWN + PID.replace("0.3", "0.1").replace("0.05", "0.0"))
    ours = scene.rollout(0.1, lambda time, state: hold(time, state) - 0.1 * (1.0 - state["hinge"].q))
    assert ours.values == pytest.approx(theirs.values, rel=1e-12, abs=1e-12)
    w, names = weights(scene), ["ball.mass", "hinge.damping"]
    expected, found = theirs.gradient(w, names), ours.gradient(w, names)
    assert found.by_state == pytest.approx(expected.by_state, rel=1e-7, abs=1e-8)
    assert found.by_parameters == pytest.approx(expected.by_parameters, rel=1e-7)
    assert found.by_controls == pytest.approx(expected.by_controls, rel=1e-7, abs=1e-10)
    # Of the gains and the target, those of the target are alike but for the gain.
    assert found.by_controllers.shape == expected.by_controllers.shape
    assert found.by_controllers[-1] == pytest.approx(expected.by_controllers[-1] / 3, rel=1e-7)
    by_names, by_controls = ours.hessian_product(w[None], {"ball.mass": 0.3})
    same_names, same_controls = theirs.hessian_product(w[None], {"ball.mass": 0.3})
    assert by_names == pytest.approx(same_names, rel=1e-7) and by_controls == pytest.approx(same_controls, rel=1e-7, abs=1e-10)
    assert ours.linearize().by_control == pytest.approx(theirs.linearize().by_control, rel=1e-7, abs=1e-9)


def test_the_gradient_through_a_function_of_all_of_the_state():
    # With bristles, which come after what it is differentiated by.
    scene = isobar.Scene.parse(f"contact.bristle_length = 1e-4\n{THROWN}")
    motion = scene.rollout(until=0.0)
    which = np.array([not "bristle" in column for column in motion.columns])
    gains = np.random.default_rng(5).normal(size=which.size) * which

    def control(time, state):
        wanted = 0.1 * gains @ state.vector + time
        return np.array([np.sin(wanted)]), np.cos(wanted) * 0.1 * gains[None]

    def value(scene):
        return w @ scene.rollout(UNTIL, control).final.vector

    w = weights(scene)
    gradient = scene.rollout(UNTIL, control).gradient(w, ["ball.mass"])
    for name, found in zip(scene.tangent_names, gradient.by_state):
        if "bristle" not in name:
            assert found == pytest.approx(difference(scene, name, value), rel=1e-5, abs=1e-6), name
    assert gradient.by_parameters["ball.mass"] == pytest.approx(difference(scene, "ball.mass", value), rel=1e-4)
    # By a number in the function: a part of it, through what is added.
    motion = scene.rollout(UNTIL, control)
    shifted = [w @ scene.rollout(UNTIL, lambda t, s: control(t, s)[0] + h).final.vector for h in (STEP, -STEP)]
    by = motion.gradient(w).by_controls.sum()
    assert by == pytest.approx((shifted[0] - shifted[1]) / (2 * STEP), rel=1e-5)


def test_functions_may_call_isobar(thrown):
    """A controller that looks ahead, also where all threads call it at once."""

    def ahead(time, state):
        return 0.1 * thrown.rollout(until=0.003, state=state)["hinge"].q[-1]

    batch = thrown.rollout_batch([thrown.initial_state] * 6, 0.02, ahead)
    assert all(np.array_equal(motion.values, batch[0].values) for motion in batch)


def test_check_gradient(thrown):
    check = isobar.check_gradient(thrown, steps=3, only="ball.v")
    assert check.passed and len(check.rows) > 10 and "ball.vx" in str(check)
    assert {row["input"] for row in check.rows} == {"ball.vx", "ball.vy", "ball.vz"}


LOAD = """
[[loads]]
body = "ball"
force = [0.3, -0.2, 0.1]
torque = [1e-3, 2e-3, -3e-3]
"""


# Explicit steps curve more.
STEPS = {"lagged": STEP, "similar": STEP, 'radau"\naccuracy = "1e-6': STEP, "semi_implicit_euler": 1e-8}


@pytest.mark.parametrize(("solver", "step"), STEPS.items())
def test_forces_of_a_function(solver, step):
    text = THROWN.replace("lagged", solver).replace('"1e-6"', "1e-6")
    scene = isobar.Scene.parse(text)
    columns = ["ball.fx_N", "ball.fy_N", "ball.fz_N", "ball.tx_N_m", "ball.ty_N_m", "ball.tz_N_m"]
    assert scene.force_names[:6] == columns and scene.force_names[12:] == ["hinge.effort"] and len(scene.force_names) == 13
    load = np.r_[0.3, -0.2, 0.1, 1e-3, 2e-3, -3e-3, np.zeros(7)]
    theirs, ours = isobar.Scene.parse(text + LOAD).rollout(UNTIL), scene.rollout(UNTIL, forces=lambda time, state: load)
    assert ours.values == pytest.approx(theirs.values, rel=1e-10, abs=1e-12)

    # A spring and a damper that turn with the ball, whose derivatives are differences, and are given.
    matrix, size = np.random.default_rng(2).normal(size=(13, len(ours.columns))), np.r_[[0.3] * 3, [1e-3] * 10]

    def forces(time, state):
        return size * np.sin(matrix @ state.vector + time)

    def differentiated(time, state):
        return forces(time, state), (size * np.cos(matrix @ state.vector + time))[:, None] * matrix

    def value(scene):
        return w @ scene.rollout(UNTIL, forces=forces).final.vector

    w, names = weights(scene), ["ball.mass", "foam.hydroelastic_modulus"]
    motion = scene.rollout(UNTIL, forces=differentiated)
    gradient = motion.gradient(w, names)
    assert gradient.by_state == pytest.approx(scene.rollout(UNTIL, forces=forces).gradient(w).by_state, rel=1e-6, abs=1e-7)
    for name, found in zip(scene.tangent_names, gradient.by_state, strict=True):
        assert found == pytest.approx(difference(scene, name, value, step), rel=1e-5, abs=1e-6), name
    assert gradient.by_parameters["ball.mass"] == pytest.approx(difference(scene, "ball.mass", value, step), rel=1e-4)
    # The other derivatives know of them.
    steps, by = motion.linearize(), scene.rollout(until=0.0, state=motion.final).gradient(w).by_state
    for a in steps.by_state[::-1]:
        by = by @ a
    assert by == pytest.approx(gradient.by_state, rel=1e-6, abs=1e-7)
    # So do single steps, whose errors are not those of the steps before.
    if "accuracy" not in solver:
        asked = motion.state(3), None, motion.times[3]
        one = scene.step_jacobian(*asked, forces=differentiated)
        assert one.state == scene.step(*asked, forces=forces) and not one.state == scene.step(*asked)
        assert one.state.vector == pytest.approx(motion.values[4], rel=1e-9, abs=1e-9)
        assert one.by_state == pytest.approx(steps.by_state[3], rel=1e-6, abs=1e-6)
    product, _ = motion.hessian_product(w[None], dict.fromkeys(["ball.vx", "ball.mass"], 1.0))
    rate = gradient.by_state[scene.tangent_names.index("ball.vx")] + gradient.by_parameters["ball.mass"]
    assert product["ball.mass"] == pytest.approx(rate * gradient.by_parameters["ball.mass"], rel=1e-7)


def pushed(time, state):
    return np.r_[0.2 + state["hinge.q"], np.zeros(11), 0.01 * time]


def test_motions_keep_their_functions(thrown):
    batch = thrown.rollout_batch([thrown.initial_state] * 3, UNTIL, hold, forces=pushed)
    assert all(np.array_equal(motion.values, thrown.rollout(UNTIL, hold, forces=pushed).values) for motion in batch)
    assert not np.array_equal(batch[0].values, thrown.rollout(UNTIL, hold).values)
    other = pickle.loads(pickle.dumps(batch[0]))
    w = weights(thrown)
    assert np.array_equal(other.gradient(w).by_state, batch[0].gradient(w).by_state)
