//! Two rigid bodies at an instant: their contacts are the features that come near each other
//! ([`crate::contact::features`]), each a spring that pushes where they overlap.

use nalgebra::Vector3;

use crate::contact::features::{FeaturePair, Features, Gap, Rim, are_apart, find_features, reach};
use crate::contact::force::local_vjp::LocalCotangent;
use crate::contact::force::traction::TractionLaw;
use crate::contact::pair::query::{ContactError, ContactPair, Roles};
use crate::contact::settings::{ContactSettings, STIFFEST};
use crate::contact::surface::shape_vjp::{ShapeTerms, VertexTerm};
use crate::contact::surface::workspace::Workspace;
use crate::contact::{Collider, ContactGeometry};
use crate::scalar::{CHUNK, DualArray, Scalar, lift_vector};
use crate::spatial::{RigidTransform, SpatialForce, SpatialVelocity};

/// The dissipation of forces at an instant, and of impulses over steps that resolve impacts, s/m: nothing leaves an impact faster
/// than its inverse.
pub(in crate::contact) const DISSIPATION: f64 = 1e4;
/// What velocities may change by in a step, m/s², as far as features are looked for.
const ACCELERATION: f64 = 10.0;
/// Features are looked for within this part of the smaller body's size, and as far as bodies move in the step.
const MARGIN: f64 = 0.05;

/// How stiff the contacts of rigid bodies are.
#[derive(Clone, Copy, Debug)]
pub(in crate::contact) struct Spring {
    /// The mass of the heaviest body, kg.
    pub heaviest: f64,
    /// [`ContactSettings::rigid_stiffness`].
    per_mass: f64,
}

impl Spring {
    pub fn new<T>(settings: &ContactSettings<T>, heaviest: f64) -> Self {
        Self { heaviest, per_mass: settings.rigid_stiffness }
    }

    /// The stiffness K, N/m.
    pub fn stiffness(&self) -> f64 {
        self.per_mass * self.heaviest
    }

    /// The load grows no more than to this depth, m, many times that of an impact: what is deeper has overlapped at the start, and
    /// is pushed no faster into the velocity that dissipation lets it leave with than substeps can follow.
    pub fn deepest(&self) -> f64 {
        1e-5 * (STIFFEST / self.per_mass).sqrt()
    }
}

/// Adds the features of O and F that come near each other in a step of `dt`, for bodies with these geometries, O's pose in F and its
/// velocity relative to F before the step.
pub(in crate::contact) fn near_features(
    (o, f): (&Collider, &Collider),
    x_fo: &RigidTransform,
    before: &SpatialVelocity,
    dt: f64,
    found: &mut Features,
) {
    let (reach_o, reach_f) = (reach(&o.geometry), reach(&f.geometry));
    let smaller = reach_o.min(reach_f);
    let at_o = before.translational + before.rotational.cross(&x_fo.translation);
    let speed = at_o.norm() + before.rotational.norm() * smaller;
    let margin = MARGIN * smaller + (speed + ACCELERATION * dt) * dt;
    let here = RigidTransform::identity();
    if !are_apart((x_fo, reach_o), (&here, reach_f), margin) {
        find_features((o, x_fo), (f, &here), margin, Rim::Both, found);
    }
}

/// The gap of two features in F.
pub(in crate::contact) fn gap<T: Scalar>(
    features: &FeaturePair,
    o: &Collider<T>,
    f: &Collider<T>,
    x_fo: &RigidTransform<T>,
) -> Gap<T> {
    let here = RigidTransform::identity();
    features.prepare((o, &here), (f, &here)).at(x_fo, &here)
}

