"""Steps and motions as functions of arrays with any number of axes in front, for `isobar.jax` and `isobar.torch`.

Derivatives are by the numbers of states. Quaternions count by their direction alone: they are brought to unit length before,
so that the derivative along them is 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, lru_cache
from math import prod
from typing import Any

import numpy as np

from . import _isobar
from ._errors import InputError, SimulationError
from ._scene import Scene
from ._states import Array, Layout, State, number


class Named(State):
    """Numbers of states as an array of any library, by name: `final["ball"].position`, `final["ball.pz_m"]`."""

    __slots__ = ()

    def __init__(self, layout: Layout, vector: Any) -> None:
        super().__init__(layout, vector)

    def __getitem__(self, name: str) -> Any:
        if name in self._layout.names:
            return super().__getitem__(name)
        return self.vector[..., self._layout.place(name)]


def named(scene: Scene, array: Any) -> Named:
    """States of a scene in an array of JAX or torch, whose last axis has the numbers of a state, by name."""
    return Named(scene._layout, array)


class Tangents:
    """Between the numbers of states and the directions of their tangent spaces."""

    def __init__(self, layout: Layout) -> None:
        bodies = [parts for parts in layout.names.values() if "quaternion" in parts]
        joints = [parts for parts in layout.names.values() if "q" in parts]
        # Which number is which direction, and of quaternions the first of each.
        ordinary: list[tuple[int, int]] = []
        self.turns: list[tuple[int, int]] = []
        at = 0

        def add(columns: slice, direction: int) -> int:
            ordinary.extend((column, direction + i) for i, column in enumerate(range(columns.start, columns.stop)))
            return direction + columns.stop - columns.start

        for parts in bodies:
            self.turns.append((parts["quaternion"].start, at))
            for part in ("position", "angular_velocity", "linear_velocity"):
                at = add(parts[part], at + 3 if part == "position" else at)
        for parts in joints:
            q, v = parts["q"], parts["v"]
            if q.stop - q.start > v.stop - v.start:
                self.turns.append((q.start, at))
                q, at = slice(q.start + 4, q.stop), at + 3
            at = add(q, at)
        for parts in joints:
            at = add(parts["v"], at)
        known = {column for column, _ in ordinary} | {first + i for first, _ in self.turns for i in range(4)}
        for column in range(len(layout.columns)):
            if column not in known:
                at = add(slice(column, column + 1), at)
        self.columns, self.directions = np.array(ordinary, dtype=int).reshape(-1, 2).T
        self.shape = len(layout.columns), at

    def units(self, states: Array) -> Array:
        """The states with quaternions of unit length; those that have it keep their bits."""
        states = np.array(states)
        for first, _ in self.turns:
            q = states[..., first : first + 4]
            length = np.sqrt((q * q).sum(-1, keepdims=True))
            np.divide(q, length, out=q, where=np.abs(length - 1) > 8 * np.finfo(float).eps)
        return states

    def basis(self, states: Array) -> Array:
        """The derivatives of the numbers by the directions."""
        out = np.zeros((*states.shape[:-1], *self.shape))
        out[..., self.columns, self.directions] = 1
        for first, direction in self.turns:
            w, x, y, z = np.moveaxis(states[..., first : first + 4] / 2, -1, 0)
            rows = [[-x, -y, -z], [w, z, -y], [-z, w, x], [y, -x, w]]
            out[..., first : first + 4, direction : direction + 3] = np.moveaxis(np.array(rows), (0, 1), (-2, -1))
        return out

    def inverse(self, states: Array) -> Array:
        """The derivatives of the directions by the numbers. The columns of the basis are at right angles."""
        basis = self.basis(states)
        return np.swapaxes(basis / (basis * basis).sum(-2, keepdims=True), -1, -2)


@lru_cache(maxsize=1024)
def _valued(scene: Scene, names: tuple[str, ...], values: bytes) -> _isobar.Scene:
    return scene.with_values(dict(zip(names, np.frombuffer(values))))._core


class Step:
    """A step as a function of states, control values, values of parameters, and times."""

    # Axes behind those of a batch, of each argument.
    axes: tuple[int, ...] = (1, 1, 1, 0)

    def __init__(self, scene: Scene, names: tuple[str, ...]) -> None:
        self.scene, self.names, self.tangents = scene, names, Tangents(scene._layout)

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of what one result has."""
        n, m, p = len(self.scene._layout.columns), len(self.scene.control_names), len(self.names)
        return (n,), (n, n), (n, m), (n, p)

    @cached_property
    def number(self) -> int:
        """Its number among the functions that XLA calls."""
        ordinary = list(zip(self.tangents.columns.tolist(), self.tangents.directions.tolist()))
        return _isobar.new_function(self.scene._core, list(self.names), ordinary, self.tangents.turns)

    def members(self, states: Array, controls: Array | None, values: Array, *more: Array) -> tuple[tuple[int, ...], Any]:
        """The axes in front, and what the compiled part takes for each member."""
        batch = states.shape[:-1]
        flat = lambda array: np.ascontiguousarray(array.reshape(prod(batch), *array.shape[len(batch) :]))  # noqa: E731
        rows = self.tangents.units(flat(states))
        times = [np.ravel(time).tolist() for time in more]
        cores = [self.scene._core if not self.names else _valued(self.scene, self.names, row.tobytes()) for row in flat(values)]
        given = [None] * len(rows) if controls is None else flat(controls)
        return batch, list(zip(cores, rows, given, *times))

    def value(self, *arguments: Any) -> Array:
        batch, members = self.members(*arguments)
        return np.reshape(_isobar.steps(members), (*batch, *self.shapes[0]))

    def linearized(self, *arguments: Any) -> tuple[Array, ...]:
        """The states after steps, and their derivatives by states, control values and parameters."""
        batch, members = self.members(*arguments)
        if not members:
            return tuple(np.zeros((*batch, *shape)) for shape in self.shapes)
        found = zip(*_isobar.step_jacobians(members, list(self.names)))
        after, by_state, by_control, by_values = (np.stack(part) for part in found)
        # Of the given states: their quaternions may be longer.
        before = arguments[0].reshape(len(members), -1)
        basis = self.tangents.basis(after)
        parts = after, basis @ by_state @ self.tangents.inverse(before), basis @ by_control, basis @ by_values
        return tuple(part.reshape(*batch, *shape) for part, shape in zip(parts, self.shapes))

    def pullback(self, *arguments: Any) -> tuple[Array, ...]:
        """The derivatives of what has these (the last argument) by its result, by states, control values and parameters."""
        *given, by = arguments
        _, *jacobians = self.linearized(*given)
        found = [np.einsum("...i,...ij->...j", by, jacobian) for jacobian in jacobians]
        return tuple(found) if given[1] is not None else (found[0], found[2])


