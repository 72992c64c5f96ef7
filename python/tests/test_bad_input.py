"""Bad input is one exception that says what was found and what is allowed, and never the end of the interpreter."""

import random

import numpy as np
import pytest

import isobar
from conftest import ROOT


def unaligned(length: int) -> np.ndarray:
    return np.frombuffer(bytes(8 * length + 1), dtype=np.uint8)[1:].view(np.float64)


def with_number(scene, column, number):
    state = scene.initial_state
    state.vector[state.columns.index(column)] = number
    return state


def with_vector(scene, vector):
    state = scene.initial_state
    state.vector = vector
    return state


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (lambda s: s.step(with_number(s, "ball.px_m", np.nan)), ["state", "`ball.px_m` is NaN", "must be finite"]),
        (lambda s: s.step(with_number(s, "ball.qw", 3.0)), ["state", "quaternion of `ball` has length", "must be 1"]),
        (lambda s: s.step(with_vector(s, np.zeros(4))), ["state", "float64 with shape (4,)", "float64 with shape 15"]),
        (lambda s: s.step(with_vector(s, np.zeros(15, np.float32))), ["state", "float32", "float64"]),
        (lambda s: s.step(with_vector(s, np.zeros((3, 5)))), ["state", "(3, 5)", "shape 15"]),
        (lambda s: s.step(with_vector(s, [0.0] * 15)), ["state", "list", "numpy array"]),
        (lambda s: s.step(with_vector(s, unaligned(15))), ["state", "not aligned"]),
        (lambda s: s.step(s.initial_state.vector), ["state", "ndarray", "State"]),
        (lambda s: s.step(s.initial_state, time=np.inf), ["time", "inf", "finite"]),
        (lambda s: s.step(s.initial_state, control=np.zeros(2)), ["control", "(2,)", "shape 1"]),
        (lambda s: s.step(s.initial_state, control=np.array([np.inf])), ["control", "inf", "finite"]),
        (lambda s: s.step_jacobian(s.initial_state, parameters=["weight"]), ["parameters", "weight", "ball.mass"]),
        (lambda s: s.rollout(until=-1.0), ["until", "-1", "at least 0"]),
        (lambda s: s.rollout(until=float("nan")), ["until", "NaN", "finite"]),
        (lambda s: s.rollout(until=1e300), ["until", "1e300", "steps"]),
        (lambda s: s.rollout(until=0.01, controls=np.zeros((10, 3))), ["controls", "(10, 3)", "× 1"]),
        (lambda s: s.rollout(until=0.01, controls=np.zeros((7, 1))), ["controls", "for 7 steps", "10 steps"]),
        (lambda s: s.rollout(until=0.01, controls=np.zeros(10)), ["controls", "(10,)"]),
        (lambda s: s.rollout_batch([s.initial_state, 3], until=0.01), ["states[1]", "int", "State"]),
        (lambda s: s.rollout_batch([s.initial_state, with_vector(s, np.zeros(3))], until=0.01), ["states[1]", "(3,)", "15"]),
        (lambda s: s.with_values({"weight": 1.0}), ["weight", "ball.mass"]),
        (lambda s: s.with_values({"ball.mass": -1.0}), ["mass", "-1"]),
        (lambda s: s.with_values({"ball.mass": np.nan}), ["ball.mass", "NaN", "finite"]),
        (lambda s: s.initial_state["cube"], ["cube", "ball"]),
        (lambda s: s.initial_state[3], ["3", "ball"]),
        (lambda s: s.initial_state["hinge"].position, ["hinge", "position", "q"]),
        (lambda s: setattr(s.initial_state["ball"], "position", [1, 2]), ["ball.position", "[1, 2]", "3 numbers"]),
        (lambda s: s.initial_state.__setitem__("ball.px_m", "far"), ["ball.px_m", "far", "number"]),
        (lambda s: s.rollout(0.01).gradient({"cube.px_m": 1.0}), ["cube.px_m", "ball.px_m"]),
        (lambda s: s.rollout(0.01).gradient(np.zeros(3)), ["loss", "(3,)", "(15,)"]),
        (lambda s: s.rollout(0.01).gradient(np.full(15, np.nan)), ["loss", "NaN", "finite"]),
        (lambda s: s.rollout(0.01).gradient(lambda state: "low"), ["loss", "low", "number"]),
        (lambda s: s.rollout(0.01).gradient(lambda state: np.nan), ["loss", "nan", "finite"]),
        (lambda s: s.rollout(0.01).gradient(lambda state: (1.0, np.zeros(3))), ["loss", "(3,)", "(15,)"]),
        (lambda s: s.rollout(0.01).gradient({"ball.pz_m": 1.0}, ["weight"]), ["parameters", "weight", "ball.mass"]),
        (lambda s: s.rollout(0.01).linearize(["weight"]), ["parameters", "weight", "ball.mass"]),
        (lambda s: s.rollout(0.01).hessian_product(np.zeros(15), {}), ["residuals", "(15,)", "(any number, 15)"]),
        (lambda s: s.rollout(0.01).hessian_product(np.zeros((0, 15)), {}), ["residuals", "(0, 15)", "at least one"]),
        (lambda s: s.rollout(0.01).hessian_product(np.full((1, 15), np.nan), {}), ["residuals", "NaN", "finite"]),
        (lambda s: s.rollout(0.01).hessian_product(lambda state: 1.0, {}), ["residuals", "()", "(any number,)"]),
        (lambda s: s.rollout(0.01).hessian_product(np.zeros((1, 15)), {"weight": 1.0}), ["parameters", "weight", "ball.mass"]),
        (lambda s: s.rollout(0.01).hessian_product(np.zeros((1, 15)), {"ball.mass": "x"}), ["along['ball.mass']", "'x'", "number"]),
        (lambda s: s.rollout(0.01).hessian_product(np.zeros((1, 15)), {}, np.zeros((3, 1))), ["controls", "(3, 1)", "10 × 1"]),
        (lambda s: s.rollout(0.01, lambda time, state: 0.0), ["controls", "shape ()", "(1,)"]),
        (lambda s: s.rollout(0.01, lambda time, state: np.array([np.inf])), ["controls", "inf", "finite"]),
        (lambda s: s.rollout(0.01, lambda time, state: (np.zeros(1), np.zeros(3))).gradient({}), ["controls", "(3,)", "(1, 15)"]),
        (lambda s: s.rollout(0.01, forces=np.zeros(13)), ["forces", "ndarray", "function"]),
        (lambda s: s.rollout(0.01, forces=lambda time, state: np.zeros(3)), ["forces", "(3,)", "(13,)"]),
        (lambda s: s.rollout(0.01, forces=lambda time, state: np.full(13, np.nan)), ["forces", "NaN", "finite"]),
        (lambda s: s.step(s.initial_state, forces=lambda time, state: np.zeros(3)), ["forces", "(3,)", "(13,)"]),
        (lambda s: isobar.check_gradient(s, tolerance=2.0), ["tolerance", "2", "between 0 and 1"]),
        (lambda s: isobar.Scene.load("no_such_scene.toml"), ["no_such_scene.toml", "cannot be read"]),
        (lambda s: isobar.Scene.load("-"), ["path", "Scene.parse"]),
        (lambda s: isobar.Scene.parse("bodies = 3"), ["bodies", "3"]),
        (lambda s: isobar.Scene.parse({"gravity": object()}), ["text", "object"]),
        (lambda s: isobar.fit("no_such_fit.toml"), ["no_such_fit.toml", "cannot be read"]),
        (lambda s: isobar.optimize("no_such_problem.toml"), ["no_such_problem.toml", "cannot be read"]),
    ],
)
def test_messages_name_argument_found_and_allowed(thrown, call, parts):
    with pytest.raises(isobar.InputError) as raised:
        call(thrown)
    assert isinstance(raised.value, ValueError) and isinstance(raised.value, isobar.Error)
    for part in parts:
        assert part in str(raised.value), str(raised.value)


