"""Steps and motions in JAX."""

import runpy

import numpy as np
import pytest

import isobar
from conftest import ROOT

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)
jnp = jax.numpy
check_grads = pytest.importorskip("jax.test_util").check_grads

# Of derivatives against differences.
LIMITS = {"order": 1, "eps": 1e-6, "rtol": 1e-5, "atol": 1e-5}
FRICTION = "materials.foam.friction"


@pytest.fixture(scope="module")
def start(thrown) -> np.ndarray:
    return thrown.rollout(until=0.005).final.vector


def test_a_step_has_the_bits_of_the_scene(thrown, start):
    expected = thrown.step(thrown.rollout(until=0.005).final, control=np.array([0.03]))
    for step in (isobar.jax.step, jax.jit(isobar.jax.step, static_argnums=0)):
        assert np.array_equal(step(thrown, start, jnp.array([0.03])), expected.vector)
    assert np.array_equal(isobar.jax.step(thrown, expected), thrown.step(expected).vector)
    changed = thrown.with_values({FRICTION: 0.3}).step(expected)
    assert np.array_equal(isobar.jax.step(thrown, expected, parameters={FRICTION: 0.3}), changed.vector)


def test_the_derivatives_of_a_step(thrown, start):
    def step(state, control, friction, mass):
        return isobar.jax.step(thrown, state, control, {FRICTION: friction, "ball.mass": mass})

    arguments = jnp.asarray(start), jnp.array([0.03]), 0.4, 0.1
    check_grads(step, arguments, modes=["fwd", "rev"], **LIMITS)
    check_grads(jax.jit(step), arguments, modes=["fwd", "rev"], **LIMITS)
    check_grads(lambda state: isobar.jax.step(thrown, state), arguments[:1], modes=["fwd", "rev"], **LIMITS)


def test_the_derivatives_of_a_motion(thrown, start):
    def motion(state, controls, friction):
        return isobar.jax.rollout(thrown, 0.01, controls, state, {FRICTION: friction})

    check_grads(motion, (jnp.asarray(start), jnp.full((10, 1), 0.03), 0.4), modes=["rev"], **LIMITS)
    check_grads(jax.jit(lambda f: motion(None, None, f)), (0.4,), modes=["rev"], **LIMITS)
    assert np.array_equal(motion(None, None, 0.5), thrown.rollout(until=0.01).values)


def test_a_scan_of_steps_is_a_motion(thrown):
    start = jnp.asarray(thrown.initial_state.vector)
    controls = jnp.linspace(0, 0.1, 20)[:, None]

    def by_steps(start, friction):
        step = lambda state, control: (isobar.jax.step(thrown, state, control, {FRICTION: friction}),) * 2  # noqa: E731
        return jax.lax.scan(step, start, controls)[1]

    def at_once(start, friction):
        return isobar.jax.rollout(thrown, 0.02, controls, start, {FRICTION: friction})[1:]

    assert np.array_equal(by_steps(start, 0.4), at_once(start, 0.4))
    losses = [lambda *a, of=of: jnp.sum(jnp.sin(of(*a)[::7])) for of in (by_steps, at_once)]
    ours, theirs = (jax.jit(jax.grad(loss, argnums=(0, 1)))(start, 0.4) for loss in losses)
    assert np.asarray(ours[0]) == pytest.approx(np.asarray(theirs[0]), rel=1e-9, abs=1e-9)
    assert float(ours[1]) == pytest.approx(float(theirs[1]), rel=1e-9) and abs(ours[1]) > 1e-4
    # The other mode.
    assert float(jax.jacfwd(losses[0], argnums=1)(start, 0.4)) == pytest.approx(float(ours[1]), rel=1e-9)


