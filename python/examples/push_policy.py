"""Trains a policy through contact: a pusher that brings a box to any goal ahead of it.

    pip install "./python[jax]"
    python python/examples/push_policy.py

The policy has two layers and 486 weights. It sees goal, pusher and heading in the frame of the box, and tells the pusher's
drives their velocities at every step. Gradients go through the steps, by JAX.
"""

import time

import jax
import jax.numpy as jnp
import numpy as np

import isobar

jax.config.update("jax_enable_x64", True)

STEPS = 100
HIDDEN = 54
SPEED = 0.25  # m/s
BEHIND = jnp.array([0.07, 0.0])  # from the pusher that touches the rear face to the middle of the box, m

LIGHT = {"mass": 0.1, "inertia": [[1e-4, 0, 0], [0, 1e-4, 0], [0, 0, 1e-4]]}
BALL = {"sphere": {"radius": 0.02, "resolution": 0.012}}
DRIVE = {"velocity": {"damping": 60.0}}
SCENE = isobar.Scene.parse(
    {
        "materials": {
            "wood": {"hydroelastic_modulus": 1e6, "dissipation": 1.0, "friction": 0.3},
            "rubber": {"hydroelastic_modulus": 2e5, "dissipation": 1.0, "friction": 0.2},
        },
        "contact": {"surface": "polygons", "stiction_velocity": 1e-3},
        "solver": {"time_step": 2e-2},
        "bodies": [
            {"name": "table", "fixed": True, "geometries": [{"shape": {"half_space": {}}, "material": "wood", "rigid": True}]},
            {
                "name": "box",
                "translation": [0, 0, 0.0298],
                "mass": 0.4,
                "geometries": [{"shape": {"box": {"size": [0.1, 0.1, 0.06]}}, "material": "wood"}],
            },
            {
                "name": "cart",
                "joint": {"name": "x", "type": "prismatic", "axis": [1, 0, 0], "translation": [0, 0, 0.03], "position": -0.072},
                **LIGHT,
            },
            {
                "name": "pusher",
                "joint": {"name": "y", "type": "prismatic", "axis": [0, 1, 0], "parent": "cart"},
                "geometries": [{"shape": BALL, "material": "rubber"}],
                **LIGHT,
            },
        ],
        "actuators": [{"name": f"along {joint}", "joints": [joint], "drive": DRIVE} for joint in "xy"],
    }
)


def policy(weights, state, goal):
    """The velocities that the pusher is told, m/s."""
    w, z = state["box.qw"], state["box.qz"]
    cosine, sine = 1 - 2 * z**2, 2 * w * z
    to_box = jnp.array([[cosine, sine], [-sine, cosine]])
    box = state["box"].position[:2]
    pusher = jnp.stack([state["x.q"], state["y.q"]])
    seen = [5 * to_box @ (goal - box), 20 * (to_box @ (pusher - box) + BEHIND), jnp.stack([3 * sine, cosine - 1, 1.0])]
    return to_box.T @ (SPEED * jnp.tanh(weights[1] @ jnp.tanh(weights[0] @ jnp.concatenate(seen))))


def push(weights, goal):
    """Where the box is at every step, and the pusher at the end."""

    def step(numbers, _):
        state = isobar.jax.named(SCENE, numbers)
        after = isobar.jax.step(SCENE, numbers, policy(weights, state, goal))
        return after, state["box"].position[:2]

    last, path = jax.lax.scan(step, jnp.asarray(SCENE.initial_state.vector), length=STEPS)
    state = isobar.jax.named(SCENE, last)
    return jnp.vstack([path, state["box"].position[:2]]), jnp.stack([state["x.q"], state["y.q"]])


def loss(weights, goals):
    """The squared distances from the goals, at the end and in the second half; and the distances at the end, m."""
    paths, pushers = jax.vmap(push, in_axes=(None, 0))(weights, goals)
    squares = ((paths - goals[:, None]) ** 2).sum(-1)
    strayed = ((pushers - paths[:, -1]) ** 2).sum(-1) - 0.08**2
    each = 100 * squares[:, -1] + 30 * squares[:, STEPS // 2 :].mean(-1) + 5 * jnp.maximum(strayed, 0)
    return each.mean(), jnp.sqrt(squares[:, -1])


def random_goals(rng, count):
    """Goals 12 to 25 cm ahead of the box, up to half a radian aside."""
    distance, angle = rng.uniform(0.12, 0.25, count), rng.uniform(-0.5, 0.5, count)
    return jnp.asarray(np.stack([distance * np.cos(angle), distance * np.sin(angle)], -1))


def train(iterations, batch=16, seed=0, tell=print):
    """The weights after so many iterations of Adam, and the loss at each."""
    rng = np.random.default_rng(seed)
    weights = [jnp.asarray(rng.normal(0, 0.5, (HIDDEN, 7))), jnp.asarray(rng.normal(0, 0.1, (2, HIDDEN)))]
    gradient = jax.jit(jax.value_and_grad(loss, has_aux=True))
    mean, square, losses = [0.0, 0.0], [0.0, 0.0], []
    for k in range(1, iterations + 1):
        (value, misses), by = gradient(weights, random_goals(rng, batch))
        # A single step that hits the box hard must not undo the others.
        by = [b * jnp.minimum(1, 1 / jnp.sqrt(sum((c**2).sum() for c in by))) for b in by]
        rate = 5e-3 * (1 + np.cos(np.pi * k / iterations)) + 1e-4
        mean = [0.9 * m + 0.1 * b for m, b in zip(mean, by)]
        square = [0.99 * s + 0.01 * b**2 for s, b in zip(square, by)]
        steps = [m / (1 - 0.9**k) / (jnp.sqrt(s / (1 - 0.99**k)) + 1e-8) for m, s in zip(mean, square)]
        weights = [w - rate * s for w, s in zip(weights, steps)]
        losses.append(float(value))
        if k % 20 == 0:
            tell(f"{k:4} loss {value:.4f}, median miss {1e3 * float(jnp.median(misses)):.1f} mm")
    return weights, losses


def main():
    begin = time.monotonic()
    weights, _ = train(300)
    seconds = time.monotonic() - begin
    _, misses = jax.jit(loss)(weights, random_goals(np.random.default_rng(1), 100))
    within, median = int((misses < 0.01).sum()), 1e3 * float(jnp.median(misses))
    print(f"trained in {seconds:.0f} s; of 100 other goals {within} are met within 1 cm, the median miss is {median:.1f} mm")


if __name__ == "__main__":
    main()
