"""Contact laws that are functions of arrays."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
import pytest

import isobar
from conftest import THROWN

KINDS = ["tamsi", "semi_implicit_euler", "rk4"]
VISCOSITY = "materials.foam.viscosity"


def scene(kind: str) -> isobar.Scene:
    # Shorter steps, as explicit ones need them.
    text = THROWN.replace('kind = "lagged"', f'kind = "{kind}"').replace("time_step = 1e-3", "time_step = 5e-4")
    return isobar.Scene.parse("contact.stiction_velocity = 0.02\n" + text)


def hunt_crossley(at):
    return np.maximum(1 - at["dissipation"] * at["normal_velocity"], 0.0)


def coulomb(at):
    return 1.0 * at["dynamic_friction"]


def viscous(at):
    """Friction that grows with the speed and falls with the pressure."""
    return at["dynamic_friction"] * np.exp(-1e-5 * at["pressure"]) + at["viscosity"] * np.sqrt(at["slip_speed"])


def viscous_with_slopes(at):
    falling, root = np.exp(-1e-5 * at["pressure"]), np.sqrt(at["slip_speed"])
    by = {
        "dynamic_friction": falling,
        "pressure": -1e-5 * at["dynamic_friction"] * falling,
        "viscosity": root,
        "slip_speed": 0.5 * at["viscosity"] / root,
    }
    return at["dynamic_friction"] * falling + at["viscosity"] * root, by


def softening(at):
    return np.exp(-1.5 * at["dissipation"] * at["normal_velocity"]) + 1e-6 * at["viscosity"] * at["pressure"]


def own(kind: str, friction=viscous) -> isobar.Scene:
    return scene(kind).with_law(softening, friction, {"viscosity": 0.3})


@pytest.mark.parametrize("kind", KINDS)
def test_a_law_as_the_built_in_one_gives_its_motion(kind):
    plain = scene(kind)
    expected = plain.rollout(until=0.03)
    for law in ([hunt_crossley, coulomb], [hunt_crossley], [None, coulomb]):
        found = plain.with_law(*law)
        assert found.rollout(until=0.03).values == pytest.approx(expected.values, rel=1e-9, abs=1e-9)
        for patch, other in zip(found.contact(expected.state(5)), plain.contact(expected.state(5)), strict=True):
            assert patch.tractions_on_a == pytest.approx(other.tractions_on_a, rel=1e-12, abs=1e-9)
            assert patch.force_on_a == pytest.approx(other.force_on_a, rel=1e-12)
    assert np.abs(own(kind).rollout(until=0.03).values - expected.values).max() > 1e-4


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_agree_with_differences(kind):
    names = [VISCOSITY, "foam.dissipation", "foam.dynamic_friction", "ball.vx"]
    of = own(kind, viscous_with_slopes)
    gradient = of.rollout(until=0.02).gradient({"ball.vx_m_s": 1.0}, names)
    for name, found in gradient.by_parameters.items():
        middle, step = of.parameters[name.removeprefix("materials.")], 1e-5
        ends = (of.with_values({name: middle + by}).rollout(0.02)["ball.vx_m_s"][-1] for by in (step, -step))
        assert found == pytest.approx(np.subtract(*ends) / (2 * step), rel=1e-5), name
        assert abs(found) > 1e-6
    by_differences = own(kind).rollout(until=0.02).gradient({"ball.vx_m_s": 1.0}, names)
    assert by_differences.by_state == pytest.approx(gradient.by_state, rel=1e-6, abs=1e-8)
    assert list(by_differences.by_parameters.values()) == pytest.approx(list(gradient.by_parameters.values()), rel=1e-6)


@pytest.mark.parametrize("name", ["jax", "torch"])
def test_derivatives_by_other_libraries(name):
    library = pytest.importorskip(name)
    if name == "jax":
        library.config.update("jax_enable_x64", True)
    of = getattr(library, "numpy", library)

    def friction(at):
        return at["dynamic_friction"] * of.exp(-1e-5 * at["pressure"]) + at["viscosity"] * of.sqrt(at["slip_speed"])

    expected, found = (
        own("tamsi", law).rollout(until=0.01).gradient({"ball.vx_m_s": 1.0}, [VISCOSITY])
        for law in (viscous_with_slopes, getattr(isobar, name).loss(friction))
    )
    assert found.by_state == pytest.approx(expected.by_state, rel=1e-9, abs=1e-9)
    assert found.by_parameters[VISCOSITY] == pytest.approx(expected.by_parameters[VISCOSITY], rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_all_derivatives_are_those_of_the_steps(kind):
    of, by = own(kind, viscous_with_slopes), np.zeros(14)
    motion = of.rollout(until=0.01)
    steps = motion.linearize([VISCOSITY])
    one = of.step_jacobian(motion.state(7), time=7 * of.time_step, parameters=[VISCOSITY])
    assert one.by_state == pytest.approx(steps.by_state[7], rel=1e-6, abs=1e-6)
    assert one.by_parameters == pytest.approx(steps.by_parameters[7], rel=1e-6, abs=1e-9)
    assert of.step(motion.state(7), time=7 * of.time_step) == one.state
    by, by_viscosity = np.eye(14)[of.tangent_names.index("ball.vx")], 0.0
    for a, b in zip(steps.by_state[::-1], steps.by_parameters[::-1]):
        by, by_viscosity = by @ a, by_viscosity + (by @ b)[0]
    gradient = motion.gradient({"ball.vx_m_s": 1.0}, [VISCOSITY])
    assert gradient.by_state == pytest.approx(by, rel=1e-8, abs=1e-10)
    assert gradient.by_parameters[VISCOSITY] == pytest.approx(by_viscosity, rel=1e-8)
    row = np.zeros((1, len(motion.columns)))
    row[0, motion.columns.index("ball.vx_m_s")] = 1.0
    assert motion.hessian_product(row, {VISCOSITY: 2.0})[0][VISCOSITY] == pytest.approx(2 * by_viscosity**2, rel=1e-7)


def test_checks_of_gradients_know_of_it():
    check = isobar.check_gradient(own("tamsi", viscous_with_slopes), steps=2, only=["viscosity", "ball.v"], undecided=0.1)
    assert check.passed, check
    assert {row["input"] for row in check.rows} >= {"foam.viscosity", "ball.vx"}


def test_points_come_together():
    counts, points = [0], [0]

    def counted(at):
        counts[0], points[0] = counts[0] + 1, points[0] + len(at["pressure"])
        return coulomb(at)

    motion = scene("tamsi").with_law(friction_coefficient=counted).rollout(until=0.02)
    assert counts[0] < 12 * len(motion) and points[0] > 20 * counts[0]
    counts[0], points[0] = 0, 0
    motion.gradient({"ball.px_m": 1.0}, ["ball.mass"])
    # For values, and twice as many for differences.
    assert counts[0] < 12 * len(motion)


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_law_raises_is_raised(kind):
    class Mine(Exception):
        pass

    def failing(at):
        raise Mine("here")

    of, plain = scene(kind).with_law(friction_coefficient=failing), scene(kind)
    state = plain.rollout(until=0.003).final
    for ask in (
        lambda: of.rollout(until=0.01),
        lambda: of.rollout_batch([state] * 3, until=0.01, return_errors=True),
        lambda: of.step(state),
        lambda: of.step_jacobian(state),
        lambda: of.contact(state),
        lambda: isobar.check_gradient(of, steps=1, only="ball.vx"),
    ):
        with pytest.raises(Mine, match="here"):
            ask()
        assert plain.step(state) == plain.step(state)


def test_what_a_law_raises_for_derivatives_alone_is_raised():
    wrong = lambda at: (coulomb(at), np.zeros(3))  # noqa: E731
    motion = scene("rk4").with_law(friction_coefficient=wrong).rollout(until=0.005)
    for ask in (
        lambda: motion.gradient({"ball.px_m": 1.0}),
        motion.linearize,
        lambda: motion.scene.step_jacobian(motion.final),
        lambda: motion.hessian_product(np.eye(len(motion.columns)), {"ball.mass": 1.0}),
    ):
        with pytest.raises(isobar.InputError, match="friction_coefficient: found float64 with shape \\(3,\\)"):
            ask()


@pytest.mark.parametrize(
    ("law", "parts"),
    [
        ({}, ["law", "no function", "damping_factor or a friction_coefficient"]),
        ({"damping_factor": 0.5}, ["damping_factor", "float", "function of points"]),
        ({"friction_coefficient": lambda at: 0.5}, ["friction_coefficient", "shape ()", "float64"]),
        ({"friction_coefficient": lambda at: np.zeros(2)}, ["friction_coefficient", "(2,)"]),
        ({"friction_coefficient": lambda at: at["speed"]}, ["name", "'speed'", "slip_speed"]),
        ({"damping_factor": lambda at: at["pressure"] * np.nan}, ["damping_factor", "nan", "normal_velocity", "finite"]),
        ({"damping_factor": lambda at: (coulomb, 1)}, ["damping_factor", "object"]),
        ({"friction_coefficient": lambda at: (coulomb(at), {"speed": 0 * coulomb(at)})}, ["name", "'speed'", "slip_speed"]),
        ({"friction_coefficient": lambda at: (coulomb(at), {"pressure": 1.0})}, ["friction_coefficient['pressure']", "()"]),
        ({"friction_coefficient": coulomb, "parameters": {"friction": 1.0}}, ["parameters", "'friction'", "no number of yet"]),
        ({"friction_coefficient": coulomb, "parameters": {"a": "x"}}, ["parameters['a']", "'x'", "number"]),
        ({"friction_coefficient": coulomb, "parameters": {"a": np.inf}}, ["parameters", "inf", "finite"]),
        ({"friction_coefficient": coulomb, "parameters": dict.fromkeys("abcde", 1.0)}, ["parameters", "5", "at most 4"]),
    ],
)
def test_bad_laws(law, parts):
    with pytest.raises(isobar.InputError) as raised:
        scene("tamsi").with_law(**law).rollout(until=0.01)
    for part in parts:
        assert part in str(raised.value), str(raised.value)


def test_convex_steps_refuse_laws():
    with pytest.raises(isobar.Error, match="`tamsi`"):
        scene("lagged").with_law(friction_coefficient=coulomb).rollout(until=0.01)


def end(final):
    return final["ball.px_m"], {"ball.px_m": 1.0}


def test_processes_and_threads_make_no_difference(tmp_path):
    of = own("tamsi", viscous_with_slopes)
    asked = of, [{VISCOSITY: 0.1 * k} for k in range(5)], end, 0.005, [VISCOSITY]
    here = isobar.ensemble(*asked)
    processes = partial(ProcessPoolExecutor, 2, mp_context=multiprocessing.get_context("spawn"))
    there = isobar.ensemble(*asked, executor=processes, folder=tmp_path)
    assert np.array_equal(here.finals, there.finals) and here.mean == there.mean
    assert len(set(here.losses)) == 5 and len(list(tmp_path.iterdir())) == 5


def test_laws_within_functions_of_jax():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    state = scene("tamsi").rollout(until=0.003).final
    steps = [partial(isobar.jax.step, own("tamsi", law)) for law in (viscous, isobar.jax.loss(viscous))]
    assert np.array_equal(jax.jit(steps[0])(state.vector), own("tamsi").step(state).vector)
    # One of JAX's would wait for itself.
    with pytest.raises(isobar.InputError, match="law: found one that JAX evaluates"):
        jax.jit(steps[1])(state.vector)
