"""Motions, and what is asked of them."""

from __future__ import annotations

import html
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _isobar
from ._errors import InputError
from ._states import Array, Named, State, array, differences, linear, listed, number

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped,unused-ignore]

    from ._scene import Scene, StepJacobian

# A loss of the final state: its derivatives, or a function of it.
Loss = Callable[[State], Any] | Mapping[str, float] | Array
# Control values of all steps, or a function of time and state that returns those of a step.
OfTime = Callable[[float, State], Any]
Controls = Array | OfTime


@dataclass(frozen=True)
class Gradient:
    """A loss of a motion's final state, and its derivatives by the adjoint."""

    value: float
    """The loss."""
    by_state: Array
    """By the initial state, in the directions of `Scene.tangent_names`."""
    by_controls: Array
    """By the control values: a row for each step, a column for each of `Scene.control_names`."""
    by_parameters: dict[str, float]
    """By the parameters that were asked for, by their names."""
    by_controllers: Array
    """By the parameters of the scene's controllers, one controller after the other."""


class Trajectory:
    """The states of a motion.

    `times` has shape (n,), in s; `values` (n, m), a row for each time and a column for each of `columns`. Both are float64
    and cannot be written to. `trajectory["ball"].position` has shape (n, 3) (see `Part`), `trajectory["ball.pz_m"]` (n,).
    """

    def __init__(
        self, scene: Scene, motion: _isobar.Motion, until: float, function: OfTime | None, forces: OfTime | None
    ) -> None:
        self.scene, self._motion = scene, motion
        self._until, self._function, self._forces = until, function, forces
        self.times, self.values = motion.times(), motion.values()
        self.warnings: list[str] = motion.warnings
        for numbers in (self.times, self.values):
            numbers.flags.writeable = False

    @property
    def columns(self) -> list[str]:
        """What the columns of `values` are, such as `ball.pz_m`: SI units, world frame."""
        return list(self.scene._layout.columns)

    def __len__(self) -> int:
        return len(self.times)

    def __getitem__(self, name: str) -> Any:
        return self.scene._layout.of(name, self.values)

    def state(self, index: int) -> State:
        """The state of a row, as a copy."""
        return State(self.scene._layout, np.array(self.values[index]))

    @property
    def controls(self) -> Array | None:
        """The control values that were given or that the function of these returned: a row for each step, a column for each of
        `Scene.control_names`. None where the commands of the file acted."""
        return self._motion.controls()

    @property
    def final(self) -> State:
        """The last state, as a copy."""
        return self.state(-1)

    def gradient(self, loss: Loss, parameters: Iterable[str] = ()) -> Gradient:
        """The derivatives of a loss of the final state with respect to the initial state, the control values and
        `parameters` (names as in `Scene.parameters` or fit files), by one sweep backward.

        `loss` is a function of the final `State` that returns `(value, derivatives)`, the latter by column
        (`{"ball.pz_m": 1.0}`) or as an array like `State.vector`; a function that returns a number alone is differentiated by
        differences. Or it is such derivatives, of a loss that is linear. An array of shape (n, m) has derivatives with
        respect to all states.

        Of a motion whose `controls` are a function, it is called again for its derivatives at every step, and `by_controls` is
        by what is added to what it returns: times the derivatives of that by numbers in the function, it is by these.

        Ctrl-C is heard when the sweep has ended. Raises `InputError` for unknown names and wrong arrays.
        """
        names = listed(parameters)
        value, by_values = _derivatives(loss, self)
        ((by_state, by_controls, by_parameters, by_controllers),) = _isobar.gradients(
            [self._motion], [by_values], [self._feedback()], names
        )
        return Gradient(value, by_state, by_controls, dict(zip(names, by_parameters)), by_controllers)

    def _feedback(self) -> Array | None:
        """The derivatives of what the function returned, by the numbers of the states: rows for each step."""
        if self._function is None:
            return None
        m, n = len(self.scene.control_names), len(self.columns)
        given = [(float(time), self.state(k)) for k, time in enumerate(self.times[:-1])]
        rows = [linear("controls", self._function, (m,), *one)[1] for one in given]
        return np.concatenate([np.zeros((0, n)), *rows])

    def linearize(self, parameters: Iterable[str] = ()) -> StepJacobian:
        """The derivatives of every step of the motion, as `Scene.step_jacobian` has them, with an axis of steps in front: of d
        directions (`Scene.tangent_names`) and m control values, `by_state` has shape (steps, d, d), `by_control` (steps, d, m)
        and `by_parameters` (steps, d, number of names); `state` has the states after the steps by name, `vector` (steps, n).

        `by_control` is by the control values that acted. What controllers, or `controls` that are a function, make of a state is
        not in `by_state`. The steps are linearized on all threads, about their ends, which costs less than to take them again.
        Raises `InputError` for unknown names.
        """
        from ._scene import StepJacobian

        names = listed(parameters)
        found = self.scene._core.linearize(self._motion, names)
        d, steps = len(self.scene.tangent_names), len(self) - 1
        columns = d, len(self.scene.control_names), len(names)
        shaped = [part.reshape(steps, d, count) for part, count in zip(found, columns)]
        return StepJacobian(Named(self.scene._layout, self.values[1:]), *shaped)

    def hessian_product(
        self,
        residuals: Callable[[State], Any] | Array,
        along: Mapping[str, float],
        controls: Array | None = None,
    ) -> tuple[dict[str, float], Array]:
        """The product JᵀJ v of the Gauss–Newton approximation of the Hessian of ½ |r|² with a direction v, where J is the
        derivative of residuals r by parameters and control values. It is the Hessian where r is 0 or linear in these, and leaves
        out second derivatives of the motion, of which there are none.

        `residuals` is a function of the final `State` that returns r, shape (k,), and its derivatives by `State.vector`, shape
        (k, n), or r alone, which is differentiated by differences. Or it is these derivatives, (k, n), or (times, k, n) for k
        residuals of each state of the motion. `along` has v by the names of parameters (as in `Scene.parameters` or fit files;
        directions of the initial state too), `controls` by the control values, shape (steps, m), 0 where there is none.

        Returns the product by the names in `along`, also those that are 0 there, and by the control values, shape (steps, m). It
        costs a simulation in dual numbers, two or three of `Scene.rollout`, and a sweep backward as `gradient`, however many
        residuals and names there are; J is not formed. Under controllers, or `controls` that are a function, it costs a sweep
        for each residual, and those by control values are by what is added to theirs. Raises `InputError` for wrong arrays and
        unknown names.
        """
        n = len(self.columns)
        if callable(residuals):
            residuals = linear("residuals", residuals, (None,), self.final)[1]
        rows = array("residuals", residuals, (None, n), (len(self), None, n))
        if not rows.size:
            raise InputError(f"residuals: found none, with shape {rows.shape}; there must be at least one")
        of_each = {name: number(x, f"along[{name!r}]") for name, x in zip(listed(along), along.values())}
        if self._function is not None or self.scene._core.has_controllers:
            return self._product_by_rows(rows, of_each, controls)
        found = self._motion.hessian_product(rows.reshape(-1, n), rows.shape[-2], list(of_each.items()), controls)
        return dict(zip(of_each, found[0])), found[1]

    def _product_by_rows(
        self, rows: Array, along: dict[str, float], controls: Array | None
    ) -> tuple[dict[str, float], Array]:
        """`hessian_product` with the rows of J, each by a sweep backward."""
        of_each = np.zeros((rows.size // rows.shape[-1], *self.values.shape))
        # Those of the final state are all its own.
        times = np.repeat(range(len(self)), rows.shape[1]) if rows.ndim > 2 else len(self) - 1
        of_each[np.arange(len(of_each)), times] = rows.reshape(-1, rows.shape[-1])
        count = len(of_each)
        found = _isobar.gradients([self._motion] * count, list(of_each), [self._feedback()] * count, list(along))
        shape = len(self) - 1, len(self.scene.control_names)
        control = np.zeros(shape) if controls is None else array("controls", controls, shape)
        by_names, by_controls = np.array([by[2] for by in found]), np.array([by[1] for by in found])
        residuals = by_names @ np.array(list(along.values())) + (by_controls * control).sum((1, 2))
        return dict(zip(along, (residuals @ by_names).tolist())), np.tensordot(residuals, by_controls, 1)

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the trajectory as the command `isobar simulate --out` does, CSV in full precision; to a name that ends in
        `.html` a page for a browser, with a film and plots."""
        if str(path).lower().endswith(".html"):
            self._motion.write_page(path)
        else:
            self._motion.save(path)

    def _repr_html_(self) -> str:
        """The page, in a notebook."""
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.html"
            self.save(page)
            text = html.escape(page.read_text(encoding="utf-8"))
        return f'<iframe srcdoc="{text}" style="width: 100%; height: 40em; border: 0"></iframe>'

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas DataFrame with the columns of the trajectory file, and times in s as its index."""
        import pandas

        return pandas.DataFrame(self.values, columns=self.columns, index=pandas.Index(self.times, name="t_s"))

    def __reduce__(self) -> tuple[Any, ...]:
        given = self.scene, np.array(self.values), self._until, self.controls, self.warnings, self._motion.failure
        return _restored, (*given, self._function, self._forces)

    def __repr__(self) -> str:
        return f"Trajectory({len(self)} states of {self.scene!r}, until {self.times[-1]:g} s)"


def _restored(
    scene: Scene,
    values: Array,
    until: float,
    controls: Array | None,
    warnings: list[str],
    failure: str | None,
    function: OfTime | None,
    forces: OfTime | None,
) -> Trajectory:
    motion = scene._core.motion(values, until, controls, warnings, failure, scene._of_numbers(forces))
    return Trajectory(scene, motion, until, function, forces)


def value_and_gradient(
    scene: Scene,
    loss: Loss,
    until: float,
    parameters: Iterable[str],
    controls: Controls | None = None,
    state: State | None = None,
    forces: OfTime | None = None,
) -> tuple[float, dict[str, float]]:
    """A loss of the state at the end of a motion, and its derivatives by the names of parameters: `Scene.rollout` and
    `Trajectory.gradient` in one."""
    gradient = scene.rollout(until, controls, state, forces).gradient(loss, parameters)
    return gradient.value, gradient.by_parameters


def _derivatives(loss: Loss, trajectory: Trajectory) -> tuple[float, Array]:
    """The value of a loss, and its derivatives with respect to all states."""
    layout, values = trajectory.scene._layout, trajectory.values
    by_values = np.zeros_like(values)
    if callable(loss):
        final = trajectory.final
        found = loss(final)
        if isinstance(found, tuple) and len(found) == 2:
            value, by_final = _value(found[0]), found[1]
        else:
            value, by_final = _value(found), differences(lambda state: _value(loss(state)), final)
    else:
        value, by_final = 0.0, loss
    if isinstance(by_final, Mapping):
        by_final = layout.array(by_final, "loss")
    by_final = array("loss", by_final, values.shape[1:], values.shape)
    if by_final.ndim == 2:
        by_values = by_final
    else:
        by_values[-1] = by_final
    # Of derivatives alone it is the value of the loss that is linear. (Threads of BLAS would take longer than the adjoint.)
    return (value if callable(loss) else float((by_values * values).sum())), by_values


def _value(found: object) -> float:
    """The value of a loss."""
    try:
        value = number(found, "loss")
    except InputError:
        raise InputError(f"loss: returned {found!r}; it must return a number, or a number and its derivatives") from None
    if not np.isfinite(value):
        raise InputError(f"loss: returned {value}; it must be finite")
    return value
