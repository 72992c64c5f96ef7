//! What should be changed in a scene, with its number, and what to write instead.

use super::pressing::{NotPressed, Press, Pressed, Pressing, one_of, thickness};
use crate::contact::{ContactGeometry, ContactModel, FaceFilter};
use crate::field::zero_gradient_tetrahedra;
use crate::multibody::{BodyFrame, BodyGeometry, GeometryPair, Model, NamedMaterial};
use crate::rollout::SimulationSettings;
use crate::step::Integrator;

/// Bodies should sink in by less than this part of half their thickness, ...
const DEEP: f64 = 0.2;
/// ... and do so by this part with what is advised.
const ADVISED_DEPTH: f64 = 0.1;
/// Contact surfaces should have at least so many polygons.
const FEW_ELEMENTS: usize = 12;
/// Explicit steps should be shorter than this part of the time in which an oscillation turns by a radian:
/// they are stable up to 2.
const EXPLICIT_STEP: f64 = 0.5;
/// Implicit steps should leave at least this part of the energy of a rebound, ...
const REBOUND_LEFT: f64 = 0.5;
/// ... and leave this part with what is advised. Of a spring and a mass n steps an impact leave exp(−π²/n).
const ADVISED_REBOUND_LEFT: f64 = 0.9;
/// Implicit steps should take less than this part of the speed of what rolls in a second.
const ROLLING_LOSS: f64 = 0.1;
/// A ball's mass and inertia as it rolls, in parts of its mass.
const ROLLING_MASS: f64 = 1.4;
/// A contact surface smaller than this part of the square of a body's size is that of a round one.
const ROUND: f64 = 0.5;
/// What friction holds should creep by less than this part of its size in a second, ...
const CREEP: f64 = 0.1;
/// ... and creeps by this part with what is advised.
const ADVISED_CREEP: f64 = 0.01;
/// Moduli this far apart: the harder body hardly gives way.
const HARD: f64 = 100.0;
/// A compliant body thinner than this part of its length is thin.
const THIN: f64 = 0.05;

/// Two bodies and how they are simulated.
pub(super) struct Subject<'m> {
    pub model: &'m Model,
    pub frames: &'m [BodyFrame],
    pub pairs: &'m [GeometryPair],
    pub settings: &'m SimulationSettings,
    /// The force between them, N.
    pub load: f64,
    pub how: &'m Pressing,
    /// The mass that the contact accelerates, kg.
    pub effective_mass: f64,
}

/// A number with two digits.
pub(super) fn short(x: f64) -> String {
    let rounded: f64 = format!("{x:.1e}").parse().unwrap_or(x);
    match rounded.abs() {
        usual if (1e-3..1e4).contains(&usual) => format!("{rounded}"),
        _ => format!("{rounded:e}"),
    }
}

/// A length, in mm where it is short.
fn length(x: f64) -> String {
    if x < 0.1 { format!("{} mm", short(1e3 * x)) } else { format!("{} m", short(x)) }
}

/// The geometries of the first pair of two bodies.
pub(super) fn geometries<'m>(subject: &Subject<'m>) -> [&'m BodyGeometry; 2] {
    [false, true].map(|of_b| one_of(subject.model, &subject.pairs[0], of_b).1)
}

/// The materials of the compliant geometries of the two.
fn compliant<'m>(subject: &Subject<'m>) -> Vec<&'m NamedMaterial> {
    let mut indices: Vec<usize> = geometries(subject)
        .into_iter()
        .filter(|g| !g.collider.geometry.is_rigid())
        .filter_map(|g| g.material)
        .collect();
    indices.dedup();
    indices.into_iter().filter_map(|index| subject.model.materials().get(index)).collect()
}

