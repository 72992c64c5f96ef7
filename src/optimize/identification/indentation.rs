//! Residuals of contact forces against an indentation test.

use nalgebra::Vector3;

use super::{
    Loss, MeasurementError, Prediction, UntouchedIndentation, body_index, check_residuals, place, positive,
    root_mean_square,
};
use crate::multibody::{BodyFrame, BodyPair, GeometryPair, Model, PairWorkspace, State};
use crate::optimize::data::Indentation;
use crate::optimize::error::ProblemError;
use crate::scalar::Scalar;
use crate::spatial::SpatialVelocity;

/// A body pressed into the others along a direction, all at rest: forces at depths.
///
/// At depth 0 every body is where the scene puts it, unless the test has an offset ([`Self::with_offset`]).
#[derive(Clone, Debug, PartialEq)]
pub struct IndentationTest {
    name: String,
    body: usize,
    direction: Vector3<f64>,
    table: Vec<Indentation>,
    /// Standard deviations of the forces, N.
    sigmas: Vec<f64>,
    pairs: Vec<GeometryPair>,
    /// Its place among the tables of a fit, and how much farther than in the scene the body is from what it is pressed
    /// into, m.
    place: usize,
    offset: f64,
    loss: Loss,
}

impl IndentationTest {
    /// The test named `name` (for reports) of the body named `body`, moved along `direction`
    /// (in W; normalized). `force_sigma` in N holds for the rows of the table that have no
    /// standard deviation of their own.
    ///
    /// # Errors
    /// No such body, or it cannot touch anything; a direction of length 0; a standard deviation
    /// that is missing or not positive.
    pub fn new(
        model: &Model,
        name: String,
        body: &str,
        direction: Vector3<f64>,
        table: Vec<Indentation>,
        force_sigma: Option<f64>,
    ) -> Result<Self, ProblemError> {
        let index = body_index(model, body)?;
        let length = direction.norm();
        if !(length > 0.0 && length.is_finite()) {
            let found = format!("[{}, {}, {}]", direction.x, direction.y, direction.z);
            return Err(ProblemError::Setting {
                field: "direction",
                found,
                allowed: "a finite vector, not zero",
            });
        }
        let missing = ProblemError::Setting {
            field: "force_sigma",
            found: "missing".into(),
            allowed: "given where the table has no column `sigma_N`",
        };
        let fallback = force_sigma.map(|s| positive("force_sigma", s)).transpose()?;
        let sigmas =
            table.iter().map(|row| row.sigma.or(fallback)).collect::<Option<Vec<f64>>>().ok_or(missing)?;
        let mut pairs: Vec<GeometryPair> =
            model.pairs.iter().filter(|p| p.bodies.a == index || p.bodies.b == index).copied().collect();
        // A model has no pairs of fixed bodies, since their contact moves nothing.
        for other in 0..model.bodies.len() {
            if other != index && !model.bodies[index].is_free() && !model.bodies[other].is_free() {
                let bodies = BodyPair::of(index, other);
                pairs.extend(model.geometry_pairs(bodies)?);
            }
        }
        if pairs.is_empty() {
            return Err(ProblemError::NothingToIndent { name: body.to_string() });
        }
        let test = Self {
            name,
            body: index,
            direction: direction / length,
            table,
            sigmas,
            pairs,
            place: 0,
            offset: 0.0,
            loss: Loss::Squares,
        };
        test.check_columns(model)?;
        Ok(test)
    }

    /// The same as the table at this place among those of a fit, with an offset in m: at the depths of the table the
    /// body is less deep by so much than in the scene, for a gap before the touch. Its name as a parameter of the fit is
    /// `indentations[PLACE].offset`.
    ///
    /// # Errors
    /// An offset that is not finite.
    pub fn with_offset(self, place: usize, offset: f64) -> Result<Self, ProblemError> {
        match offset.is_finite() {
            true => Ok(Self { place, offset, ..self }),
            false => {
                let found = offset.to_string();
                Err(ProblemError::Setting { field: "offset", found, allowed: "finite" })
            }
        }
    }

    /// The same with a loss for rows that are far off.
    ///
    /// # Errors
    /// A limit that is not positive.
    pub fn with_loss(self, loss: Loss) -> Result<Self, ProblemError> {
        Ok(Self { loss: loss.check()?, ..self })
    }

    /// What rows that are far off count.
    pub(super) fn loss(&self) -> Loss {
        self.loss
    }

    /// Its place among the tables of a fit.
    pub(super) fn table(&self) -> usize {
        self.place
    }

