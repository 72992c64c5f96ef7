"""Steps and motions for torch, which differentiates through them.

    after = isobar.torch.step(scene, state, control, {"materials.foam.friction": friction})
    states = isobar.torch.rollout(scene, until=0.3, parameters={"ball.mass": mass})

Tensors are float64 on the CPU. A batch, by axes in front or by `torch.vmap`, is one call of isobar's, on all threads. Steps
have both modes of differentiation, motions the reverse one (isobar's adjoint). Neither has second derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import numpy as np
import torch

from . import _functions
from ._errors import InputError
from ._functions import named
from ._scene import Scene
from ._states import Array, Named, State

__all__ = ["loss", "named", "rollout", "step"]


def step(
    scene: Scene,
    state: Any,
    control: Any = None,
    parameters: Mapping[str, Any] | None = None,
    time: Any = 0.0,
) -> torch.Tensor:
    """The numbers of the state after a step, as by `Scene.step`: shape (…, n), in the order of `State.columns`.

    `state` is a `State` or a tensor of shape (…, n), whose quaternions may have any length but 0; `control` has shape (…, m)
    and `parameters` values of shape (…), by names as in `Scene.parameters`. It is not differentiated by `time`, s.
    """
    of = _functions.function(scene, parameters or {})
    arguments = _arguments(of, state, {"control": control}, parameters or {}, {"time": time})
    found: torch.Tensor = _Function.apply(of, *arguments)
    return found


def rollout(
    scene: Scene,
    until: float,
    controls: Any = None,
    state: Any = None,
    parameters: Mapping[str, Any] | None = None,
) -> torch.Tensor:
    """The states of a motion, as by `Scene.rollout`: shape (…, times, n). For the arguments see `step`; `controls` has shape
    (…, steps, m)."""
    of = _functions.function(scene, parameters or {}, until)
    state = scene.initial_state if state is None else state
    found: torch.Tensor = _Function.apply(of, *_arguments(of, state, {"controls": controls}, parameters or {}, {}))
    return found


def loss(function: Callable[..., Any]) -> Callable[..., tuple[Array, Array]]:
    """A loss for `Trajectory.gradient` and the like, with derivatives by torch: `function` takes the final state by name
    (see `named`) and returns a number. Also residuals for `Trajectory.hessian_product`, of a function that returns a tensor,
    `controls` and `forces` for `Scene.rollout`, of one of time and state, and the functions of `Scene.with_law`."""

    @wraps(function)
    def of_state(*given: Any) -> tuple[Array, Array]:
        *before, state = given
        vector = torch.tensor(state.vector, requires_grad=True)
        value = torch.as_tensor(function(*before, Named(state._layout, vector)))
        if vector.ndim > 1:
            # At each of several points.
            (by,) = torch.autograd.grad(value.sum(), vector) if value.requires_grad else (torch.zeros_like(vector),)
            return value.detach().numpy(), by.numpy()
        by = torch.zeros(value.numel(), vector.numel(), dtype=torch.float64)
        for row, x in zip(by, value.reshape(-1) if value.requires_grad else []):
            row += torch.autograd.grad(x, vector, retain_graph=True)[0]
        return value.detach().numpy(), by.reshape(*value.shape, -1).numpy()

    return of_state


def _tensor(name: str, value: Any, **kind: Any) -> torch.Tensor:
    try:
        # Numpy's are copied: what is written to them later must not change derivatives.
        found = torch.tensor(value, **kind) if isinstance(value, np.ndarray) else torch.as_tensor(value, **kind)
    except (TypeError, ValueError, RuntimeError):
        raise InputError(f"{name}: found {value!r}; it must be numbers") from None
    if found.device.type != "cpu":
        raise InputError(f"{name}: found a tensor on {found.device}; it must be on the CPU")
    return found


def _arguments(of: Any, state: Any, controls: dict[str, Any], parameters: Mapping[str, Any], times: dict[str, Any]) -> Any:
    kind: dict[str, Any] = {"dtype": torch.float64}
    values = [_tensor(f"parameters[{name!r}]", value, **kind) for name, value in parameters.items()]
    arrays = {"state": of.scene._vector(state) if isinstance(state, State) else state, **controls}
    arrays = {name: None if array is None else _tensor(name, array) for name, array in arrays.items()}
    arrays["parameters"] = torch.stack(torch.broadcast_tensors(*values), -1) if values else torch.zeros(0, **kind)
    arrays |= {name: _tensor(name, time, **kind) for name, time in times.items()}
    batch = _functions.checked(of, arrays, lambda array: array.dtype == torch.float64)
    together = lambda a, shape: None if a is None else a.expand((*batch, *shape))  # noqa: E731
    return [together(array, shape) for array, shape in zip(arrays.values(), of.given)]


class _Call(torch.autograd.Function):
    """A function of numpy arrays without derivatives."""

    @staticmethod
    def forward(function: Any, *tensors: Any) -> Any:
        found = function(*(None if t is None else t.detach().numpy() for t in tensors))
        return tuple(map(torch.from_numpy, found)) if isinstance(found, tuple) else torch.from_numpy(found)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *by: Any) -> Any:
        raise InputError("second derivatives: there are none of isobar's functions")

    @classmethod
    def vmap(cls, info: Any, dims: Any, function: Any, *tensors: Any) -> Any:
        def batched(tensor: Any, dim: Any) -> Any:
            if tensor is None:
                return None
            return tensor.expand((info.batch_size, *tensor.shape)) if dim is None else tensor.movedim(dim, 0)

        found = cls.apply(function, *map(batched, tensors, dims[1:]))
        return found, (0,) * len(found) if isinstance(found, tuple) else 0


class _Function(_Call):
    """A step or a motion."""

    @staticmethod
    def forward(of: Any, *tensors: Any) -> Any:
        return _Call.forward(of.value, *tensors)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.of, *tensors = inputs
        # Motions are differentiated over their states.
        kept = tensors + [output] if isinstance(ctx.of, _functions.Rollout) else tensors
        ctx.save_for_backward(*kept)
        ctx.save_for_forward(*kept)

    @staticmethod
    def backward(ctx: Any, *by: Any) -> Any:
        kept = ctx.saved_tensors
        found = iter(_Call.apply(ctx.of.pullback, *kept, *by))
        given = kept[: len(ctx.of.given)]
        return None, *(None if t is None or i == 3 else next(found) for i, t in enumerate(given))

    @staticmethod
    def jvp(ctx: Any, _: Any, *tangents: Any) -> Any:
        if isinstance(ctx.of, _functions.Rollout):
            raise InputError("forward mode: found a motion; it must be a step, or reverse mode")
        _, *jacobians = _Call.apply(ctx.of.linearized, *ctx.saved_tensors)
        return sum(torch.einsum("...ij,...j->...i", j, d) for j, d in zip(jacobians, tangents) if d is not None)
