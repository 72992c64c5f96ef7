"""Robots of public files against MuJoCo and Drake: the last two tables of public_models.md.

    python docs/public_robots.py isobar out.md --mujoco a.xml b.xml … --drake c.urdf d.sdf …

Needs numpy, mujoco and drake. A figure is the largest difference, over three random states, of all elements of one
kind, over the largest of these elements.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

rng = np.random.default_rng(20261130)


def isobar(command, path, state):
    """What `isobar model` prints of a state; of the zero state without one."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        arguments = []
        if state is not None:
            json.dump(state, file)
            file.flush()
            arguments = ["--state", file.name]
        packages = [a for p in packages_above(path) for a in ("--package-path", str(p))]
        found = subprocess.run(
            [command, "model", str(path), "--json", "--quiet", *packages, *arguments], capture_output=True, text=True
        )
    if found.returncode:
        raise RuntimeError(found.stderr.strip())
    return json.loads(found.stdout)


def packages_above(path):
    return [folder for folder in path.resolve().parents if (folder / "package.xml").exists()]


def largest(expected, found):
    expected, found = np.asarray(expected, float), np.asarray(found, float)
    if not expected.size:
        return 0.0
    return np.abs(expected - found).max() / max(np.abs(expected).max(), 1e-12)


class Mujoco:
    """A model of MuJoCo in isobar's coordinates."""

    def __init__(self, path):
        import mujoco

        self.mujoco = mujoco
        self.model = mujoco.MjModel.from_xml_path(str(path))
        self.data = mujoco.MjData(self.model)
        m, kinds = self.model, mujoco.mjtJoint
        self.wide = {int(kinds.mjJNT_FREE): 3, int(kinds.mjJNT_BALL): 0}
        self.mass = m.body_mass.sum()
        self.follows = {}
        for i in range(m.neq):
            if m.eq_type[i] == mujoco.mjtEq.mjEQ_JOINT and m.eq_active0[i]:
                own, leader = m.eq_obj1id[i], m.eq_obj2id[i]
                offset, factor = m.eq_data[i][:2]
                at, of = m.jnt_qposadr[own], m.jnt_qposadr[leader]
                self.follows[own] = (leader, factor, offset + m.qpos0[at] - factor * m.qpos0[of])
            elif m.eq_type[i] == mujoco.mjtEq.mjEQ_TENDON and m.eq_active0[i]:
                parts = slice(m.tendon_adr[m.eq_obj1id[i]], m.tendon_adr[m.eq_obj1id[i]] + 2)
                (leader, own), (of_leader, of_own) = m.wrap_objid[parts], m.wrap_prm[parts]
                at, of, factor = m.jnt_qposadr[own], m.jnt_qposadr[leader], -of_leader / of_own
                offset = m.eq_data[i][0] / of_own
                self.follows[own] = (leader, factor, offset + m.qpos0[at] - factor * m.qpos0[of])

    def state(self):
        m, d, q, columns = self.model, self.data, [], []
        flat = np.zeros(9)
        for joint, kind in enumerate(m.jnt_type):
            at, dof = m.jnt_qposadr[joint], m.jnt_dofadr[joint]
            if joint in self.follows:
                continue
            if int(kind) in self.wide:
                turn = rng.normal(size=4)
                turn /= np.linalg.norm(turn)
                place = rng.uniform(-1, 1, self.wide[int(kind)])
                d.qpos[at : at + len(place)] = place
                d.qpos[at + len(place) :][:4] = turn
                q += [*turn, *place]
                self.mujoco.mju_quat2Mat(flat, turn)
                # Angular velocity: of the child in its own axes there, in those of the parent here.
                for axis in flat.reshape(3, 3):
                    columns.append(np.zeros(m.nv))
                    columns[-1][dof + len(place) :][:3] = axis
                columns += [np.eye(m.nv)[dof + k] for k in range(len(place))]
            else:
                d.qpos[at] = rng.uniform(-1, 1)
                q.append(d.qpos[at])
                columns.append(np.eye(m.nv)[dof])
        # One that is followed may follow a third.
        for joint in sorted(self.follows):
            leader, factor, offset = self.follows[joint]
            d.qpos[m.jnt_qposadr[joint]] = factor * d.qpos[m.jnt_qposadr[leader]] + offset
            row = np.array(columns)[:, m.jnt_dofadr[leader]] * factor
            for column, ratio in zip(columns, row):
                column[m.jnt_dofadr[joint]] = ratio
        to = np.reshape(columns, (-1, m.nv)).T
        v, vdot = rng.uniform(-2, 2, to.shape[1]), rng.uniform(-3, 3, to.shape[1])
        self.to, self.v, self.vdot = to, v, vdot
        return {"q": q, "v": v.tolist(), "vdot": vdot.tolist()}

    def values(self):
        m, d = self.model, self.data

        def bias(gravity, velocity):
            m.opt.gravity[:] = [0, 0, -9.81 * gravity]
            # Forces of a fluid are not part of a mechanism.
            m.opt.density, m.opt.viscosity = 0, 0
            m.opt.disableflags = 0
            d.qvel[:] = velocity
            self.mujoco.mj_fwdPosition(m, d)
            self.mujoco.mj_fwdVelocity(m, d)
            return d.qfrc_bias.copy()

        coriolis = self.to.T @ bias(0, self.to @ self.v)
        gravity = -self.to.T @ bias(1, np.zeros(m.nv))
        full = np.zeros((m.nv, m.nv))
        self.mujoco.mj_fullM(m, d, full)
        mass = self.to.T @ full @ self.to
        poses = {
            m.body(i).name: (d.xmat[i].reshape(3, 3), d.xpos[i]) for i in range(1, m.nbody) if m.body(i).name
        }
        return mass, mass @ self.vdot + coriolis, gravity, poses


