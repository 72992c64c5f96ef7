//! The inverse inertia Λ that the relative motion of two bodies feels, from which SAP takes the
//! regularization of friction.

use nalgebra::{DMatrix, Matrix3, Matrix6, Vector3, Vector6};

use super::free_body::six;
use crate::contact::Roles;
use crate::multibody::tree::{JointState, Mechanism, Tree, Workspace as JointWorkspace};
use crate::multibody::{
    BodyState, GeometryPair, JOINT_DIRECTIONS as CHUNK, JointGradient, MassProperties, Model, Motion, State,
    TreeGradient,
};
use crate::scalar::{DualArray, Scalar};
use crate::spatial::{
    MASS_NUMBERS, RigidTransform, SpatialForce, SpatialVelocity, cross_matrix, from_quarters,
};

/// What Λ is computed from.
pub(super) struct PairInertia<'a, T> {
    pub model: &'a Model<T>,
    pub state: &'a State<T>,
    /// For each body its index among the moving ones.
    pub moving: &'a [Option<usize>],
    /// Kinematics of the joints, and the factors of their part of A.
    pub joints: &'a JointWorkspace<T>,
    pub factors: &'a DMatrix<T>,
}

impl<T> PairInertia<'_, T> {
    /// Whether one of two bodies moves: both may sleep.
    pub fn moves(&self, pair: &GeometryPair) -> bool {
        [pair.bodies.a, pair.bodies.b].iter().any(|&body| self.moving[body].is_some())
    }
}

/// Λ of a pair, in F's frame and about its origin: Σ P A⁻¹ Pᵀ over the trees of both bodies.
pub(super) fn pair_inverse_inertia<T: Scalar>(
    at: &PairInertia<T>,
    pair: &GeometryPair,
    roles: &Roles<T>,
    rows: &mut LinkRows<T>,
) -> Matrix6<T> {
    let model = at.model;
    let mut sum = Matrix6::from_element(T::from(0.0));
    for body in [pair.bodies.a, pair.bodies.b] {
        if let (Some(free), Motion::Free { mass, .. }) = (at.moving[body], &model.bodies[body].motion) {
            sum += free_inverse_inertia(mass, &at.state.bodies[free], &roles.x_wf);
        }
    }
    let links = pair_links(model, pair);
    if links != [None, None] {
        sum += rows.set(&model.mechanism, at.joints, at.factors, &links, &roles.x_wf);
    }
    sum
}

/// The links among the two bodies of a pair, by their indices in the mechanism.
fn pair_links<T>(model: &Model<T>, pair: &GeometryPair) -> [Option<usize>; 2] {
    [pair.bodies.a, pair.bodies.b].map(|body| match model.bodies[body].motion {
        Motion::Link { link } => Some(link),
        _ => None,
    })
}

/// The Jacobian of the velocity of one link relative to another, at F's origin and in F: six rows
/// over the velocities of the joints, one after the other.
#[derive(Clone, Debug)]
pub(super) struct LinkRows<T> {
    /// J.
    jacobian: Vec<T>,
    /// J A⁻¹.
    solved: Vec<T>,
}

impl<T> Default for LinkRows<T> {
    fn default() -> Self {
        Self { jacobian: Vec::new(), solved: Vec::new() }
    }
}

impl<T: Scalar> LinkRows<T> {
    /// Sets them for two links (of which one may be missing); returns J A⁻¹ Jᵀ.
    fn set(
        &mut self,
        mechanism: &Mechanism<T>,
        joints: &JointWorkspace<T>,
        factors: &DMatrix<T>,
        links: &[Option<usize>; 2],
        x_wf: &RigidTransform<T>,
    ) -> Matrix6<T> {
        let Self { jacobian, solved } = self;
        let n = mechanism.velocity_dimension();
        jacobian.clear();
        jacobian.resize(6 * n, T::from(0.0));
        let turn = x_wf.rotation.transpose();
        for (link, sign) in links.iter().zip([1.0, -1.0]) {
            let Some(link) = *link else { continue };
            for (k, column) in joints.jacobian_columns_at(mechanism, link, &x_wf.translation) {
                let column = column.rotated(&turn);
                for (row, x) in six(&column.rotational, &column.translational).into_iter().enumerate() {
                    jacobian[n * row + k] += x * sign;
                }
            }
        }
        solved.clear();
        solved.extend_from_slice(jacobian);
        for row in 0..6 {
            mechanism.solve(factors, &mut solved[n * row..n * (row + 1)]);
        }
        Matrix6::from_fn(|i, k| {
            let (row, column) = (&jacobian[n * i..n * (i + 1)], &solved[n * k..n * (k + 1)]);
            row.iter().zip(column).fold(T::from(0.0), |sum, (&x, &y)| sum + x * y)
        })
    }
}