/// Adds the derivatives of a number with respect to the shapes of rigid bodies, which each pair of features has a part of, with the
/// bodies' shapes in dual numbers.
pub(in crate::contact) fn add_shapes(
    roles: &Roles<f64>,
    features: &[FeaturePair],
    terms: &mut ShapeTerms,
    along: impl Fn(&FeaturePair, &Collider<DualArray<CHUNK>>, &Collider<DualArray<CHUNK>>) -> DualArray<CHUNK>,
) {
    type Chunk = DualArray<CHUNK>;
    terms.a_is_o = roles.a_is_o;
    for side in 0..2 {
        let collider = [roles.o, roles.f][side];
        let ContactGeometry::Rigid(surface) = &*collider.geometry else { continue };
        let shape = &surface.mesh().vertices;
        let mut add = |vertex: usize, position: Vector3<f64>| {
            let of_side = if side == 0 { &mut terms.o } else { &mut terms.f };
            of_side.vertices.push(VertexTerm { vertex: vertex as u32, position, extent: 0.0 });
        };
        let with = |vertices: Vec<Vector3<Chunk>>| {
            let mut both = [Collider::lift(roles.o), Collider::lift(roles.f)];
            both[side].vertices = Some(vertices.into());
            both
        };
        for pair in features {
            let vertices = pair.vertices_of(side);
            // Two vertices of three coordinates fit into a chunk.
            for chunk in vertices.chunks(CHUNK / 3) {
                let mut moved: Vec<_> = shape.iter().map(lift_vector::<Chunk>).collect();
                for (k, &vertex) in chunk.iter().enumerate() {
                    for axis in 0..3 {
                        moved[vertex][axis].eps[3 * k + axis] = 1.0;
                    }
                }
                let [o, f] = with(moved);
                let by = along(pair, &o, &f).eps;
                for (k, &vertex) in chunk.iter().enumerate() {
                    add(vertex, Vector3::new(by[3 * k], by[3 * k + 1], by[3 * k + 2]));
                }
            }
            if vertices.is_empty() {
                // The size is that of the enlargement that comes nearest to the vertices.
                let grown = Chunk::variable(1.0, 0);
                let [o, f] = with(shape.iter().map(|v| lift_vector::<Chunk>(v) * grown).collect());
                let by_size = along(pair, &o, &f).eps[0];
                let square: f64 = shape.iter().map(Vector3::norm_squared).sum();
                shape.iter().enumerate().for_each(|(vertex, v)| add(vertex, v * (by_size / square)));
            }
        }
    }
}

/// The force on O about F's origin, in F, of one contact, under a law that is not the user's own.
///
/// It has a kink where the features meet: there it is that of bodies apart, 0.
fn force<T: Scalar>(
    (law, spring): (&TractionLaw<T>, Spring),
    Gap { distance, normal, point: x }: &Gap<T>,
    v_fo: &SpatialVelocity<T>,
) -> SpatialForce<T> {
    if distance.real() >= 0.0 {
        return SpatialForce::zero();
    }
    let deepest = spring.deepest();
    let depth = if -distance.real() < deepest { -*distance } else { T::from(deepest) };
    let load = depth * spring.stiffness();
    let velocity = v_fo.translational + v_fo.rotational.cross(x);
    let force = law.per_pressure(normal, &velocity, T::from(DISSIPATION), load) * load;
    SpatialForce::new(x.cross(&force), force)
}

/// The law of two rigid bodies: that of their friction, without one of the user's own, which is of a pressure.
fn law<T: Scalar>(roles: &Roles<T>, settings: &ContactSettings<T>) -> TractionLaw<T> {
    TractionLaw::new(roles, &ContactSettings { law: None, ..*settings })
}

/// What the contacts of two rigid bodies are found with: their features are those at the start of a step, so that the force does not
/// jump within it where others come nearer.
pub(crate) struct RigidStart<'a, T = f64> {
    /// The pair at the start of the step.
    pub pair: &'a ContactPair<'a, T>,
    /// Its length, s.
    pub length: f64,
    /// The mass of the heaviest body, kg.
    pub heaviest: f64,
}

impl<T: Scalar> RigidStart<'_, T> {
    fn find(&self, features: &mut Features) -> Result<(), ContactError> {
        features.pairs.clear();
        let roles = Roles::of_step(self.pair)?;
        let (o, f) = (roles.o.real(), roles.f.real());
        near_features((&o, &f), &roles.x_fo.real(), &roles.v_fo.real(), self.length, features);
        Ok(())
    }
}

/// The wrench at an instant between two rigid bodies on A about the origin of A's geometry frame, expressed in W; `None` if they do
/// not touch.
///
/// # Errors
/// For two half-spaces.
pub(crate) fn rigid_wrench<T: Scalar>(
    pair: &ContactPair<T>,
    start: &RigidStart<T>,
    settings: &ContactSettings<T>,
    workspace: &mut Workspace,
) -> Result<Option<SpatialForce<T>>, ContactError> {
    let roles = Roles::of_step(pair)?;
    let (features, spring) = (&mut workspace.features, Spring::new(settings, start.heaviest));
    start.find(features)?;
    let law = law(&roles, settings);
    let mut touches = false;
    let on_o = features.pairs.iter().fold(SpatialForce::zero(), |sum, features| {
        let gap = gap(features, roles.o, roles.f, &roles.x_fo);
        touches |= gap.distance.real() < 0.0;
        sum + force((&law, spring), &gap, &roles.v_fo)
    });
    let on_o = on_o.rotated(&roles.x_wf.rotation);
    let on_a = if roles.a_is_o { on_o } else { -on_o };
    Ok(touches.then(|| on_a.shifted(&(pair.x_wa.translation - roles.x_wf.translation))))
}

