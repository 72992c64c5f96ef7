//! All the forces on free bodies, links and joints, gravity aside.

use rayon::prelude::*;

use super::applied_forces::ForcesIn;
use super::force_values::Forces;
use crate::contact::Workspace;
use crate::multibody::contact::contact_forces::{StepStart, pair_wrench, shares};
use crate::multibody::tree::JointState;
use crate::multibody::{BodyFrame, BroadPhase, FoundSurfaces, JointKinematics, Model, PairWorkspace, State};
use crate::scalar::Scalar;
use crate::spatial::SpatialForce;

/// Memory that the evaluation of forces reuses from one step to the next.
#[derive(Debug)]
pub struct ForceWorkspace<T = f64> {
    frames: Vec<BodyFrame<T>>,
    /// The index among the moving bodies of every body that moves.
    moving: Vec<Option<usize>>,
    pub(crate) joints: JointKinematics<T>,
    /// Which pairs may touch.
    broad_phase: BroadPhase,
    /// Wrench of every pair that may touch, before they are summed.
    wrenches: Vec<Option<SpatialForce<T>>>,
    /// Scratch of the contact queries.
    contact: PairWorkspace,
    /// Where the contact surfaces of these pairs lie.
    pub(crate) surfaces: FoundSurfaces,
    /// The start of the step.
    start: StepStart<T>,
    /// The sum.
    forces: Forces<T>,
}

impl<T> Default for ForceWorkspace<T> {
    fn default() -> Self {
        Self {
            frames: Vec::new(),
            moving: Vec::new(),
            joints: JointKinematics::default(),
            broad_phase: BroadPhase::default(),
            wrenches: Vec::new(),
            contact: PairWorkspace::default(),
            surfaces: FoundSurfaces::default(),
            start: StepStart::default(),
            forces: Forces::default(),
        }
    }
}

impl<T: Scalar> ForceWorkspace<T> {
    /// The forces that are evaluated next are within a step from this state, of this length in s.
    pub(crate) fn start_step(&mut self, model: &Model<T>, state: &State<T>, length: f64) {
        let Self { start, joints, .. } = self;
        start.frames.clear();
        if !model.rigid_pairs.is_empty() {
            start.length = length;
            model.update_frames(state, &mut start.frames, joints);
        }
    }

    /// The pairs of geometries that touched at the last evaluation, with the magnitude of the force
    /// between them in N.
    pub(crate) fn contact_loads(&self) -> impl Iterator<Item = (usize, f64)> {
        let pairs = self.broad_phase.found().iter().zip(&self.wrenches);
        pairs.filter_map(|(&pair, wrench)| Some((pair, wrench.as_ref()?.real().translational.norm())))
    }
}

impl<T: Scalar> Model<T> {
    /// Adds to `forces`, one for each moving body (see [`Model::moving_index`]), about its origin and
    /// in W, what contact exerts.
    ///
    /// If there are many pairs, several threads evaluate them. The forces are summed in the order of
    /// [`Model::pairs`], so the result has the same bits for any number of threads.
    pub fn add_contact_forces(
        &self,
        state: &State<T>,
        workspace: &mut ForceWorkspace<T>,
        forces: &mut [SpatialForce<T>],
    ) {
        let ForceWorkspace {
            frames, broad_phase, wrenches, contact, surfaces, moving, joints, start, ..
        } = workspace;
        self.update_frames(state, frames, joints);
        self.moving_indices(moving);
        wrenches.clear();
        let candidates = broad_phase.with_rigid_pairs(self, frames);
        wrenches.resize(candidates.len(), None);
        let at = (&frames[..], &*start);
        let wrench = |pair: usize, scratch: &mut Workspace, found: &mut FoundSurfaces| {
            let of = &self.pairs[pair];
            let wrench = pair_wrench(self, at, of, scratch.of_pair(of.number()), None);
            let has_surface = wrench.is_some() && !self.is_rigid_pair(of);
            found.push(if has_surface { scratch.found() } else { &[] });
            wrench
        };
        let (threads, share) = shares(candidates.len());
        let (scratch, found) = contact.of_recording_threads(threads);
        surfaces.clear();
        if threads == 1 {
            for (&pair, out) in candidates.iter().zip(wrenches.iter_mut()) {
                *out = wrench(pair, &mut scratch[0], surfaces);
            }
        } else {
            let shares = candidates.par_chunks(share).zip(wrenches.par_chunks_mut(share));
            let memory = scratch.par_iter_mut().zip(found.par_iter_mut());
            shares.zip(memory).for_each(|((pairs, out), (scratch, found))| {
                for (&pair, out) in pairs.iter().zip(out) {
                    *out = wrench(pair, scratch, found);
                }
            });
            found.iter().for_each(|found| surfaces.append(found));
        }
        for (&pair, wrench) in candidates.iter().zip(&*wrenches) {
            let pair = &self.pairs[pair];
            let Some(on_a) = wrench else { continue };
            let (a, b) = (pair.bodies.a, pair.bodies.b);
            if let Some(i) = moving[a] {
                forces[i] += *on_a;
            }
            if let Some(i) = moving[b] {
                let to_b = frames[b].pose.translation - frames[a].pose.translation;
                forces[i] += -on_a.shifted(&to_b);
            }
        }
    }
}

/// The forces from contact, actuators under their commands (which come first in `control`),
/// stops, loads, and the user, without gravity, and without the joints' own damping and springs.
///
/// It leaves the kinematics of the joints in the workspace.
pub(crate) fn total_forces<'w, T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    time: f64,
    applied: &dyn ForcesIn<T>,
    control: &[T],
    workspace: &'w mut ForceWorkspace<T>,
) -> (&'w Forces<T>, &'w mut JointKinematics<T>) {
    let mut forces = std::mem::take(&mut workspace.forces);
    forces.reset(model);
    model.add_contact_forces(state, workspace, &mut forces.bodies);
    let (commands, control) = control.split_at(model.command_dimension());
    add_drives_and_applied(model, state, time, applied, commands, control, &mut forces);
    workspace.forces = forces;
    (&workspace.forces, &mut workspace.joints)
}

/// [`total_forces`] without those of contact.
pub(crate) fn forces_without_contact<'w, T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    time: f64,
    applied: &dyn ForcesIn<T>,
    control: &[T],
    workspace: &'w mut ForceWorkspace<T>,
) -> &'w Forces<T> {
    let (commands, control) = control.split_at(model.command_dimension());
    workspace.forces.reset(model);
    add_drives_and_applied(model, state, time, applied, commands, control, &mut workspace.forces);
    &workspace.forces
}

/// Adds the forces of actuators, stops, loads and the user.
pub(crate) fn add_drives_and_applied<T: Scalar>(
    model: &Model<T>,
    state: &State<T>,
    time: f64,
    applied: &dyn ForcesIn<T>,
    commands: &[T],
    control: &[T],
    forces: &mut Forces<T>,
) {
    let JointState { q, v, .. } = &state.joints;
    model.for_each_joint_law(commands, &mut |at, law| forces.joints[at.v] += law.force(q[at.q], v[at.v]));
    model.add_loads(state, time, commands, forces);
    applied.add_to(model, state, time, control, forces);
}
