//! Functions for the solvers of argmin.

use argmin::core::{CostFunction, Error, Gradient};

/// A function for the solvers of argmin: a closure that gives its value and its gradient.
///
/// # Examples
/// The speed with which a ball slides and rolls by 20 cm in 0.3 s:
/// ```
/// use isobar::argmin::core::{Error, Executor};
/// use isobar::optimize::{WithGradient, lbfgsb::Lbfgsb};
/// use isobar::*;
///
/// struct Miss;
/// impl Loss for Miss {
///     fn terminal<T: Scalar>(&self, moment: &Moment<T>) -> T {
///         (moment.state.bodies[0].position.x - 0.2).powi(2)
///     }
/// }
///
/// let foam = Material::new(1e5, 1.0, 0.5);
/// let ball = BodyGeometry::new(Collider::of_shape(&Shape::Sphere { radius: 0.05 }, 0.05, foam)?);
/// let ball = Body::free("ball", MassSource::Density(200.0), vec![ball])?;
/// let floor = BodyGeometry::new(Collider::rigid_half_space(foam));
/// let floor = Body::fixed("floor", RigidTransform::identity(), vec![floor]);
/// let model = ModelBuilder { bodies: vec![ball, floor], ..Default::default() }.build()?;
/// let place = RigidTransform::from_translation([0.0, 0.0, 0.05]);
/// let miss = WithGradient(|speed: &[f64]| {
///     let mut start = State::of_bodies(vec![BodyState::at_rest(&place)]);
///     start.bodies[0].velocity.translational.x = speed[0];
///     let rollout = Rollout::new(&model, &start, SimulationSettings::default(), 0.3);
///     let parameters = [Parameter::initial_velocity(0, 0)];
///     let gradient = loss_gradient(&rollout, &Miss, &parameters, Checkpoints::All)?;
///     Ok((gradient.value, gradient.by_parameters))
/// });
/// let found = Executor::new(miss, Lbfgsb::new()).configure(|state| state.param(vec![0.5])).run()?;
/// assert!(found.state.best_cost < 1e-9);
/// # Ok::<(), Error>(())
/// ```
pub struct WithGradient<F>(pub F);

impl<F: Fn(&[f64]) -> Result<(f64, Vec<f64>), Error>> CostFunction for WithGradient<F> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, x: &Vec<f64>) -> Result<f64, Error> {
        Ok((self.0)(x)?.0)
    }
}

impl<F: Fn(&[f64]) -> Result<(f64, Vec<f64>), Error>> Gradient for WithGradient<F> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, x: &Vec<f64>) -> Result<Vec<f64>, Error> {
        Ok((self.0)(x)?.1)
    }
}