/// Directions of what a contact depends on: O's turn about F's origin and its shift, the relative velocity, and the coefficients
/// of static and of dynamic friction.
const DIRECTIONS: usize = 14;
pub(crate) const VELOCITY: usize = 6;
pub(crate) const STATIC: usize = 12;
pub(crate) const DYNAMIC: usize = 13;

pub(crate) type Dual = DualArray<DIRECTIONS>;

/// O's pose in F, and the relative velocity, along these directions.
pub(crate) fn moving(
    x_fo: &RigidTransform<f64>,
    v: &SpatialVelocity<f64>,
) -> (RigidTransform<Dual>, SpatialVelocity<Dual>) {
    let variables = |v: &Vector3<f64>, first: usize| Vector3::from_fn(|k, _| Dual::variable(v[k], first + k));
    let (turn, shift) = (variables(&Vector3::zeros(), 0), variables(&Vector3::zeros(), 3));
    let x_fo = RigidTransform::<Dual>::lift(x_fo);
    let x_fo = RigidTransform { translation: x_fo.translation + turn.cross(&x_fo.translation), ..x_fo };
    let v =
        SpatialVelocity::new(variables(&v.rotational, VELOCITY), variables(&v.translational, VELOCITY + 3));
    (x_fo.moved(&turn, &shift), v)
}

/// The local vector–Jacobian product of [`rigid_wrench`], as [`local_vjp`](super::local_vjp::local_vjp) has it of a pressure.
pub(super) fn rigid_local_vjp(
    roles: &Roles<f64>,
    by_wrench: &SpatialForce,
    (settings, start): (&ContactSettings, &RigidStart),
    workspace: &mut Workspace,
    shape: Option<&mut ShapeTerms>,
) -> Result<LocalCotangent, ContactError> {
    let (features, spring) = (&mut workspace.features, Spring::new(settings, start.heaviest));
    start.find(features)?;
    let law = law(roles, settings);
    let along = |w: &SpatialForce<Dual>| {
        w.rotational.dot(&lift_vector(&by_wrench.rotational))
            + w.translational.dot(&lift_vector(&by_wrench.translational))
    };
    let (x_fo, v_fo) = moving(&roles.x_fo, &roles.v_fo);
    let (static_friction, friction) = law.friction();
    let lifted =
        law.lift().with_friction(Dual::variable(static_friction, STATIC), Dual::variable(friction, DYNAMIC));
    let (o, f) = (Collider::lift(roles.o), Collider::lift(roles.f));
    let mut local = LocalCotangent::zero(0.0);
    for features in &features.pairs {
        let gap = gap(features, &o, &f, &x_fo);
        if gap.distance.real() >= 0.0 {
            continue;
        }
        let wrench = force((&lifted, spring), &gap, &v_fo);
        local.integral.add_point(&wrench.real());
        let by = along(&wrench).eps;
        let three = |first: usize| Vector3::new(by[first], by[first + 1], by[first + 2]);
        local.rotation += three(0);
        local.translation += three(3);
        local.angular_velocity += three(VELOCITY);
        local.velocity += three(VELOCITY + 3);
        local.parameters.static_friction += by[STATIC];
        local.parameters.dynamic_friction += by[DYNAMIC];
    }
    if let Some(terms) = shape {
        type Chunk = DualArray<CHUNK>;
        let (law, x_fo) = (law.lift::<Chunk>(), RigidTransform::lift(&roles.x_fo));
        let v_fo = SpatialVelocity::lift(&roles.v_fo);
        let (torque, line) = (lift_vector(&by_wrench.rotational), lift_vector(&by_wrench.translational));
        add_shapes(roles, &features.pairs, terms, |features, o, f| {
            let wrench = force((&law, spring), &gap(features, o, f, &x_fo), &v_fo);
            wrench.rotational.dot(&torque) + wrench.translational.dot(&line)
        });
    }
    Ok(local)
}