/// The moduli with which the bodies carry the load at a depth, as fields to write. The force between two
/// bodies at given poses follows a common factor of their moduli.
fn advised_moduli(subject: &Subject, depth: f64) -> Option<String> {
    let force =
        Press::new(subject.model, subject.frames, subject.pairs, subject.load, subject.how)?.force_at(depth);
    let materials = compliant(subject);
    // What gives way without a force does so with any modulus.
    if materials.is_empty() || force <= 1e-6 * subject.load {
        return None;
    }
    let factor = subject.load / force;
    let field = |named: &&NamedMaterial| {
        let modulus = short(factor * named.material.hydroelastic_modulus);
        format!("`hydroelastic_modulus = {modulus}` of material `{}`", named.name)
    };
    Some(materials.iter().map(field).collect::<Vec<_>>().join(" and "))
}

/// What should be changed.
pub(super) fn remarks(subject: &Subject, pressed: &Result<Pressed, NotPressed>) -> Vec<String> {
    let mut remarks = Vec::new();
    match pressed {
        Ok(pressed) => {
            remarks.extend(depth(subject, pressed));
            remarks.extend(step(subject, pressed));
            remarks.extend(rolling(subject, pressed));
        }
        Err(NotPressed::Sinks(largest)) => remarks.push(sinks(subject, *largest)),
        Err(NotPressed::Apart) => {}
    }
    if *pressed != Err(NotPressed::Apart) {
        remarks.extend(friction(subject));
    }
    remarks.extend(hard(subject));
    remarks.extend(thin(subject));
    remarks.extend(flat_tetrahedra(subject));
    remarks.extend(losses(subject));
    remarks
}

/// Deep penetration, for which the model is not made.
fn depth(subject: &Subject, pressed: &Pressed) -> Option<String> {
    // What it can be pressed into from one side.
    let half = 0.5 * thickness(subject.model, &subject.pairs[0]);
    let part = pressed.penetration / half;
    if part <= DEEP {
        return None;
    }
    let advised = advised_moduli(subject, ADVISED_DEPTH * half)?;
    Some(format!(
        "under {} N they sink into each other by {}, {:.0} % of half the thickness of the thinner one; with \
         {advised} it is about {:.0} %",
        short(subject.load),
        length(pressed.penetration),
        100.0 * part,
        100.0 * ADVISED_DEPTH
    ))
}

/// A load that two bodies do not carry.
fn sinks(subject: &Subject, largest: f64) -> String {
    let half = 0.5 * thickness(subject.model, &subject.pairs[0]);
    let advised = match advised_moduli(subject, ADVISED_DEPTH * half) {
        Some(moduli) => format!("with {moduli} they carry it"),
        None => "they may overlap from the start: move them apart".to_owned(),
    };
    format!(
        "they do not carry {} N: the force between them is {} N at most, and they pass through each other; {advised}",
        short(subject.load),
        short(largest),
    )
}

/// A contact surface of few elements.
pub(super) fn mesh(pressed: &Pressed) -> Option<String> {
    let radius = (pressed.area / std::f64::consts::PI).sqrt();
    (pressed.elements < FEW_ELEMENTS).then(|| {
        format!(
            "the contact surface, {} across, has {} polygons, so that force and torque are coarse; \
             `resolution = {}` of the shape, or a finer mesh, gives more",
            length(2.0 * radius),
            pressed.elements,
            short(0.5 * radius)
        )
    })
}

/// A time step that is too long for the contact.
fn step(subject: &Subject, pressed: &Pressed) -> Option<String> {
    let time_step = subject.settings.time_step;
    let radian = (subject.effective_mass / pressed.stiffness).sqrt();
    let impact = std::f64::consts::PI * radian;
    match subject.settings.integrator {
        Integrator::ErrorControlled(_) => None,
        Integrator::VelocityLevel(_) => {
            let per_step = std::f64::consts::PI.powi(2) / impact;
            let left = (-per_step * time_step).exp();
            let energy = match subject.model.contact().face_filter {
                FaceFilter::None => "they give no energy",
                FaceFilter::Drake => {
                    "they may throw flat bodies off, what they do not without `face_filter = \"drake\"`"
                }
            };
            (left < REBOUND_LEFT).then(|| {
                format!(
                    "an impact lasts {} s, {} steps: {energy}, but leave {:.0} % of that of a rebound; `time_step = {}` \
                     leaves {:.0} %, or set `accuracy = 1e-6` in [solver]",
                    short(impact),
                    short(impact / time_step),
                    100.0 * left,
                    short(-ADVISED_REBOUND_LEFT.ln() / per_step),
                    100.0 * ADVISED_REBOUND_LEFT
                )
            })
        }
        _ => (time_step > EXPLICIT_STEP * radian).then(|| {
            let verdict = if time_step > 2.0 * radian { "are unstable" } else { "are coarse" };
            format!(
                "an impact lasts {} s, {} steps: explicit steps {verdict}; `time_step = {}`, or \
                 `kind = \"lagged\"` in [solver], which is stable at rest at any step",
                short(impact),
                short(impact / time_step),
                short(0.5 * EXPLICIT_STEP * radian)
            )
        }),
    }
}