impl LinkRows<DualArray<CHUNK>> {
    /// J A⁻¹ Jᵀ of each tree under computed torque, by its index.
    fn of_computed_torque_trees(&self, mechanism: &Mechanism) -> Vec<(usize, Matrix6<f64>)> {
        let n = mechanism.velocity_dimension();
        let trees = mechanism.trees().iter().enumerate().filter(|(_, tree)| tree.computed_torque.is_some());
        let part = |(index, tree): (usize, &Tree)| {
            let element = |i: usize, j: usize| {
                tree.v.clone().map(|k| self.jacobian[n * i + k].re * self.solved[n * j + k].re).sum()
            };
            (index, Matrix6::from_fn(element))
        };
        trees.map(part).collect()
    }
}

/// How the links' part of Λ follows the configuration of the joints, the frame F and the links'
/// masses.
#[derive(Clone, Debug)]
pub(super) struct LinkInertia {
    /// With respect to each velocity coordinate's direction of the configuration.
    by_q: Vec<Matrix6<f64>>,
    /// With respect to a turn of F about its origin and a move of it, both in W.
    by_frame: [Matrix6<f64>; 6],
    /// J A⁻¹, six rows one after the other.
    solved: Vec<f64>,
    /// J A⁻¹ Jᵀ of each tree under computed torque, by its index.
    of_trees: Vec<(usize, Matrix6<f64>)>,
    /// The length δt of the step.
    time_step: f64,
}

/// Kinematics of the joints, and the factors of their part of A, with the derivatives along a
/// chunk of the directions of the configuration.
type Directions = (JointWorkspace<DualArray<CHUNK>>, DMatrix<DualArray<CHUNK>>);

/// The joints at a state with the derivatives with respect to their configuration: the same for all
/// patches of a step.
pub(super) struct JointDirections<'a> {
    mechanism: &'a Mechanism<DualArray<CHUNK>>,
    /// At least one.
    chunks: Vec<Directions>,
    /// The length δt of the step.
    time_step: f64,
}

impl<'a> JointDirections<'a> {
    /// Those of a state of the joints, for a step of `dt` seconds.
    pub fn new(mechanism: &'a Mechanism<DualArray<CHUNK>>, joints: &JointState, dt: f64) -> Self {
        type Dual = DualArray<CHUNK>;
        let n = mechanism.velocity_dimension();
        let state = JointState::<Dual>::lift(joints);
        let still = vec![Dual::from(0.0); n];
        let chunk = |first: usize| {
            let mut direction = still.clone();
            for (k, direction) in direction.iter_mut().skip(first).take(CHUNK).enumerate() {
                *direction = Dual::variable(0.0, k);
            }
            let mut workspace = JointWorkspace::new(mechanism);
            let mut factors = DMatrix::from_element(n, n, Dual::from(0.0));
            mechanism.update_kinematics(&state.moved(&direction, &still).q, &still, &mut workspace);
            mechanism.step_matrix(&mut workspace, Dual::from(dt), &mut factors);
            mechanism.factorize(&mut factors);
            (workspace, factors)
        };
        let chunks = (0..n.max(1)).step_by(CHUNK).map(chunk).collect();
        Self { mechanism, chunks, time_step: dt }
    }
}

/// Whether a link takes part in a pair.
pub(super) fn has_link(model: &Model, pair: &GeometryPair) -> bool {
    pair_links(model, pair) != [None, None]
}

