"""Steps and motions in torch."""

import numpy as np
import pytest

import isobar

torch = pytest.importorskip("torch")
# Its forward mode calls what it deprecates itself.
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:FutureWarning")

LIMITS = {"eps": 1e-6, "rtol": 1e-5, "atol": 1e-5}
FRICTION = "materials.foam.friction"


def leaf(numbers) -> "torch.Tensor":
    return torch.tensor(numbers, dtype=torch.float64, requires_grad=True)


@pytest.fixture(scope="module")
def start(thrown) -> np.ndarray:
    return thrown.rollout(until=0.005).final.vector


def test_the_bits_are_those_of_the_scene(thrown, start):
    expected = thrown.step(thrown.rollout(until=0.005).final, control=np.array([0.03]))
    assert np.array_equal(isobar.torch.step(thrown, start, np.array([0.03])).numpy(), expected.vector)
    assert np.array_equal(isobar.torch.rollout(thrown, 0.01).numpy(), thrown.rollout(until=0.01).values)


def test_the_derivatives_of_a_step(thrown, start):
    def step(state, control, friction, mass):
        return isobar.torch.step(thrown, state, control, {FRICTION: friction, "ball.mass": mass})

    arguments = leaf(1.0 * start), leaf([0.03]), leaf(0.4), leaf(0.1)
    assert torch.autograd.gradcheck(step, arguments, check_forward_ad=True, **LIMITS)
    assert torch.autograd.gradcheck(lambda state: isobar.torch.step(thrown, state), arguments[:1], **LIMITS)


def test_the_derivatives_of_a_motion(thrown, start):
    def motion(state, controls, friction):
        return isobar.torch.rollout(thrown, 0.005, controls, state, {FRICTION: friction})

    arguments = leaf(start), leaf(np.full((5, 1), 0.03)), leaf(0.4)
    assert torch.autograd.gradcheck(motion, arguments, **LIMITS)
    with pytest.raises(isobar.InputError, match="forward mode"):
        torch.func.jvp(lambda f: motion(None, None, f), (arguments[2].detach(),), (arguments[2].detach(),))


def test_a_loop_of_steps_is_a_motion(thrown):
    controls = torch.linspace(0, 0.1, 20, dtype=torch.float64)[:, None]
    gradients = []
    for by_steps in (True, False):
        start, friction = leaf(thrown.initial_state.vector), leaf(0.4)
        if by_steps:
            last = start
            for control in controls:
                last = isobar.torch.step(thrown, last, control, {FRICTION: friction})
        else:
            last = isobar.torch.rollout(thrown, 0.02, controls, start, {FRICTION: friction})[-1]
        torch.sin(last).sum().backward()
        gradients.append((start.grad.numpy(), float(friction.grad)))
    assert gradients[0][0] == pytest.approx(gradients[1][0], rel=1e-9, abs=1e-9)
    assert gradients[0][1] == pytest.approx(gradients[1][1], rel=1e-9) and abs(gradients[0][1]) > 1e-4


def test_batches(thrown, start):
    states = torch.tensor(start).repeat(4, 1)
    states[:, 7] += 0.1 * torch.arange(4)
    frictions = torch.linspace(0.2, 0.8, 4, dtype=torch.float64)

    def loss(state, friction):
        return isobar.torch.rollout(thrown, 0.005, state=state, parameters={FRICTION: friction})[-1].square().sum()

    together = torch.func.vmap(torch.func.grad(loss, argnums=(0, 1)))(states, frictions)
    plain = isobar.torch.rollout(thrown, 0.005, state=states, parameters={FRICTION: frictions})
    for i in range(4):
        assert torch.equal(plain[i], isobar.torch.rollout(thrown, 0.005, state=states[i], parameters={FRICTION: frictions[i]}))
        for found, one in zip(together, torch.func.grad(loss, argnums=(0, 1))(states[i], frictions[i])):
            assert found[i].numpy() == pytest.approx(one.numpy(), rel=1e-13)


def test_what_is_written_to_a_state_later_does_not_count(thrown):
    state, friction = thrown.initial_state, leaf(0.4)
    after = isobar.torch.step(thrown, state, parameters={FRICTION: friction}).sum()
    (before,) = torch.autograd.grad(after, friction, retain_graph=True)
    state.vector[7] += 1
    assert torch.autograd.grad(after, friction) == (before,)
    # Nor does it matter that a motion cannot be written to.
    isobar.torch.step(thrown, thrown.rollout(until=0.002).values[1])


def test_second_derivatives_are_refused(thrown, start):
    state = leaf(start)
    (first,) = torch.autograd.grad(isobar.torch.step(thrown, state).sum(), state, create_graph=True)
    with pytest.raises(isobar.InputError, match="second derivatives"):
        first.sum().backward()


def test_losses(thrown):
    motion = thrown.rollout(until=0.02)
    own = isobar.torch.loss(lambda final: (final["ball"].position ** 2).sum() * final["hinge.q"])
    plain = lambda final: float((final["ball"].position ** 2).sum() * final["hinge.q"])  # noqa: E731
    found, expected = motion.gradient(own), motion.gradient(plain)
    assert found.value == pytest.approx(expected.value, rel=1e-14)
    assert found.by_state == pytest.approx(expected.by_state, rel=1e-7, abs=1e-9)
    constant = motion.gradient(isobar.torch.loss(lambda final: 2.0))
    assert constant.value == 2.0 and not constant.by_state.any()
    # Residuals.
    off = lambda final: final["ball"].position * final["hinge.q"]  # noqa: E731
    found, expected = (motion.hessian_product(of, {FRICTION: 1.0})[0] for of in (isobar.torch.loss(off), off))
    assert found[FRICTION] == pytest.approx(expected[FRICTION], rel=1e-6)
    # Controllers.
    hold = lambda time, state: 0.3 * (1.0 + time - state["hinge"].q) - 0.05 * state["hinge"].v  # noqa: E731
    own, plain = (thrown.rollout(0.02, of) for of in (isobar.torch.loss(hold), hold))
    assert own.values == pytest.approx(plain.values, rel=1e-14)
    found, expected = (of.gradient({"hinge.q": 1.0}).by_state for of in (own, plain))
    assert found == pytest.approx(expected, rel=1e-7, abs=1e-9) and np.ptp(own.controls) > 1e-3


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (lambda s: isobar.torch.step(s, torch.zeros(4, dtype=torch.float64)), ["state", "(4,)", "15"]),
        (lambda s: isobar.torch.step(s, torch.zeros(15)), ["state", "float32", "float64"]),
        (lambda s: isobar.torch.step(s, "far"), ["state", "far", "numbers"]),
        (lambda s: isobar.torch.step(s, s.initial_state, parameters={"weight": 1.0}), ["parameters", "weight", "ball.mass"]),
        (lambda s: isobar.torch.rollout(s, 0.01, np.zeros((7, 1))), ["controls", "(7, 1)", "10 × 1"]),
    ],
)
def test_bad_input(thrown, call, parts):
    with pytest.raises(isobar.InputError) as raised:
        call(thrown)
    for part in parts:
        assert part in str(raised.value), str(raised.value)