def test_errors_of_files_have_places(tmp_path):
    path = tmp_path / "scene.toml"
    path.write_text('[[bodies]]\nname = "ball"\nmas = 1\n')
    with pytest.raises(isobar.InputError) as raised:
        isobar.Scene.load(path)
    error = raised.value
    assert (error.file, error.line, error.field) == (path, 3, "bodies[0].mas"), str(error)


def test_a_state_of_another_scene(thrown, gripper):
    with pytest.raises(isobar.InputError, match="hinge.q"):
        gripper.step(thrown.initial_state)


def test_an_exception_of_a_loss_is_passed_on(thrown):
    def loss(_):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        thrown.rollout(until=0.01).gradient(loss)


def test_exceptions_of_functions_have_their_time(thrown):
    def failing(argument, until=0.0045):
        def function(time, state):
            if time > until:
                raise ZeroDivisionError("mine")
            return np.zeros({"controls": 1, "forces": 13}[argument])

        return {argument: function}

    states = [thrown.initial_state] * 3
    for argument in ("controls", "forces"):
        for call in (thrown.rollout, lambda *given, **own: thrown.rollout_batch(states, *given, **own, return_errors=True)):
            with pytest.raises(ZeroDivisionError, match="mine") as raised:
                call(0.01, **failing(argument))
            assert raised.value.__notes__ == [f"{argument}: at 0.005 s"]
    is_well = []

    def forces(time, state):
        if is_well:
            raise ZeroDivisionError("later")
        return np.zeros(13)

    motion = thrown.rollout(0.01, forces=forces)
    is_well.append(False)
    residuals = np.ones((1, len(motion.columns)))
    for call in (lambda: motion.gradient(residuals[0]), motion.linearize, lambda: motion.hessian_product(residuals, {})):
        with pytest.raises(ZeroDivisionError, match="later"):
            call()