impl LinkInertia {
    /// The dependence for a pair in which a link takes part.
    pub fn new(
        model: &Model,
        pair: &GeometryPair,
        directions: &JointDirections,
        x_wf: &RigidTransform,
    ) -> Self {
        let (links, n) = (pair_links(model, pair), model.mechanism.velocity_dimension());
        let frame = RigidTransform::lift(x_wf);
        let mut by_q = Vec::with_capacity(n);
        let (mut rows, mut values) = (LinkRows::default(), None);
        for (workspace, factors) in &directions.chunks {
            let mechanism = directions.mechanism;
            let lambda = rows.set(mechanism, workspace, factors, &links, &frame);
            by_q.extend((0..CHUNK.min(n - by_q.len())).map(|k| lambda.map(|x| x.eps[k])));
            values.get_or_insert_with(|| {
                let solved = rows.solved.iter().map(|x| x.re).collect();
                (solved, lambda.map(|x| x.re), rows.of_computed_torque_trees(&model.mechanism))
            });
        }
        let (solved, lambda, of_trees) =
            values.unwrap_or_else(|| (Default::default(), Matrix6::zeros(), Vec::new()));
        Self { by_q, by_frame: by_frame(&lambda, x_wf), solved, of_trees, time_step: directions.time_step }
    }

    /// Adds the derivatives of a number with respect to the configuration, given those with respect to
    /// Λ; returns those with respect to the turn and the move of F.
    pub fn add_vjp(&self, by_lambda: &Matrix6<f64>, by_q: &mut [f64]) -> SpatialForce {
        for (sum, by) in by_q.iter_mut().zip(&self.by_q) {
            *sum += by.dot(by_lambda);
        }
        let [a, b, c, d, e, f] = &self.by_frame;
        let f = [a, b, c, d, e, f].map(|by| by.dot(by_lambda));
        SpatialForce::new(Vector3::new(f[0], f[1], f[2]), Vector3::new(f[3], f[4], f[5]))
    }

    /// Adds the derivatives of a number with respect to dampings and spring stiffnesses, given those
    /// with respect to Λ: with A = M + δt D + δt² K, dΛ = −(A⁻¹ Jᵀ)ᵀ (δt dD + δt² dK) A⁻¹ Jᵀ.
    pub fn add_passive(&self, mechanism: &Mechanism, by_lambda: &Matrix6<f64>, by: &mut [JointGradient]) {
        let n = mechanism.velocity_dimension();
        let by_diagonal = |k: usize| {
            let row = Vector6::from_fn(|i, _| self.solved[n * i + k]);
            -row.dot(&(by_lambda * row))
        };
        for (index, joint) in mechanism.passive_joints() {
            let by = &mut by[index];
            by.damping += joint.v.clone().map(by_diagonal).sum::<f64>() * self.time_step;
            if joint.q.len() == 1 {
                by.stiffness += by_diagonal(joint.v.start) * self.time_step * self.time_step;
            }
        }
    }

    /// Adds the derivatives of a number with respect to the gains of trees under computed torque, given those with respect to
    /// Λ: with A = s M, s = 1 + δt damping + δt² stiffness, dΛ = −Λ ds/s of the tree's part of Λ.
    pub fn add_gains(&self, mechanism: &Mechanism, by_lambda: &Matrix6<f64>, by: &mut [TreeGradient]) {
        for (tree, lambda) in &self.of_trees {
            let Some(law) = mechanism.trees()[*tree].computed_torque else { continue };
            let by_factor = -lambda.dot(by_lambda) / law.step_factor(self.time_step);
            by[*tree].damping += by_factor * self.time_step;
            by[*tree].stiffness += by_factor * self.time_step * self.time_step;
        }
    }