/// Implicit steps that slow down what rolls: with the load N they resist with N δt v/R, since the contacts are those of the
/// step's start, while the body rolls on.
fn rolling(subject: &Subject, pressed: &Pressed) -> Option<String> {
    let (settings, size) = (subject.settings, thickness(subject.model, &subject.pairs[0]));
    if !matches!(settings.integrator, Integrator::VelocityLevel(_))
        || pressed.area > ROUND * size * size
        || static_friction(subject) == 0.0
    {
        return None;
    }
    let decay = |dt: f64| subject.load * dt / (ROLLING_MASS * subject.effective_mass * 0.5 * size);
    let lost = 1.0 - (-decay(settings.time_step)).exp();
    (lost > ROLLING_LOSS).then(|| {
        let allowed = -(1.0 - ROLLING_LOSS).ln() / decay(1.0);
        format!(
            "what rolls loses {:.0} % of its speed in a second to the steps (N δt v/R); `time_step = {}`, or \
             `accuracy = 1e-6` in [solver], keeps it",
            100.0 * lost,
            short(allowed)
        )
    })
}

/// The combined coefficient of static friction. A rigid geometry without a material takes that of the other.
fn static_friction(subject: &Subject) -> f64 {
    let [a, b] = geometries(subject);
    let (of_a, of_b) = (a.collider.material.static_friction, b.collider.material.static_friction);
    match (a.material, b.material) {
        (None, _) => of_b,
        (_, None) => of_a,
        _ if of_a + of_b > 0.0 => 2.0 * of_a * of_b / (of_a + of_b),
        _ => 0.0,
    }
}

/// Friction that is stiff against the step, or that creeps.
fn friction(subject: &Subject) -> Vec<String> {
    let mut remarks = Vec::new();
    let friction = static_friction(subject);
    if friction == 0.0 {
        return remarks;
    }
    let stiction = subject.model.contact().stiction_velocity;
    let time_step = subject.settings.time_step;
    let is_explicit =
        !matches!(subject.settings.integrator, Integrator::VelocityLevel(_) | Integrator::ErrorControlled(_));
    // Near rest friction is a damper of μ N / v_s, which explicit steps are stable with up to 2 m / (μ N / v_s).
    let longest = 2.0 * stiction * subject.effective_mass / (friction * subject.load);
    if is_explicit && time_step > longest {
        remarks.push(format!(
            "friction near rest is too stiff for explicit steps of {} s with `stiction_velocity = {}`: \
             `stiction_velocity = {}`, `time_step = {}`, or `kind = \"lagged\"` in [solver]",
            short(time_step),
            short(stiction),
            short(2.0 * stiction * time_step / longest),
            short(0.5 * longest)
        ));
    }
    let velocity_level = subject.settings.integrator.velocity_level_method();
    let is_sap = velocity_level.is_some_and(|method| method.model == ContactModel::Sap);
    // Of two half-spaces, without a size, nothing creeps.
    let size = thickness(subject.model, &subject.pairs[0]);
    if !is_sap && stiction > CREEP * size {
        remarks.push(format!(
            "friction is regularized: what it holds near its limit creeps by up to {} in a second, and the \
             smaller body is {} thick; `stiction_velocity = {}` in [contact]",
            length(stiction),
            length(size),
            short(ADVISED_CREEP * size)
        ));
    }
    remarks
}