class Rollout(Step):
    """A motion as a function of states, control values of all steps, and values of parameters: the states at all times."""

    axes = (1, 2, 1)

    def __init__(self, scene: Scene, names: tuple[str, ...], until: float) -> None:
        super().__init__(scene, names)
        self.until, self.steps = until, scene._core.step_count(until)

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        n, m, p = len(self.scene._layout.columns), len(self.scene.control_names), len(self.names)
        return (self.steps + 1, n), (n,), (self.steps, m), (p,)

    def value(self, *arguments: Any) -> Array:
        batch, members = self.members(*arguments)
        motions = _isobar.rollouts(members, self.until)
        for i, motion in enumerate(motions):
            if motion.failure is not None:
                raise SimulationError(motion.failure if len(motions) == 1 else f"member {i} of the batch: {motion.failure}")
        return np.reshape([motion.values() for motion in motions], (*batch, *self.shapes[0]))

    def pullback(self, *arguments: Any) -> tuple[Array, ...]:
        *given, values, by = arguments
        batch, members = self.members(*given)
        if not members:
            return tuple(np.zeros_like(argument) for argument in given if argument is not None)
        rows, by_rows = (np.ascontiguousarray(np.reshape(a, (len(members), *self.shapes[0]))) for a in (values, by))
        motions = [core.motion(row, self.until, controls, [], None) for (core, _, controls), row in zip(members, rows)]
        found = _isobar.gradients(motions, list(by_rows), list(self.names))
        by_state, by_controls, by_values = (np.array([one[k] for one in found]) for k in range(3))
        inverse = self.tangents.inverse(given[0].reshape(len(members), -1))
        parts = [np.einsum("kt,ktn->kn", by_state, inverse), by_controls, by_values]
        parts = [part.reshape(*batch, *shape) for part, shape in zip(parts, self.shapes[1:])]
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
    names = tuple(parameters)
    if of_state := [name for name in names if name in scene.tangent_names]:
        raise InputError(f"parameters: found {of_state[0]!r}; the state is an argument of its own")
    return _step(scene, names) if until is None else _rollout(scene, names, number(until, "until"))


def checked(of: Step, arrays: dict[str, Any], is_float64: Any) -> tuple[int, ...]:
    """The leading axes of all arguments together: arrays by their names, in the order of those of `of`."""
    n, m = len(of.scene._layout.columns), len(of.scene.control_names)
    wanted = [(n,), (of.steps, m) if isinstance(of, Rollout) else (m,), (len(of.names),), ()]
    leading = []
    for (name, array), shape in zip(arrays.items(), wanted):
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
