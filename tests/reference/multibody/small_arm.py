"""Makes small_arm.json from small_arm.urdf: mass matrices, forces and poses by Drake.

    pip install drake==1.51.1 && python small_arm.py
"""

import json
from pathlib import Path

import numpy as np
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant

here = Path(__file__).parent
plant = MultibodyPlant(0.0)
Parser(plant).AddModels(str(here / "small_arm.urdf"))
plant.WeldFrames(plant.world_frame(), plant.GetFrameByName("pedestal"))
plant.Finalize()
context = plant.CreateDefaultContext()
joints = [plant.get_joint(i) for i in plant.GetJointIndices()]
joints = [j for j in joints if j.num_velocities() == 1]
joints.sort(key=lambda j: j.velocity_start())
assert [j.velocity_start() for j in joints] == list(range(plant.num_velocities()))
rng = np.random.default_rng(20261122)
states = []
for _ in range(6):
    q, v, vdot = (rng.uniform(-1, 1, plant.num_velocities()) * s for s in (1.0, 2.0, 3.0))
    plant.SetPositions(context, q)
    plant.SetVelocities(context, v)
    mass_matrix = plant.CalcMassMatrix(context)
    bias = plant.CalcBiasTerm(context)
    bodies = [plant.get_body(i) for i in plant.GetBodyIndices(plant.GetModelInstanceByName("small_arm"))]
    poses = {b.name(): plant.EvalBodyPoseInWorld(context, b) for b in bodies}
    states.append(
        {
            "q": q.tolist(),
            "v": v.tolist(),
            "vdot": vdot.tolist(),
            "mass_matrix": mass_matrix.tolist(),
            "bias": bias.tolist(),
            "gravity_generalized_force": plant.CalcGravityGeneralizedForces(context).tolist(),
            "inverse_dynamics_without_gravity": (mass_matrix @ vdot + bias).tolist(),
            "kinetic_energy": plant.CalcKineticEnergy(context),
            "body_poses": {
                name: {"R": x.rotation().matrix().tolist(), "p": x.translation().tolist()}
                for name, x in poses.items()
            },
        }
    )
out = {
    "source": "Drake 1.51.1, small_arm.urdf, base welded to the world; made by small_arm.py",
    "gravity": [0, 0, -9.81],
    "joint_order": [j.name() for j in joints],
    "total_mass": plant.CalcTotalMass(context),
    "states": states,
    "notes": "inverse_dynamics_without_gravity = M vdot + C(q,v)v; gravity_generalized_force = tau_g with "
    "M vdot + C v = tau_g + tau",
}
(here / "small_arm.json").write_text(json.dumps(out, indent=1) + "\n")
