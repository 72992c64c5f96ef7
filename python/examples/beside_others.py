"""One gripper in isobar, Drake and MuJoCo: what a step, its derivatives and the gradient of a motion cost, and how right they are.

    pip install ./python drake mujoco mujoco-mjx
    python python/examples/beside_others.py

Two fingers lift a ball from a table: `examples/grasp_lift/gripper.toml`, on a rigid table, as Drake has no compliant half-space
under compliant bodies. Those that are not installed are left out. Each is looked at in the midst of its own lift, the ball off the
middle. Derivatives are by positions of the ball and of the joints, all velocities, and commands, those of a motion by the
commands of 100 steps, of which ten are looked at. They are held against central differences of two sizes, where these agree within
1e-4 of the largest; what is off by more than 1e-3 of it is counted.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("RAYON_NUM_THREADS", "1")

import time
import warnings
from pathlib import Path

import numpy as np

H, SETTLED, STEPS = 2e-3, 350, 100  # s per step, steps until the lift is looked at, steps of a motion
OFF = np.array([0.002, 0.003, 0.035])  # where the ball stands, m
FORCE = 6.0  # of each finger, N
SCENE = Path(__file__).resolve().parents[2] / "examples/grasp_lift/gripper.toml"


def commands(t):
    """Height of the palm (m) and force of each finger (N)."""
    return 0.1 * min(max((t - 0.4) / 0.6, 0.0), 1.0), 1.0 + (FORCE - 1.0) * min(t / 0.3, 1.0)


class Isobar:
    """Lagged, as `kind` in the file has it."""

    label = "isobar"

    def __init__(self):
        import isobar

        text = SCENE.read_text().replace("shape = { half_space = { thickness = 0.1 } }", "shape = { half_space = {} }\nrigid = true")
        self.scene = scene = isobar.Scene.parse(text.replace("translation = [0, 0, 0.035]", f"translation = {OFF.tolist()}"))
        controls = np.array([commands(k * H) for k in range(SETTLED)])
        self.state = scene.rollout(SETTLED * H, controls=controls).final
        self.control = np.array(commands(SETTLED * H))
        # Numbers of the state, and the directions that they are.
        numbers = ["ball.p" + x + "_m" for x in "xyz"] + [f"{j}.q" for j in ("lift", "left", "right")]
        numbers += [f"ball.v{x}_m_s" for x in "xyz"] + [f"ball.w{x}_rad_s" for x in "xyz"]
        numbers += [f"{j}.v" for j in ("lift", "left", "right")]
        strip = lambda name: name.removesuffix("_m_s").removesuffix("_rad_s").removesuffix("_m")
        self.numbers = numbers
        self.rows = [scene.tangent_names.index(strip(name)) for name in numbers]

    def step(self, move=None):
        state, control = self.state, self.control
        if move is not None:
            state, control = state.copy(), control + move[len(self.numbers) :]
            for name, by in zip(self.numbers, move):
                state[name] += by
        after = self.scene.step(state, control)
        return np.array([after[name] for name in self.numbers])

    def jacobian(self):
        found = self.scene.step_jacobian(self.state, self.control)
        return np.hstack([found.by_state[np.ix_(self.rows, self.rows)], found.by_control[self.rows]])

    def _motion(self, controls):
        return self.scene.rollout(STEPS * H, controls=controls, state=self.state)

    def height(self, controls):
        return self._motion(controls).final["ball.pz_m"]

    def gradient(self, controls):
        return self._motion(controls).gradient({"ball.pz_m": 1.0}).by_controls


class Drake:
    """Lagged, and derivatives by AutoDiffXd. A motion is differentiated by the Jacobians of its steps."""

    label = "Drake"

    def __init__(self):
        import pydrake.all as drake

        self.drake = drake
        self.plant, self.diagram = self._build()
        self.context = self.diagram.CreateDefaultContext()
        self.inner = self.plant.GetMyMutableContextFromRoot(self.context)
        self.plant.SetFreeBodyPose(self.inner, self.plant.GetBodyByName("ball"), drake.RigidTransform(OFF))
        x = self.plant.GetPositionsAndVelocities(self.inner)
        for k in range(SETTLED):
            x = self._after(x, np.array(commands(k * H)))
        self.x, self.control = x, np.array(commands(SETTLED * H))
        # Positions of the palm, the fingers and the ball, without its quaternion; all velocities.
        self.kept = [0, 1, 2, 7, 8, 9] + list(range(10, 19))
        self.dual = self.diagram.ToAutoDiffXd()
        self.dual_plant = self.dual.GetSubsystemByName(self.plant.get_name())
        self.dual_context = self.dual.CreateDefaultContext()

    def _build(self):
        d = self.drake

        def material(stiffness, mu, hint):
            of = d.ProximityProperties()
            if stiffness is None:
                d.AddRigidHydroelasticProperties(1.0, of)
            else:
                d.AddCompliantHydroelasticProperties(hint, stiffness, of)
            d.AddContactMaterial(properties=of, dissipation=2.0, friction=d.CoulombFriction(mu, mu))
            return of

        builder = d.DiagramBuilder()
        plant, _ = d.AddMultibodyPlantSceneGraph(builder, H)
        plant.set_contact_model(d.ContactModel.kHydroelastic)
        plant.set_discrete_contact_approximation(d.DiscreteContactApproximation.kLagged)
        world = plant.world_body()
        plant.RegisterCollisionGeometry(world, d.RigidTransform(), d.HalfSpace(), "table", material(None, 0.5, 1.0))
        ball = plant.AddRigidBody("ball", d.SpatialInertia(0.2, np.zeros(3), d.UnitInertia.SolidSphere(0.035)))
        plant.RegisterCollisionGeometry(ball, d.RigidTransform(), d.Sphere(0.035), "ball", material(1e6, 0.8, 0.012))
        palm = plant.AddRigidBody("palm", d.SpatialInertia(0.4, np.zeros(3), d.UnitInertia(1e-3, 2e-3, 2e-3)))

        def slide(name, parent, at, child, axis, damping, limits):
            frame = plant.AddFrame(d.FixedOffsetFrame(name + " at", parent.body_frame(), d.RigidTransform(at)))
            joint = plant.AddJoint(d.PrismaticJoint(name, frame, child.body_frame(), axis, *limits, damping=damping))
            return plant.AddJointActuator(name, joint)

        lift = slide("lift", world, [0, 0, 0.12], palm, [0, 0, 1], 5.0, (-0.02, 0.3))
        lift.set_controller_gains(d.PdControllerGains(p=8000, d=200))
        for side, name in ((-1, "left"), (1, "right")):
            finger = plant.AddRigidBody(name, d.SpatialInertia(0.1, np.zeros(3), d.UnitInertia.SolidBox(0.02, 0.04, 0.05)))
            plant.RegisterCollisionGeometry(finger, d.RigidTransform(), d.Box(0.02, 0.04, 0.05), name, material(2e5, 0.8, 0.03))
            slide(name, palm, [side * 0.06, 0, -0.085], finger, [-side, 0, 0], 2.0, (0.0, 0.045))
        # Otherwise its discrete update is no function of the state.
        plant.SetUseSampledOutputPorts(False)
        plant.Finalize()
        builder.ExportInput(plant.get_actuation_input_port())
        builder.ExportInput(plant.get_desired_state_input_port(d.default_model_instance()))
        return plant, builder.Build()

    def _set(self, diagram, context, plant, x, control, zero):
        plant.SetPositionsAndVelocities(plant.GetMyMutableContextFromRoot(context), x)
        diagram.get_input_port(0).FixValue(context, np.array([zero, control[1], control[1]]))
        diagram.get_input_port(1).FixValue(context, np.array([control[0]] + [zero] * 5))
        return diagram.EvalUniquePeriodicDiscreteUpdate(context).get_vector(0).value()

    def _after(self, x, control):
        return self._set(self.diagram, self.context, self.plant, x, control, 0.0).copy()

    def _jacobian(self, x, control):
        AutoDiffXd, values = self.drake.AutoDiffXd, self.drake.InitializeAutoDiff(np.concatenate([x, control])).flatten()
        after = self._set(self.dual, self.dual_context, self.dual_plant, values[: len(x)], values[len(x) :], AutoDiffXd(0.0))
        return self.drake.ExtractValue(after).flatten(), self.drake.ExtractGradient(after)

    def step(self, move=None):
        x, control = self.x, self.control
        if move is not None:
            x, control = x.copy(), control + move[len(self.kept) :]
            x[self.kept] += move[: len(self.kept)]
        return self._after(x, control)[self.kept]

    def jacobian(self):
        return self._jacobian(self.x, self.control)[1][np.ix_(self.kept, self.kept + [19, 20])]

    def height(self, controls):
        x = self.x
        for control in controls:
            x = self._after(x, control)
        return x[9]

    def gradient(self, controls):
        x, steps = self.x, []
        for control in controls:
            x, by = self._jacobian(x, control)
            steps.append(by)
        return backward(steps, np.eye(19)[9])


class MuJoCo:
    """Points of contact, and derivatives by `mjd_transitionFD` (central differences, which are themselves the derivatives)."""

    label = "MuJoCo"

    def __init__(self):
        import mujoco

        self.mujoco = mujoco
        finger = '<geom type="box" size=".01 .02 .025" mass=".1"/>'
        self.model = mujoco.MjModel.from_xml_string(f"""