class Drake:
    """A plant of Drake in isobar's coordinates, of joints with one coordinate."""

    def __init__(self, path):
        from pydrake.multibody.parsing import Parser
        from pydrake.multibody.plant import MultibodyPlant

        # Without its scene graph, so that no mesh has to be there.
        self.plant = MultibodyPlant(0.0)
        parser = Parser(self.plant)
        for folder in packages_above(path):
            parser.package_map().AddPackageXml(str(folder / "package.xml"))
        (self.model,) = parser.AddModels(str(path))
        children = {self.plant.get_joint(j).child_body().index() for j in self.plant.GetJointIndices(self.model)}
        roots = [i for i in self.plant.GetBodyIndices(self.model) if i not in children]
        if roots:
            root = self.plant.get_body(roots[0]).body_frame()
            # Of an SDF file the model's frame is where the base is.
            own = self.plant.GetFrameByName("__model__", self.model) if path.suffix == ".sdf" else root
            self.plant.WeldFrames(self.plant.world_frame(), own)
        self.plant.Finalize()
        self.context = self.plant.CreateDefaultContext()

        self.mimics = {}
        # The prefix is declared nowhere.
        for joint in ElementTree.fromstring(path.read_text().replace("drake:", "")).iter("joint"):
            # Joints of continuous plants follow no others.
            for mimic in joint.iter("mimic"):
                factors = [float(mimic.get(key, usual)) for key, usual in (("multiplier", 1), ("offset", 0))]
                self.mimics[joint.get("name")] = (mimic.get("joint"), *factors)

    def order(self, joints):
        """Drake's coordinates of each of isobar's, and of what follows them."""
        n, plant = plant_size(self.plant), self.plant
        self.to, self.offset = np.zeros((n, len(joints))), np.zeros(n)
        for index in plant.GetJointIndices(self.model):
            joint = plant.get_joint(index)
            leader, factor, offset = self.mimics.get(joint.name(), (joint.name(), 1, 0))
            if joint.num_velocities() == 1:
                self.to[joint.velocity_start(), joints.index(leader)] = factor
                self.offset[joint.position_start()] = offset
            else:
                assert not joint.num_velocities(), f"joint {joint.name()} has {joint.num_velocities()} coordinates"

    def state(self):
        q, v, self.vdot = (rng.uniform(-a, a, self.to.shape[1]) for a in (1, 2, 3))
        self.plant.SetPositions(self.context, self.to @ q + self.offset)
        self.plant.SetVelocities(self.context, self.to @ v)
        return {"q": q.tolist(), "v": v.tolist(), "vdot": self.vdot.tolist()}

    def values(self):
        plant, context = self.plant, self.context
        mass = self.to.T @ plant.CalcMassMatrix(context) @ self.to
        inverse = mass @ self.vdot + self.to.T @ plant.CalcBiasTerm(context)
        gravity = self.to.T @ plant.CalcGravityGeneralizedForces(context)
        poses = {}
        for index in plant.GetBodyIndices(self.model):
            body = plant.get_body(index)
            x = plant.EvalBodyPoseInWorld(context, body)
            poses[body.name()] = (x.rotation().matrix(), x.translation())
        return mass, inverse, gravity, poses


def plant_size(plant):
    assert plant.num_positions() == plant.num_velocities(), "a joint has more coordinates than velocities"
    return plant.num_velocities()


def compare(command, path, reference):
    worst = np.zeros(4)
    if isinstance(reference, Drake):
        reference.order(isobar(command, path, None)["joints"])
    for _ in range(3):
        found = isobar(command, path, reference.state())
        mass, inverse, gravity, poses = reference.values()
        own = {name: (x["rotation_matrix"], x["translation"]) for name, x in found["body_poses"].items()}
        missing = set(poses) - set(own)
        assert not missing, f"no bodies {missing}"
        new = [
            largest(mass, found["mass_matrix"]),
            largest(inverse, found["inverse_dynamics_without_gravity"]),
            largest(gravity, found["gravity_generalized_force"]),
            max(largest(x, y) for name in poses for x, y in zip(poses[name], own[name])),
        ]
        worst = np.maximum(worst, new)
    return len(mass), worst


def table(command, paths, kind):
    lines = ["| robot | coordinates | mass matrix | inverse dynamics | gravity | poses |", "|---|---|---|---|---|---|"]
    for path in map(Path, paths):
        try:
            count, worst = compare(command, path, kind(path))
            row = f"| {path.parent.name}/{path.name} | {count} | " + " | ".join(f"{x:.1e}" for x in worst) + " |"
        except Exception as error:
            row = f"| {path.parent.name}/{path.name} | {str(error).splitlines()[0]} |"
        print(row, flush=True)
        lines.append(row)
    return lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("isobar")
    parser.add_argument("out", type=Path)
    parser.add_argument("--mujoco", nargs="*", default=[])
    parser.add_argument("--drake", nargs="*", default=[])
    given = parser.parse_args()
    lines = ["### MuJoCo", "", *table(given.isobar, given.mujoco, Mujoco), ""]
    lines += ["### Drake", "", *table(given.isobar, given.drake, Drake)]
    given.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