def test_a_batch_is_one_call(thrown, start, monkeypatch):
    calls = []
    compiled = isobar._functions._isobar
    for name in ("rollouts", "gradients"):
        whole = getattr(compiled, name)
        monkeypatch.setattr(compiled, name, lambda *a, name=name, whole=whole: calls.append(name) or whole(*a))
    states = jnp.stack([jnp.asarray(start)] * 4) + 0.01 * jnp.arange(4)[:, None] * jnp.eye(15)[7]
    frictions = jnp.linspace(0.2, 0.8, 4)

    def loss(state, friction):
        after = isobar.jax.step(thrown, state, parameters={FRICTION: friction})
        return jnp.sum(isobar.jax.rollout(thrown, 0.005, state=after, parameters={FRICTION: friction})[-1] ** 2)

    both = jax.grad(loss, argnums=(0, 1))
    together = jax.vmap(both)(states, frictions)
    # Steps are called by XLA.
    assert sorted(calls) == ["gradients", "rollouts"]
    assert str(jax.make_jaxpr(jax.vmap(both))(states, frictions)).count("isobar_step_jacobian") == 1
    for i in range(4):
        for found, one in zip(together, both(states[i], frictions[i])):
            assert np.asarray(found[i]) == pytest.approx(np.asarray(one), rel=1e-13)
    # Axes in front are a batch too.
    before = isobar.jax.step(thrown, states, parameters={FRICTION: frictions})
    assert np.array_equal(before[2], isobar.jax.step(thrown, states[2], parameters={FRICTION: frictions[2]}))


def test_where_xla_does_not_call_steps(thrown, start, monkeypatch):
    def both(state, friction):
        step = lambda state, friction: isobar.jax.step(thrown, state, parameters={FRICTION: friction})  # noqa: E731
        return jax.jit(step)(state, friction), *jax.jit(jax.jacrev(step, argnums=(0, 1)))(state, friction)

    frictions = jnp.linspace(0.2, 0.8, 3)
    by_xla = jax.vmap(both, in_axes=(None, 0))(1.3 * start, frictions)
    monkeypatch.setattr(jax, "default_backend", lambda: "another")
    by_callback = jax.vmap(both, in_axes=(None, 0))(1.3 * start, frictions)
    assert np.array_equal(by_xla[0], by_callback[0])
    for ours, theirs in zip(by_xla[1:], by_callback[1:]):
        assert np.asarray(ours) == pytest.approx(np.asarray(theirs), rel=1e-12, abs=1e-14)


def test_xla_is_refused_other_arrays(thrown, start):
    # A number of its own, so that no other program is the same.
    of = np.int64(isobar._isobar.Function(thrown._core, []).number)
    isobar.jax._targets()
    state, none, n = jnp.asarray(start), jnp.zeros(0), start.size
    good = [state, none, none, jnp.zeros(())]

    def call(arguments, *shapes, dtype=jnp.float64, **attributes):
        results = [jax.ShapeDtypeStruct(shape, dtype) for shape in shapes]
        return jax.block_until_ready(jax.ffi.ffi_call("isobar_step", results)(*arguments, **attributes))

    (after,) = call(good, (n,), of=of)
    assert np.array_equal(after, isobar.jax.step(thrown, start))
    wrong_arrays = "not those of a step of this scene"
    for message, ask in (
        ("type 11; it must be of float64", lambda: call([state.astype(jnp.float32), *good[1:]], (n,), of=of)),
        ("type 11; it must be of float64", lambda: call(good, (n,), dtype=jnp.float32, of=of)),
        (wrong_arrays, lambda: call([state[:4], *good[1:]], (n,), of=of)),
        (wrong_arrays, lambda: call(good[:2], (n,), of=of)),
        (wrong_arrays, lambda: call([], (n,), of=of)),
        (wrong_arrays, lambda: call(good, (n - 1,), of=of)),
        (wrong_arrays, lambda: call(good, (n,), (n, n), of=of)),
        ("other attributes", lambda: call(good, (n,))),
        ("other attributes", lambda: call(good, (n,), of=np.int32(of))),
        ("other attributes", lambda: call(good, (n,), of=of, more=of)),
        ("another process", lambda: call(good, (n,), of=np.int64(-1))),
        ("another process", lambda: call(good, (n,), of=of + 1000)),
    ):
        with pytest.raises(jax.errors.JaxRuntimeError, match=message):
            jax.clear_caches()
            ask()


def test_functions_that_xla_does_not_call_have_no_number(thrown):
    first, _, second = (isobar._isobar.Function(thrown._core, []) for _ in range(3))
    assert first.number + 1 == second.number and first.number + 1 == second.number


def test_what_is_written_to_a_state_later_does_not_count(thrown):
    state = thrown.initial_state
    after, by = jax.vjp(lambda f: isobar.jax.step(thrown, state, parameters={FRICTION: f}), 0.4)
    before = by(jnp.ones_like(after))
    state.vector[7] += 1
    assert by(jnp.ones_like(after)) == before