<mujoco><option timestep="{H}" cone="elliptic" integrator="implicitfast"/>
<default><geom condim="4" friction="0.8 0.005 0.0001"/></default>
<worldbody><geom type="plane" size="1 1 .1" friction="0.5 0.005 0.0001"/>
<body name="ball" pos="{OFF[0]} {OFF[1]} {OFF[2]}"><freejoint/><geom type="sphere" size=".035" mass=".2"/></body>
<body name="palm" pos="0 0 .12"><inertial pos="0 0 0" mass=".4" diaginertia="4e-4 8e-4 8e-4"/>
<joint name="lift" type="slide" axis="0 0 1" damping="5"/>
<body pos="-.06 0 -.085"><joint name="l" type="slide" axis="1 0 0" damping="2" limited="true" range="0 .045"/>{finger}</body>
<body pos=".06 0 -.085"><joint name="r" type="slide" axis="-1 0 0" damping="2" limited="true" range="0 .045"/>{finger}</body>
</body></worldbody>
<actuator><position joint="lift" kp="8000" kv="200"/><motor joint="l"/><motor joint="r"/></actuator></mujoco>""")
        self.data = mujoco.MjData(self.model)
        for k in range(SETTLED):
            self._step(np.array(commands(k * H)))
        self.control = np.array(commands(SETTLED * H))
        self.state = self._get()
        # Positions of the ball and of the joints, without the quaternion; all velocities. The same as directions.
        self.kept = [0, 1, 2, 7, 8, 9] + list(range(10, 19))
        self.rows = [0, 1, 2, 6, 7, 8] + list(range(9, 18))

    def _step(self, control):
        self.data.ctrl[:] = [control[0], control[1], control[1]]
        self.mujoco.mj_step(self.model, self.data)

    def _get(self):
        return np.concatenate([self.data.qpos, self.data.qvel]), self.data.qacc_warmstart.copy()

    def _set(self, state):
        (x, warm) = state
        self.data.qpos[:], self.data.qvel[:], self.data.qacc_warmstart[:] = x[:10], x[10:], warm

    def _jacobian(self, control):
        a, b = np.zeros((18, 18)), np.zeros((18, 3))
        self.data.ctrl[:] = [control[0], control[1], control[1]]
        self.mujoco.mjd_transitionFD(self.model, self.data, 1e-6, 1, a, b, None, None)
        return np.hstack([a, b[:, :1], b[:, 1:2] + b[:, 2:]])

    def step(self, move=None):
        x, warm = self.state
        control = self.control
        if move is not None:
            x, control = x.copy(), control + move[len(self.kept) :]
            x[self.kept] += move[: len(self.kept)]
        self._set((x, warm))
        self._step(control)
        return self._get()[0][self.kept]

    def jacobian(self):
        self._set(self.state)
        return self._jacobian(self.control)[np.ix_(self.rows, self.rows + [18, 19])]

    def height(self, controls):
        self._set(self.state)
        for control in controls:
            self._step(control)
        return self.data.qpos[2]

    def gradient(self, controls):
        self._set(self.state)
        steps = []
        for control in controls:
            steps.append(self._jacobian(control))
            self._step(control)
        return backward(steps, np.eye(18)[2])


class Mjx(MuJoCo):
    """The same in JAX, and derivatives forward through it: compiled in two minutes, and for accelerators rather than one core."""

    label = "MJX"

    def __init__(self):
        import jax
        from mujoco import mjx

        jax.config.update("jax_enable_x64", True)
        super().__init__()
        self._set(self.state)
        model, data = mjx.put_model(self.model), mjx.put_data(self.model, self.data)

        def step(x, control):
            ctrl = jax.numpy.array([control[0], control[1], control[1]])
            after = mjx.step(model, data.replace(qpos=x[:10], qvel=x[10:], ctrl=ctrl))
            return jax.numpy.concatenate([after.qpos, after.qvel])

        self._after, self._derivatives = jax.jit(step), jax.jit(jax.jacfwd(step, (0, 1)))

    def step(self, move=None):
        x, control = self.state[0], self.control
        if move is not None:
            x, control = x.copy(), control + move[len(self.kept) :]
            x[self.kept] += move[: len(self.kept)]
        return np.asarray(self._after(x, control))[self.kept]

    def jacobian(self):
        return np.hstack(self._derivatives(self.state[0], self.control))[np.ix_(self.kept, self.kept + [19, 20])]

    def height(self, controls):
        x = self.state[0]
        for control in controls:
            x = self._after(x, control)
        return float(x[2])

    def gradient(self, controls):
        x, steps = self.state[0], []
        for control in controls:
            steps.append(np.hstack(self._derivatives(x, control)))
            x = self._after(x, control)
        return backward(steps, np.eye(19)[2])


def backward(steps, by):
    """The gradient by all controls, from the Jacobians of steps by state and control."""
    rows = []
    for step in reversed(steps):
        n = len(by)
        rows.append(by @ step[:, n:])
        by = by @ step[:, :n]
    return np.array(rows[::-1])


def timed(work, least=0.3):
    """Processor time of a call, s: the least of five means."""
    means, count = [], 1
    work()
    while True:
        begin = time.process_time()
        for _ in range(count):
            work()
        spent = time.process_time() - begin
        if spent > least / 5 or count * spent > 20 * least:
            means.append(spent / count)
            if len(means) == 5 or spent > 5 * least:
                return min(means)
        else:
            count *= 2


def errors(claimed, function, count, sizes):
    """How many columns are off by more than 1e-3 of their largest derivative, of how many that differences know, and the worst."""
    found = []
    for k in range(count):
        at = []
        for part in (1.0, 0.1):
            move = np.zeros(count)
            move[k] = part * sizes[k]
            at.append((np.asarray(function(move)) - np.asarray(function(-move))) / (2 * part * sizes[k]))
        largest = np.abs(at[1]).max()
        if largest > 1e-12 and np.abs(at[0] - at[1]).max() < 1e-4 * largest:
            found.append(np.abs(claimed[..., k] - at[1]).max() / largest)
    # What is not a number is off.
    return f"{sum(not error < 1e-3 for error in found)} of {len(found)}, {np.max(found, initial=0.0):.0e}"


def main():
    warnings.simplefilter("ignore")
    print("| | a step, µs | with its Jacobian, µs | columns off, worst | gradient of 100 steps, ms | over 100 steps | numbers off, worst |")
    print("|---|---|---|---|---|---|---|")
    for kind in (Isobar, Drake, MuJoCo, Mjx):
        try:
            world = kind()
        except ImportError as missing:
            print(f"| {kind.label} | {missing} |")
            continue
        controls = np.tile(world.control, (STEPS, 1))
        # Positions and commands 1e-5, velocities 1e-4, forces 1e-3.
        sizes = [1e-5] * 6 + [1e-4] * 9 + [1e-5, 1e-3]
        off = errors(world.jacobian(), world.step, 17, sizes)
        chosen = [(step, k) for step in range(5, STEPS, 19) for k in range(2)]

        def moved(move):
            changed = controls.copy()
            for (step, k), by in zip(chosen, move):
                changed[step, k] += by
            return [world.height(changed)]

        gradient = world.gradient(controls)
        of_chosen = np.array([[gradient[place] for place in chosen]])
        off_motion = errors(of_chosen, moved, len(chosen), [[1e-4, 1e-2][k] for _, k in chosen])
        step, jacobian = timed(world.step), timed(world.jacobian)
        motion, whole = timed(lambda: world.height(controls)), timed(lambda: world.gradient(controls))
        print(
            f"| {kind.label} | {1e6 * step:.1f} | {1e6 * jacobian:.1f} | {off} | {1e3 * whole:.2f} "
            f"| {whole / motion:.1f} | {off_motion} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
