"""Steps and motions as functions of arrays with any number of axes in front, for `isobar.jax` and `isobar.torch`.

Derivatives are by the numbers of states. Quaternions count by their direction alone, so that the derivative along them is 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from . import _isobar
from ._errors import InputError, SimulationError
from ._scene import Scene
from ._states import Array, Named, listed, number


def named(scene: Scene, array: Any) -> Named:
    """States of a scene in an array of JAX or torch, whose last axis has the numbers of a state, by name."""
    return Named(scene._layout, array)


@lru_cache(maxsize=1024)
def _valued(scene: Scene, names: tuple[str, ...], values: bytes) -> _isobar.Scene:
    return scene.with_values(dict(zip(names, np.frombuffer(values))))._core


class Step:
    """A step as a function of states, control values, values of parameters, and times."""

    def __init__(self, scene: Scene, names: tuple[str, ...]) -> None:
        self.scene, self.names = scene, names
        self.core = _isobar.Function(scene._core, list(names))
        n, m, p = len(scene._layout.columns), len(scene.control_names), len(names)
        # Of one member: the shapes of the arguments, and of the results.
        self.given: list[tuple[int, ...]] = [(n,), (m,), (p,), ()]
        self.shapes: list[tuple[int, ...]] = [(n,), (n, n), (n, m), (n, p)]

    def _call(self, has_derivatives: bool, *arguments: Any) -> tuple[Array, ...]:
        batch = arguments[0].shape[:-1]
        found = self.core.call(has_derivatives, [np.zeros(0) if a is None else np.ravel(a) for a in arguments])
        return tuple(part.reshape(*batch, *shape) for part, shape in zip(found, self.shapes))

    def value(self, *arguments: Any) -> Array:
        return self._call(False, *arguments)[0]

    def linearized(self, *arguments: Any) -> tuple[Array, ...]:
        """The states after steps, and their derivatives by states, control values and parameters."""
        return self._call(True, *arguments)

    def pullback(self, *arguments: Any) -> tuple[Array, ...]:
        """The derivatives of what has these (the last argument) by its result, by states, control values and parameters."""
        *given, by = arguments
        _, *jacobians = self.linearized(*given)
        found = [np.einsum("...i,...ij->...j", by, jacobian) for jacobian in jacobians]
        return tuple(found) if given[1] is not None else (found[0], found[2])


class Rollout(Step):
    """A motion as a function of states, control values of all steps, and values of parameters: the states at all times."""

    def __init__(self, scene: Scene, names: tuple[str, ...], until: float) -> None:
        super().__init__(scene, names)
        self.until, steps = until, scene._core.step_count(until)
        state, control, values, _ = self.given
        self.given = [state, (steps, *control), values]
        self.shapes = [(steps + 1, *state), *self.given]

    def _members(self, states: Array, controls: Array | None, values: Array) -> list[tuple[Any, Array, Array | None, None]]:
        """What the compiled part takes for each member of a batch."""
        count = prod(states.shape[:-1])
        rows = self.core.units(np.ravel(states)).reshape(count, *self.given[0])
        given = [None] * count if controls is None else np.ascontiguousarray(controls).reshape(count, *self.given[1])
        valued = np.ascontiguousarray(values).reshape(count, *self.given[2])
        cores = [_valued(self.scene, self.names, row.tobytes()) if self.names else self.scene._core for row in valued]
        return list(zip(cores, rows, given, [None] * count))

    def value(self, *arguments: Any) -> Array:
        motions = _isobar.rollouts(self._members(*arguments), self.until)
        for i, motion in enumerate(motions):
            if motion.failure is not None:
                raise SimulationError(motion.failure if len(motions) == 1 else f"member {i} of the batch: {motion.failure}")
        return np.reshape([motion.values() for motion in motions], (*arguments[0].shape[:-1], *self.shapes[0]))

    def pullback(self, *arguments: Any) -> tuple[Array, ...]:
        *given, values, by = arguments
        members = self._members(*given)
        rows, by_rows = (np.ascontiguousarray(a).reshape(len(members), *self.shapes[0]) for a in (values, by))
        motions = [core.motion(row, self.until, controls, [], None) for (core, _, controls, _), row in zip(members, rows)]
        found = _isobar.gradients(motions, list(by_rows), [None] * len(motions), list(self.names))
        by_state, by_controls, by_values = (np.array([one[k] for one in found], dtype=float) for k in range(3))
        parts = [self.core.in_numbers(np.ravel(given[0]), np.ravel(by_state)), by_controls, by_values]
        parts = [part.reshape(*given[0].shape[:-1], *shape) for part, shape in zip(parts, self.given)]
        return tuple(parts) if given[1] is not None else (parts[0], parts[2])


@lru_cache(maxsize=256)
def _step(scene: Scene, names: tuple[str, ...]) -> Step:
    return Step(scene, names)


@lru_cache(maxsize=256)
def _rollout(scene: Scene, names: tuple[str, ...], until: float) -> Rollout:
    return Rollout(scene, names, until)


def function(scene: Scene, parameters: Mapping[str, Any], until: float | None = None) -> Any:
    """A step of a scene, or a motion, with these parameters; the same object for the same arguments."""
    if not isinstance(scene, Scene):
        raise InputError(f"scene: found {type(scene).__name__}; it must be a Scene")
    if not isinstance(parameters, Mapping):
        raise InputError(f"parameters: found {type(parameters).__name__}; it must be values by their names")
    names = tuple(listed(parameters))
    if of_state := [name for name in names if name in scene.tangent_names]:
        raise InputError(f"parameters: found {of_state[0]!r}; the state is an argument of its own")
    return _step(scene, names) if until is None else _rollout(scene, names, number(until, "until"))


def checked(of: Step, arrays: dict[str, Any], is_float64: Any) -> tuple[int, ...]:
    """The leading axes of all arguments together: arrays by their names, in the order of those of `of`."""
    leading = []
    for (name, array), shape in zip(arrays.items(), of.given):
        if array is None:
            continue
        found = tuple(array.shape)
        split = len(found) - len(shape)
        if not is_float64(array) or found[max(split, 0) :] != shape:
            allowed = " × ".join(map(str, shape)) or "none"
            raise InputError(f"{name}: found {array.dtype} with shape {found}; it must be float64 with the last axes {allowed}")
        leading.append(found[:split])
    try:
        return np.broadcast_shapes(*leading)
    except ValueError:
        of_each = ", ".join(map(str, leading))
        raise InputError(f"{', '.join(arrays)}: found the leading axes {of_each}; they must be those of one batch") from None
