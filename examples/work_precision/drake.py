"""Work and precision of Drake's error-controlled integrators in two scenes of main.rs.

    pip install drake==1.51.1
    python3 examples/work_precision/drake.py > drake.csv
    cargo run --release --example work_precision -- docs drake.csv

Rows: scene, integrator, accuracy, error of the bodies' positions at the end (m) against Drake's own third-order
Runge-Kutta integrator at an accuracy of 1e-7, and seconds of computing a second, the least of three runs.
"""

import time
import warnings

import numpy as np
from pydrake.geometry import (
    AddCompliantHydroelasticProperties,
    AddContactMaterial,
    Box,
    ProximityProperties,
    Sphere,
)
from pydrake.math import RigidTransform, RollPitchYaw
from pydrake.multibody.math import SpatialVelocity
from pydrake.multibody.plant import AddMultibodyPlantSceneGraph, ContactModel, CoulombFriction
from pydrake.multibody.tree import PrismaticJoint, SpatialInertia, UnitInertia
from pydrake.systems.analysis import ResetIntegratorFromFlags, Simulator
from pydrake.systems.framework import DiagramBuilder

warnings.simplefilter("ignore")
LONGEST = 0.01


def properties(modulus, resolution):
    p = ProximityProperties()
    AddCompliantHydroelasticProperties(resolution, modulus, p)
    AddContactMaterial(properties=p, dissipation=1.25, friction=CoulombFriction(0.8, 0.8))
    return p


def pose(rpy, position):
    return RigidTransform(RollPitchYaw(*rpy), position)


def ball():
    """A ball of 128 tetrahedra that is dropped, turning, onto a box."""
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.0)
    radius, mass = 0.05, 0.5
    inertia = SpatialInertia(mass, np.zeros(3), UnitInertia.SolidSphere(radius))
    body = plant.AddRigidBody("ball", inertia)
    plant.RegisterCollisionGeometry(body, RigidTransform(), Sphere(radius), "ball", properties(1e5, 0.035))
    box = Box(0.6, 0.6, 0.1)
    below = RigidTransform([0, 0, -0.05])
    plant.RegisterCollisionGeometry(plant.world_body(), below, box, "box", properties(1e6, 0.1))
    plant.set_contact_model(ContactModel.kHydroelastic)
    plant.Finalize()

    def start(context):
        plant.SetFreeBodyPose(context, body, pose((0.3, 0.2, 0.1), [0, 0, radius - 0.003]))
        velocity = SpatialVelocity(np.array([0, 1.0, 0, 0.05, 0, 0.0]))
        plant.SetFreeBodySpatialVelocity(context=context, body=body, V_JpJc=velocity)

    return builder.Build(), plant, start, 0.5


def gripper():
    """Two fingers on prismatic joints that squeeze a ball."""
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.0)
    radius = 0.04
    body = plant.AddRigidBody("ball", SpatialInertia(0.2, np.zeros(3), UnitInertia.SolidSphere(radius)))
    plant.RegisterCollisionGeometry(body, RigidTransform(), Sphere(radius), "ball", properties(2e5, 0.028))
    for i in range(2):
        inertia = SpatialInertia(0.1, np.zeros(3), UnitInertia.SolidBox(0.02, 0.06, 0.06))
        finger = plant.AddRigidBody(f"finger{i}", inertia)
        box = Box(0.02, 0.06, 0.06)
        plant.RegisterCollisionGeometry(finger, RigidTransform(), box, f"finger{i}", properties(5e5, 0.03))
        joint = PrismaticJoint(f"guide{i}", plant.world_frame(), finger.body_frame(), [1, 0, 0], damping=2.0)
        plant.AddJointActuator(f"drive{i}", plant.AddJoint(joint))
    plant.set_contact_model(ContactModel.kHydroelastic)
    plant.Finalize()

    def start(context):
        plant.SetFreeBodyPose(context, body, pose((0.1, 0.05, 0.2), [0, 0, 0]))
        for i, side in enumerate((-1, 1)):
            plant.GetJointByName(f"guide{i}").set_translation(context, side * (radius + 0.01 - 0.0015))
        plant.get_actuation_input_port().FixValue(context, np.array([15.0, -15.0]))

    return builder.Build(), plant, start, 0.2


def run(case, integrator, accuracy):
    """The positions of the bodies at the end, and the seconds that it took."""
    diagram, plant, start, until = case
    simulator = Simulator(diagram)
    start(plant.GetMyMutableContextFromRoot(simulator.get_mutable_context()))
    ResetIntegratorFromFlags(simulator, integrator, LONGEST)
    simulator.get_mutable_integrator().set_target_accuracy(accuracy)
    simulator.Initialize()
    begin = time.perf_counter()
    simulator.AdvanceTo(until)
    seconds = time.perf_counter() - begin
    context = plant.GetMyContextFromRoot(simulator.get_context())
    bodies = [plant.get_body(i) for i in plant.GetBodyIndices(plant.GetModelInstanceByName("DefaultModelInstance"))]
    return [plant.EvalBodyPoseInWorld(context, b).translation() for b in bodies], seconds


print("scene,integrator,accuracy,error,seconds")
for name, make in (("ball", ball), ("gripper with ball", gripper)):
    case = make()
    reference, _ = run(case, "runge_kutta3", 1e-7 if name == "ball" else 1e-5)
    for integrator, accuracies in (
        ("cenic", (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7)),
        ("radau3", (1e-2, 1e-3)),
        ("runge_kutta3", (1e-2, 1e-3)),
    ):
        for accuracy in accuracies:
            times = []
            for _ in range(3):
                end, seconds = run(case, integrator, accuracy)
                times.append(seconds)
                if seconds > 2.0:
                    break
            error = max(np.linalg.norm(a - b) for a, b in zip(end, reference))
            print(f"{name},{integrator},{accuracy:g},{error:.3e},{min(times) / case[3]:.4g}", flush=True)