    /// Calls `visit` with the derivatives of a number with respect to the masses of the mechanism's
    /// bodies, given those with respect to Λ: dΛ = −(A⁻¹ Jᵀ)ᵀ s dM A⁻¹ Jᵀ, with the factor s of A of trees under computed
    /// torque, which is 1 of others. `workspace` is memory.
    pub fn for_each_mass(
        &self,
        mechanism: &Mechanism,
        joints: &JointState,
        by_lambda: &Matrix6<f64>,
        workspace: &mut JointWorkspace,
        mut visit: impl FnMut(usize, &MassProperties),
    ) {
        let n = mechanism.velocity_dimension();
        for (link, body) in mechanism.bodies().iter().enumerate() {
            let (Some(_), Some(mass)) = (body.joint, &body.mass) else { continue };
            let seeded = mass.seeded::<MASS_NUMBERS>(0);
            // The velocities of the body that go with the columns, in its own axes.
            let velocities: [SpatialVelocity; 6] = std::array::from_fn(|i| {
                mechanism.update_kinematics(&joints.q, &self.solved[n * i..n * (i + 1)], workspace);
                let turn = workspace.body_pose(mechanism, link).rotation.transpose();
                workspace.body_velocity(mechanism, link).rotated(&turn)
            });
            let mut sum = DualArray::<MASS_NUMBERS>::from(0.0);
            for (i, v) in velocities.iter().enumerate() {
                // G is symmetric.
                let mut weighted = SpatialVelocity::zero();
                for (k, other) in velocities.iter().enumerate() {
                    weighted += *other * by_lambda[(i, k)];
                }
                let [v, w] = [v, &weighted].map(SpatialVelocity::<DualArray<MASS_NUMBERS>>::lift);
                let center = |v: &SpatialVelocity<_>| v.shifted(&seeded.center_of_mass).translational;
                sum += center(&v).dot(&center(&w)) * seeded.mass
                    + v.rotational.dot(&(seeded.inertia * w.rotational));
            }
            let mut by = MassProperties::zero();
            let factor = mechanism.step_factor_of(link, self.time_step);
            by.add_numbers(&sum.eps.map(|x| -factor * x));
            visit(link, &by);
        }
    }
}

/// The derivatives of Λ with respect to a turn of F about its origin and a move of it, both in W, under
/// which a velocity (ω; v) in F changes by (−φ×ω; −φ×v) and by (0; ω×p).
fn by_frame(lambda: &Matrix6<f64>, x_wf: &RigidTransform) -> [Matrix6<f64>; 6] {
    let quarter = |i: usize, k: usize| Matrix3::from_fn(|row, column| lambda[(i + row, k + column)]);
    let upper = [quarter(0, 0), quarter(0, 3)];
    let lower = [quarter(3, 0), quarter(3, 3)];
    let zero = Matrix3::zeros();
    std::array::from_fn(|i| {
        let along = -cross_matrix(&x_wf.rotation.row(i % 3).transpose());
        let half = if i < 3 {
            from_quarters(along * upper[0], along * upper[1], along * lower[0], along * lower[1])
        } else {
            from_quarters(zero, zero, along * upper[0], along * upper[1])
        };
        half + half.transpose()
    })
}

/// The inverse inertia Λ of a body in the frame F, about its origin: from an impulse there to the
/// change of the velocity of the body's material there.
pub(super) fn free_inverse_inertia<T: Scalar>(
    mass: &MassProperties<T>,
    state: &BodyState<T>,
    x_wf: &RigidTransform<T>,
) -> Matrix6<T> {
    let mut lambda = Matrix6::from_element(T::from(0.0));
    // In F's axes: the body's axes, and from its centre of mass to F's origin.
    let to_world = state.orientation.to_matrix();
    let r = x_wf.rotation.transpose() * to_world;
    let center = state.position + to_world * mass.center_of_mass;
    let lever = cross_matrix(&(x_wf.rotation.transpose() * (x_wf.translation - center)));
    let rotational = r * inverse(&mass.inertia) * r.transpose();
    let coupled = lever * rotational;
    let translational = coupled * lever.transpose();
    for i in 0..3 {
        for k in 0..3 {
            lambda[(i, k)] = rotational[(i, k)];
            lambda[(3 + i, k)] = -coupled[(i, k)];
            lambda[(k, 3 + i)] = -coupled[(i, k)];
            lambda[(3 + i, 3 + k)] = translational[(i, k)];
        }
        lambda[(3 + i, 3 + i)] += mass.mass.recip();
    }
    lambda
}

/// The inverse of a symmetric, well-conditioned 3×3 matrix by Cramer's rule.
fn inverse<T: Scalar>(m: &Matrix3<T>) -> Matrix3<T> {
    let column = |k: usize| m.column(k).into_owned();
    let (x, y, z) = (column(0), column(1), column(2));
    let rows = [y.cross(&z), z.cross(&x), x.cross(&y)];
    let scale = x.dot(&rows[0]).recip();
    Matrix3::from_fn(|i, k| rows[i][k] * scale)
}