def test_scenes_that_cannot_move():
    scene = isobar.Scene.parse(
        """
        materials.foam = { hydroelastic_modulus = 1e5, friction = 0.5 }
        [[bodies]]
        name = "ball"
        translation = [0, 0, 0.04]
        geometries = [{ shape = { sphere = { radius = 0.05, resolution = 0.05 } }, material = "foam" }]
        [[bodies]]
        name = "floor"
        fixed = true
        geometries = [{ shape = { half_space = {} }, rigid = true, material = "foam" }]
        """
    )
    assert scene.contact()[0].force_on_a[2] > 1
    for call in (lambda: scene.initial_state, lambda: scene.rollout(until=0.1)):
        with pytest.raises(isobar.InputError, match="mass"):
            call()


def test_thousands_of_random_calls(thrown):
    rng = random.Random(20261129)
    length = len(thrown.initial_state.columns)
    numbers = [0.0, 1.0, -1.0, 1e-3, 0.004, float("nan"), float("inf"), 1e300, -1e-300, 7]
    odd = [None, "x", b"x", [], [1.0], {}, (), object(), 3 + 4j, True, 10**400, thrown, np.float32(1), np.array("x")]

    def vector():
        n = rng.choice([length, length, length, 1, 0, length + 1])
        kind = rng.choice([np.float64, np.float64, np.float64, np.float32, np.int64, np.complex128, ">f8", object])
        array = np.zeros(rng.choice([(n,), (n,), (n,), (n, 1), (2, n), ()]), dtype=kind)
        if array.size and rng.random() < 0.7:
            np.put(array, rng.randrange(array.size), rng.choice([x for x in numbers if kind != np.int64 or x in (0, 1, 7)]))
        return rng.choice([array, array, array[::-1] if array.ndim else array, np.asfortranarray(array), rng.choice(odd)])

    def state():
        found = thrown.initial_state
        if rng.random() < 0.5:
            found.vector[rng.randrange(length)] += rng.choice([1e-3, -1e-3, 0.1, 1e3, 1e200, float("nan")])
        elif rng.random() < 0.5:
            found.vector = vector()
        return rng.choice([found, found, found, vector(), None])

    def small():
        # What would take memory or minutes is left out.
        return rng.choice([x for x in numbers if not 0.005 < x < 1e300] + [rng.choice(odd)])

    def name():
        return rng.choice([*thrown.parameters, *thrown.tangent_names, "materials.foam.friction", "", "x.y", "ball", None, 3])

    def always(row):
        return lambda time, state: row

    motion = thrown.rollout(until=0.004)
    calls = [
        lambda: thrown.step(state(), vector() if rng.random() < 0.3 else None, small()),
        lambda: thrown.step_jacobian(state(), parameters=[name()]),
        lambda: thrown.rollout(small(), vector() if rng.random() < 0.3 else None, state()),
        lambda: thrown.rollout_batch([state() for _ in range(rng.randrange(3))], small()),
        lambda: thrown.contact(state()),
        lambda: thrown.with_values({name(): rng.choice([*numbers, rng.choice(odd)])}),
        lambda: motion.gradient(rng.choice([vector(), {name(): small()}, lambda s: vector(), lambda s: small()]), [name()]),
        lambda: thrown.rollout(0.002, always(vector()), forces=rng.choice([None, always(vector()), always(np.zeros(13))])),
        lambda: motion.linearize([name()]),
        lambda: motion.hessian_product(rng.choice([vector(), lambda state: vector()]), {name(): small()}, vector()),
        lambda: isobar.Scene.parse(rng.choice(["", "{", "x = 1", "bodies = []", "\0", "materials.a = 3", vector()])),
        lambda: thrown.initial_state[name()],
        lambda: thrown.initial_state.__setitem__(name(), small()),
    ]
    expected = (isobar.Error, TypeError, OverflowError)
    succeeded = refused = 0
    with np.errstate(all="ignore"):
        for _ in range(5000):
            try:
                rng.choice(calls)()
                succeeded += 1
            except expected:
                refused += 1
    assert succeeded > 500 and refused > 500, (succeeded, refused)
    # All is as before.
    assert np.array_equal(thrown.rollout(until=0.004).values, motion.values)


def test_files_of_another_kind():
    with pytest.raises(isobar.InputError) as raised:
        isobar.fit(ROOT / "examples/fit_ball/scene.toml")
    assert raised.value.file == ROOT / "examples/fit_ball/scene.toml"
