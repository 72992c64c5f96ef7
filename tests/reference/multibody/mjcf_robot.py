"""Makes mjcf_robot.json from mjcf_robot.xml: mass matrices, forces and poses by MuJoCo.

    pip install mujoco==4.0.0 && python mjcf_robot.py
"""

import json
from pathlib import Path

import mujoco
import numpy as np

here = Path(__file__).parent
model = mujoco.MjModel.from_xml_path(str(here / "mjcf_robot.xml"))
data = mujoco.MjData(model)
rng = np.random.default_rng(20261129)
FREE, BALL = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_BALL)
names = [model.joint(i).name for i in range(model.njnt)]
# The one joint that follows: right - ref = 0.01 - 0.5 left.
LEADER, FOLLOWER, FACTOR = names.index("left"), names.index("right"), -0.5
OFFSET = 0.01 + model.qpos0[model.jnt_qposadr[FOLLOWER]]


def rotation(quaternion):
    flat = np.zeros(9)
    mujoco.mju_quat2Mat(flat, quaternion)
    return flat.reshape(3, 3)


def drawn():
    """A state: isobar's q and v, and the matrix of MuJoCo's velocities over isobar's."""
    q, columns = [], []
    for joint, kind in enumerate(model.jnt_type):
        at, dof = model.jnt_qposadr[joint], model.jnt_dofadr[joint]
        if joint == FOLLOWER:
            data.qpos[at] = FACTOR * data.qpos[model.jnt_qposadr[LEADER]] + OFFSET
            columns[-1][dof] = FACTOR
        elif kind in (FREE, BALL):
            turn = rng.normal(size=4)
            turn /= np.linalg.norm(turn)
            place = rng.uniform(-1, 1, 3) if kind == FREE else []
            data.qpos[at : at + len(place)] = place
            data.qpos[at + len(place) :][:4] = turn
            q += [*turn, *place]
            # Angular velocity: of the child in its own axes there, in those of the parent here.
            for axis in rotation(turn):
                columns.append(np.zeros(model.nv))
                columns[-1][dof + len(place) :][:3] = axis
            for k in range(len(place)):
                columns.append(np.eye(model.nv)[dof + k])
        else:
            data.qpos[at] = rng.uniform(-1, 1)
            q.append(data.qpos[at])
            columns.append(np.eye(model.nv)[dof])
    return q, np.array(columns).T


def bias(gravity, velocity):
    model.opt.gravity[:] = [0, 0, -9.81 * gravity]
    data.qvel[:] = velocity
    mujoco.mj_fwdPosition(model, data)
    mujoco.mj_fwdVelocity(model, data)
    return data.qfrc_bias.copy()


states = []
for _ in range(6):
    q, to_mujoco = drawn()
    v, vdot = rng.uniform(-2, 2, to_mujoco.shape[1]), rng.uniform(-3, 3, to_mujoco.shape[1])
    coriolis = to_mujoco.T @ bias(0, to_mujoco @ v)
    gravity = -to_mujoco.T @ bias(1, np.zeros(model.nv))
    full = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, full)
    mass_matrix = to_mujoco.T @ full @ to_mujoco
    states.append(
        {
            "q": q,
            "v": v.tolist(),
            "vdot": vdot.tolist(),
            "mass_matrix": mass_matrix.tolist(),
            "bias": coriolis.tolist(),
            "gravity_generalized_force": gravity.tolist(),
            "inverse_dynamics_without_gravity": (mass_matrix @ vdot + coriolis).tolist(),
            "kinetic_energy": v @ mass_matrix @ v / 2,
            "body_poses": {
                model.body(i).name: {"R": data.xmat[i].reshape(3, 3).tolist(), "p": data.xpos[i].tolist()}
                for i in range(1, model.nbody)
            },
        }
    )
out = {
    "source": f"MuJoCo {mujoco.__version__}, mjcf_robot.xml; made by mjcf_robot.py",
    "gravity": [0, 0, -9.81],
    "joint_order": names,
    "total_mass": model.body_mass.sum(),
    "states": states,
    "notes": "inverse_dynamics_without_gravity = M vdot + C(q,v)v; gravity_generalized_force = tau_g with "
    "M vdot + C v = tau_g + tau",
}
(here / "mjcf_robot.json").write_text(json.dumps(out) + "\n")