def test_a_policy_learns_through_contact():
    example = runpy.run_path(str(ROOT / "python/examples/push_policy.py"))
    weights, losses = example["train"](24, batch=8)
    assert sum(weight.size for weight in weights) == 486
    assert np.mean(losses[-3:]) < 0.25 * np.mean(losses[:3])


def test_losses(thrown):
    motion = thrown.rollout(until=0.02)
    own = isobar.jax.loss(lambda final: jnp.sum(final["ball"].position ** 2) * final["hinge.q"])
    plain = lambda final: float((final["ball"].position ** 2).sum() * final["hinge.q"])  # noqa: E731
    found, expected = motion.gradient(own, [FRICTION]), motion.gradient(plain, [FRICTION])
    assert found.value == pytest.approx(expected.value, rel=1e-14)
    assert found.by_state == pytest.approx(expected.by_state, rel=1e-7, abs=1e-9)
    # Residuals.
    off = lambda final: final["ball"].position * final["hinge.q"]  # noqa: E731
    found, expected = (motion.hessian_product(of, {FRICTION: 1.0})[0] for of in (isobar.jax.loss(off), off))
    assert found[FRICTION] == pytest.approx(expected[FRICTION], rel=1e-6)
    # Controllers.
    hold = lambda time, state: 0.3 * (1.0 + time - state["hinge"].q) - 0.05 * state["hinge"].v  # noqa: E731
    own, plain = (thrown.rollout(0.02, of) for of in (isobar.jax.loss(hold), hold))
    assert own.values == pytest.approx(plain.values, rel=1e-14)
    found, expected = (of.gradient({"hinge.q": 1.0}).by_state for of in (own, plain))
    assert found == pytest.approx(expected, rel=1e-7, abs=1e-9) and np.ptp(own.controls) > 1e-3


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (lambda s: isobar.jax.step(s, jnp.zeros(4)), ["state", "(4,)", "15"]),
        (lambda s: isobar.jax.step(s, jnp.zeros(15, jnp.float32)), ["state", "float32", "float64"]),
        (lambda s: isobar.jax.step(s, "far"), ["state", "far", "numbers"]),
        (lambda s: isobar.jax.step(s, s.initial_state, jnp.zeros(2)), ["control", "(2,)", "1"]),
        (lambda s: isobar.jax.step(s, s.initial_state, parameters={"ball.px": 0.1}), ["parameters", "ball.px", "state"]),
        (lambda s: isobar.jax.rollout(s, 0.01, jnp.zeros((7, 1))), ["controls", "(7, 1)", "10 × 1"]),
        (lambda s: isobar.jax.rollout(s, -1.0), ["until", "-1"]),
        (lambda s: isobar.jax.step(s, jnp.zeros((3, 15)), jnp.zeros((2, 1))), ["(3,)", "(2,)", "one batch"]),
        (lambda s: isobar.jax.step(3, jnp.zeros(15)), ["scene", "int"]),
    ],
)
def test_bad_input(thrown, call, parts):
    with pytest.raises(isobar.InputError) as raised:
        call(thrown)
    for part in parts:
        assert part in str(raised.value), str(raised.value)


def test_single_precision_is_refused(thrown):
    jax.config.update("jax_enable_x64", False)
    try:
        with pytest.raises(isobar.InputError, match="jax_enable_x64"):
            isobar.jax.step(thrown, thrown.initial_state)
    finally:
        jax.config.update("jax_enable_x64", True)


def test_what_goes_wrong_inside_is_told(thrown):
    state = thrown.initial_state.vector
    step = lambda state, name="ball.mass", mass=0.1: isobar.jax.step(thrown, state, parameters={name: mass})  # noqa: E731
    with pytest.raises(isobar.InputError, match="weight"):
        step(state, "weight")
    for call in (lambda: jax.jit(lambda s: step(s, "weight"))(state), lambda: jax.jit(step)(np.nan * state)):
        with pytest.raises(jax.errors.JaxRuntimeError, match="weight.*ball.mass|ball.*must be finite"):
            jax.block_until_ready(call())
    assert np.array_equal(jax.jit(step)(state), step(state))