/// Two compliant bodies one of which hardly gives way.
fn hard(subject: &Subject) -> Option<String> {
    let geometries = geometries(subject);
    if geometries.iter().any(|g| g.collider.geometry.is_rigid()) {
        return None;
    }
    let moduli = geometries.map(|g| g.collider.material.hydroelastic_modulus);
    let ratio = (moduli[0] / moduli[1]).max(moduli[1] / moduli[0]);
    let bodies = [subject.pairs[0].bodies.a, subject.pairs[0].bodies.b];
    let harder = bodies[usize::from(moduli[1] > moduli[0])];
    // Of a half-space there is nothing to save.
    let is_plane = matches!(
        geometries[usize::from(moduli[1] > moduli[0])].collider.geometry.as_ref(),
        ContactGeometry::CompliantHalfSpace
    );
    (ratio >= HARD && !is_plane).then(|| {
        format!(
            "the modulus of `{}` is {} times that of the other, so that it hardly gives way; `rigid = true` of its \
             geometry is nearly the same and faster",
            subject.model.bodies()[harder].name,
            short(ratio)
        )
    })
}

/// Compliant bodies with hardly any room for a pressure field.
fn thin(subject: &Subject) -> Vec<String> {
    let geometries = geometries(subject);
    let GeometryPair { bodies, .. } = subject.pairs[0];
    let bodies = [bodies.a, bodies.b].map(|body| &subject.model.bodies()[body]);
    let mut remarks = Vec::new();
    for (own, body) in bodies.into_iter().enumerate() {
        let (Some(size), false) = (body.size(), geometries[own].collider.geometry.is_rigid()) else {
            continue;
        };
        let (thickness, length_of_all) = (size.min(), size.max());
        if thickness >= THIN * length_of_all {
            continue;
        }
        let instead = if geometries[1 - own].collider.geometry.is_rigid() {
            format!(
                "let `{}` give way instead, which is not `rigid` then, and make this one `rigid = true`",
                bodies[1 - own].name
            )
        } else {
            "with `rigid = true` of its geometry the other one gives way alone".to_owned()
        };
        let half = 0.5 * thickness;
        remarks.push(format!(
            "`{}` is {} thick and {} long: what sinks in by more than half of that, as what comes faster than {} m/s \
             can in one step of {} s, passes through; {instead}",
            body.name,
            length(thickness),
            length(length_of_all),
            short(half / subject.settings.time_step),
            short(subject.settings.time_step),
        ));
    }
    remarks
}

/// Tetrahedra without a pressure gradient, which bear no load.
fn flat_tetrahedra(subject: &Subject) -> Vec<String> {
    let GeometryPair { bodies, .. } = subject.pairs[0];
    let mut remarks = Vec::new();
    for (geometry, body) in geometries(subject).into_iter().zip([bodies.a, bodies.b]) {
        let ContactGeometry::Compliant(field) = geometry.collider.geometry.as_ref() else { continue };
        let all = field.mesh().tetrahedra.len();
        let flat = zero_gradient_tetrahedra(field.mesh(), field.extent()).len();
        if flat > 0 {
            remarks.push(format!(
                "{flat} of the {all} tetrahedra of `{}` have no pressure gradient, since all their vertices lie on the \
                 surface, and bear no load ({} %); `split_zero_gradient = true` of the mesh splits them",
                subject.model.bodies()[body].name,
                short(100.0 * flat as f64 / all as f64)
            ));
        }
    }
    remarks
}

/// A contact that loses no energy.
fn losses(subject: &Subject) -> Option<String> {
    let loses =
        |named: &&NamedMaterial| named.material.dissipation > 0.0 || named.material.relaxation_time > 0.0;
    let has_own_law = subject.model.contact().law.is_some();
    let name = &compliant(subject).first()?.name;
    (!has_own_law && !compliant(subject).iter().any(loses)).then(|| {
        format!(
            "the contact takes no energy, and what falls bounces without end; `dissipation = 1.0` of material \
             `{name}`, in s/m, takes some"
        )
    })
}
