"""Records throws of a foam ball in Drake's continuous hydroelastic model, for fit_drake.toml.

    pip install drake==1.51.1
    python3 examples/fit_ball/in_drake.py

writes examples/fit_ball/data/drake_0.csv to drake_3.csv: the ball is isobar's mesh of 320 tetrahedra, steps are `runge_kutta3` at an
accuracy of 1e-7. What it was recorded with is what the fit should find: 3e4 Pa, 0.6 s/m, 0.35.
"""

import importlib.util
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
spec = importlib.util.spec_from_file_location("scenes", HERE.parent / "work_precision/drake.py")
scenes = importlib.util.module_from_spec(spec)
spec.loader.exec_module(scenes)

import numpy as np
from pydrake.geometry import Box
from pydrake.multibody.math import SpatialVelocity
from pydrake.multibody.tree import UnitInertia
from pydrake.systems.analysis import ResetIntegratorFromFlags, Simulator

RADIUS, MASS = 0.05, 0.1
MATERIAL = {"dissipation": 0.6, "friction": 0.35}
# Roll, pitch, yaw; position; angular and linear velocity.
STARTS = [
    ((0, 0, 0), [0, 0, 0.08], [0, 0, 0, 1.5, 0, -0.8]),
    ((0.3, 0.2, 0.1), [0, 0, 0.07], [5, -20, 3, 0.5, 0.3, -1.2]),
    ((1, 0.5, 2), [0, 0, 0.1], [0, 30, 0, 0, 0, 0]),
    ((0.5, -0.4, 0.9), [0, 0, 0.06], [-10, 10, 40, -0.8, 0.6, -0.5]),
]
COLUMNS = "t_s,px_m,py_m,pz_m,qw,qx,qy,qz,vx_m_s,vy_m_s,vz_m_s,wx_rad_s,wy_rad_s,wz_rad_s"

for k, (rpy, position, velocity) in enumerate(STARTS):
    scene = scenes.Scene(0.0, stiction_velocity=1e-2)
    mesh = scenes.icosphere(RADIUS, 2)
    body = scene.body("ball", MASS, UnitInertia.SolidSphere(RADIUS), mesh, scenes.properties(3e4, **MATERIAL))
    scene.fixed("floor", [0, 0, -0.1], Box(6, 6, 0.2), scenes.properties(None, **MATERIAL))
    scene.finalize()
    plant = scene.plant
    simulator = Simulator(scene.builder.Build())
    context = simulator.get_mutable_context()
    of_plant = plant.GetMyMutableContextFromRoot(context)
    plant.SetFreeBodyPose(of_plant, body, scenes.pose(rpy, position))
    velocity = SpatialVelocity(np.array(velocity, float))
    plant.SetFreeBodySpatialVelocity(context=of_plant, body=body, V_JpJc=velocity)
    integrator = ResetIntegratorFromFlags(simulator, "runge_kutta3", 1e-3)
    integrator.set_fixed_step_mode(False)
    integrator.set_target_accuracy(1e-7)
    simulator.Initialize()
    rows = [COLUMNS]
    for i in range(101):
        simulator.AdvanceTo(5e-3 * i)
        pose = plant.EvalBodyPoseInWorld(of_plant, body)
        moves = plant.EvalBodySpatialVelocityInWorld(of_plant, body)
        numbers = [*pose.translation(), *pose.rotation().ToQuaternion().wxyz(), *moves.translational(), *moves.rotational()]
        rows.append(",".join([f"{5e-3 * i:.3f}"] + [f"{number:.9f}" for number in numbers]))
    (HERE / f"data/drake_{k}.csv").write_text("\n".join(rows) + "\n")