    /// Checks that depth and force are not each other's: where depths exceed the body's size and every force, taken as a
    /// depth, is within it, the one column holds the other.
    fn check_columns(&self, model: &Model) -> Result<(), ProblemError> {
        let largest =
            |of: fn(&Indentation) -> f64| self.table.iter().map(|row| of(row).abs()).fold(0.0, f64::max);
        let (depth, force) = (largest(|row| row.depth), largest(|row| row.force));
        let line = self.table.first().and_then(|row| row.line);
        let place = place(&self.name, line);
        if self.table.len() > 2 && self.table.iter().all(|row| row.force < 0.0 && row.depth >= 0.0) {
            return Err(ProblemError::NegativeForces { place });
        }
        let Some(size) = model.bodies[self.body].size().map(|size| size.max()) else { return Ok(()) };
        match depth > size && force > 0.0 && force < size && self.table.len() > 1 {
            true => {
                let body = model.bodies[self.body].name.clone();
                Err(ProblemError::SwappedColumns { place, depth, force, body, size })
            }
            false => Ok(()),
        }
    }

    /// The name of the test.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The force against the motion at each depth, N.
    fn forces<T: Scalar>(&self, model: &Model<T>, state: &State<T>, offset: Option<T>) -> Vec<T> {
        let offset = offset.unwrap_or_else(|| T::from(self.offset));
        let mut frames: Vec<BodyFrame<T>> = Vec::new();
        model.body_frames(state, &mut frames);
        for frame in &mut frames {
            frame.velocity = SpatialVelocity::zero();
        }
        let origin = frames[self.body].pose.translation;
        let direction = self.direction.map(T::from);
        let mut workspace = PairWorkspace::default();
        let mut forces = Vec::with_capacity(self.table.len());
        for row in &self.table {
            frames[self.body].pose.translation = origin + direction * (T::from(row.depth) - offset);
            let wrench = model.contact_wrench_on(&frames, self.body, &self.pairs, &mut workspace);
            forces.push(-wrench.translational.dot(&direction));
        }
        forces
    }

    /// The measured forces, and those of the model.
    pub(super) fn prediction(&self, model: &Model, state: &State, offset: Option<f64>) -> Prediction {
        Prediction::Indentation {
            name: self.name.clone(),
            depths: self.table.iter().map(|row| row.depth).collect(),
            measured: self.table.iter().map(|row| row.force).collect(),
            standard_deviations: self.sigmas.clone(),
            predicted: self.forces(model, state, offset),
        }
    }

    /// What to say of the test if the body touches nothing at any depth.
    pub(super) fn untouched(
        &self,
        model: &Model,
        state: &State,
        offset: Option<f64>,
    ) -> Option<UntouchedIndentation> {
        if self.forces(model, state, offset).iter().any(|&force| force != 0.0) {
            return None;
        }
        let body = &model.bodies[self.body];
        Some(UntouchedIndentation {
            name: self.name.clone(),
            body: body.name.clone(),
            deepest: self.table.iter().map(|row| row.depth).fold(0.0, f64::max),
            size: body.size().map(|size| size.max()),
        })
    }

    /// Differences of forces over standard deviations, with the loss.
    pub(super) fn residuals<T: Scalar>(
        &self,
        model: &Model<T>,
        state: &State<T>,
        offset: Option<T>,
    ) -> Result<Vec<T>, ProblemError> {
        let mut residuals = self.differences(model, state, offset)?;
        residuals.chunks_mut(1).for_each(|row| self.loss.reduce(row));
        Ok(residuals)
    }

    fn differences<T: Scalar>(
        &self,
        model: &Model<T>,
        state: &State<T>,
        offset: Option<T>,
    ) -> Result<Vec<T>, ProblemError> {
        let rows = self.table.iter().zip(&self.sigmas);
        let residual = |(f, (row, &sigma)): (T, (&Indentation, &f64))| {
            let residual = (f - row.force) / T::from(sigma);
            check_residuals(&[residual], &self.name, row.line)?;
            Ok(residual)
        };
        self.forces(model, state, offset).into_iter().zip(rows).map(residual).collect()
    }

    /// Root mean square of the differences.
    ///
    /// # Errors
    /// When one of them is too large to be squared.
    pub(super) fn error(
        &self,
        model: &Model,
        state: &State,
        offset: Option<f64>,
    ) -> Result<MeasurementError, ProblemError> {
        let residuals = self.differences(model, state, offset)?;
        let squares = residuals.iter().zip(&self.sigmas).map(|(r, sigma)| (r * sigma).powi(2));
        let force = root_mean_square(squares);
        Ok(MeasurementError::Indentation { name: self.name.clone(), depths: residuals.len(), force })
    }
}
