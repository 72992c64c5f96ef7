"""Steps and motions for JAX, which differentiates through them.

    jax.config.update("jax_enable_x64", True)
    after = isobar.jax.step(scene, state, control, {"materials.foam.friction": 0.4})
    states = isobar.jax.rollout(scene, until=0.3, parameters={"ball.mass": 0.1})

Both work under `jit`, `vmap`, `grad` and in loops; a batch is one call of isobar's, on all threads. Steps have both modes of
differentiation, motions the reverse one (isobar's adjoint). Neither has second derivatives. An exception within `jit` comes
as one of JAX's, which has isobar's message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial, wraps
from typing import Any
from weakref import WeakSet

import jax
import jax.numpy as jnp
import numpy as np

from . import _functions, _isobar
from ._errors import InputError
from ._functions import named
from ._scene import Scene
from ._states import Array, Named, State

__all__ = ["loss", "named", "rollout", "step"]


# Functions that JAX evaluates.
_EVALUATED: WeakSet[Any] = WeakSet()


def step(
    scene: Scene,
    state: Any,
    control: Any = None,
    parameters: Mapping[str, Any] | None = None,
    time: Any = 0.0,
) -> jax.Array:
    """The numbers of the state after a step, as by `Scene.step`: shape (…, n), in the order of `State.columns`.

    `state` is a `State` or an array of shape (…, n), whose quaternions may have any length but 0; `control` has shape (…, m)
    and `parameters` values of shape (…), by names as in `Scene.parameters`. It is not differentiated by `time`, s.
    """
    of = _functions.function(scene, parameters or {})
    return _step(of, *_arguments(of, state, {"control": control}, parameters or {}, {"time": time}))


def rollout(
    scene: Scene,
    until: float,
    controls: Any = None,
    state: Any = None,
    parameters: Mapping[str, Any] | None = None,
) -> jax.Array:
    """The states of a motion, as by `Scene.rollout`: shape (…, times, n). `until` is a number; for the others see `step`.
    `controls` has shape (…, steps, m)."""
    of = _functions.function(scene, parameters or {}, until)
    state = scene.initial_state if state is None else state
    return _rollout(of, *_arguments(of, state, {"controls": controls}, parameters or {}, {}))


def loss(function: Callable[..., Any]) -> Callable[..., tuple[Array, Array]]:
    """A loss for `Trajectory.gradient` and the like, with derivatives by JAX: `function` takes the final state by name
    (see `named`) and returns a number. Also residuals for `Trajectory.hessian_product`, of a function that returns an array,
    `controls` and `forces` for `Scene.rollout`, of one of time and state, and the functions of `Scene.with_law`, of one of the
    numbers of a single point."""

    @partial(jax.jit, static_argnums=0)
    def differentiated(layout: Any, vector: Any, *before: Any) -> Any:
        of = lambda numbers: (function(*before, Named(layout, numbers)),) * 2  # noqa: E731
        slopes = jax.jacrev(of, has_aux=True)
        return (jax.vmap(slopes) if vector.ndim > 1 else slopes)(vector)

    @wraps(function)
    def of_state(*given: Any) -> tuple[Array, Array]:
        *before, state = given
        numbers = state.vector
        if (count := len(numbers)) and numbers.ndim > 1:
            # Of points there is another number each time, of which few are to be compiled for.
            numbers = np.pad(numbers, [(0, 2 ** (count - 1).bit_length() - count), (0, 0)], mode="edge")
        by, value = (np.asarray(part) for part in differentiated(state._layout, _array("state", numbers), *before))
        return (value[:count], by[:count]) if numbers.ndim > 1 else (value, by)

    _EVALUATED.add(of_state)
    return of_state


def _array(name: str, value: Any) -> jax.Array:
    if not jax.config.read("jax_enable_x64"):
        message = "it must compute in float64; call jax.config.update('jax_enable_x64', True) before arrays are made"
        raise InputError(f"jax: found jax_enable_x64 = False; {message}")
    try:
        return jnp.asarray(value)
    except (TypeError, ValueError):
        raise InputError(f"{name}: found {value!r}; it must be numbers") from None


def _arguments(of: Any, state: Any, controls: dict[str, Any], parameters: Mapping[str, Any], times: dict[str, Any]) -> Any:
    values = [_array(f"parameters[{name!r}]", value).astype(float) for name, value in parameters.items()]
    arrays = {"state": of.scene._vector(state) if isinstance(state, State) else state, **controls}
    arrays = {name: None if array is None else _array(name, array) for name, array in arrays.items()}
    arrays["parameters"] = jnp.stack(jnp.broadcast_arrays(*values), -1) if values else jnp.zeros(0)
    arrays |= {name: _array(name, time).astype(float) for name, time in times.items()}
    if _is_traced(arrays) and any(own in _EVALUATED for law in of.scene.laws for own in law.functions):
        found = "found one that JAX evaluates, in a function that it compiles or differentiates"
        raise InputError(f"law: {found}; it must be one of numpy there")
    batch = _functions.checked(of, arrays, lambda array: array.dtype == jnp.float64)
    together = lambda a, shape: None if a is None else jnp.broadcast_to(a, (*batch, *shape))  # noqa: E731
    return [together(array, shape) for array, shape in zip(arrays.values(), of.given)]


def _is_traced(arguments: Any) -> bool:
    return any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(arguments))


def _called(function: Callable[..., Any], shapes: Any, *arguments: Any) -> Any:
    """What a function of numpy arrays makes of these: arrays of these shapes."""
    # Within a callback nothing of JAX may be called: it would wait for itself.
    in_numpy = lambda *given: function(*(None if a is None else np.asarray(a) for a in given))  # noqa: E731
    if not _is_traced(arguments):
        # Exceptions are isobar's own then.
        return jax.tree.map(jnp.asarray, in_numpy(*arguments))
    return jax.pure_callback(in_numpy, _results(shapes), *arguments, vmap_method="broadcast_all")


def _results(shapes: Any) -> Any:
    """An array of this shape, or arrays of these."""
    is_shape = lambda found: all(isinstance(length, int) for length in found)  # noqa: E731
    return jax.tree.map(lambda shape: jax.ShapeDtypeStruct(shape, jnp.float64), shapes, is_leaf=is_shape)


@lru_cache(maxsize=1)
def _targets() -> tuple[str, str]:
    """What XLA calls steps, and steps with their derivatives."""
    names = "isobar_step", "isobar_step_jacobian"
    for name, address in zip(names, _isobar.handlers()):
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(address), platform="cpu")
    return names


def _stepped(of: Any, what: int, shapes: Any, *arguments: Any) -> Any:
    """Steps, or steps with their derivatives: by XLA itself where it computes on the CPU."""
    if not _is_traced(arguments) or jax.default_backend() != "cpu":
        return _called((of.value, of.linearized)[what], shapes, *arguments)
    state, control, *more = arguments
    control = jnp.zeros((*state.shape[:-1], 0)) if control is None else control
    call = jax.ffi.ffi_call(_targets()[what], _results(shapes), vmap_method="broadcast_all")
    return call(state, control, *more, of=np.int64(of.core.number))


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _step(of: Any, *arguments: Any) -> jax.Array:
    return _stepped(of, 0, arguments[0].shape, *arguments)


@_step.defjvp
def _step_jvp(of: Any, primals: Any, tangents: Any) -> Any:
    batch = primals[0].shape[:-1]
    after, *jacobians = _stepped(of, 1, tuple((*batch, *shape) for shape in of.shapes), *primals)
    parts = [jnp.einsum("...ij,...j->...i", j, d) for j, d in zip(jacobians, tangents) if d is not None]
    return after, sum(parts)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _rollout(of: Any, *arguments: Any) -> jax.Array:
    return _called(of.value, (*arguments[0].shape[:-1], *of.shapes[0]), *arguments)


def _rollout_forward(of: Any, *arguments: Any) -> Any:
    values = _rollout(of, *arguments)
    return values, (*arguments, values)


def _rollout_backward(of: Any, kept: Any, by: Any) -> Any:
    given = [argument for argument in kept[:-1] if argument is not None]
    found = iter(_called(of.pullback, tuple(argument.shape for argument in given), *kept, by))
    return tuple(None if argument is None else next(found) for argument in kept[:-1])


_rollout.defvjp(_rollout_forward, _rollout_backward)
