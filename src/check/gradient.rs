//! The gradient check of numbers that depend on many.

use super::comparison::CheckSettings;
use super::differences::compare_groups;
use super::report::{GradientReport, ReportRow};
use crate::parallel::in_parallel;

/// A parameter of a function of many parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedParameter {
    /// Its name.
    pub name: String,
    /// Its unit over that of the function's argument: the function takes `value / unit`.
    pub unit: f64,
    /// The magnitude, in its unit, that steps of differences are relative to; positive.
    pub scale: f64,
}

/// Compares the claimed gradient of a function with differences along each of its parameters in turn (see
/// [`CheckSettings::only`]); a row for each. `at` and `gradient` are the function's argument and the derivatives with respect to it;
/// the report is in the units of the parameters.
///
/// # Errors
/// The first error of `function`.
///
/// # Panics
/// When `parameters`, `at` and `gradient` differ in length.
pub fn check_gradient<E: Send>(
    quantity: &str,
    parameters: &[CheckedParameter],
    function: impl Fn(&[f64]) -> Result<f64, E> + Sync,
    at: &[f64],
    gradient: &[f64],
    settings: &CheckSettings,
) -> Result<GradientReport, E> {
    assert!(gradient.len() == parameters.len(), "one number for each parameter");
    let jacobian: Vec<Vec<Vec<f64>>> = gradient.iter().map(|&by| vec![vec![by]]).collect();
    let function = |x: &[f64]| Ok(vec![vec![function(x)?]]);
    check_jacobian(&[quantity], parameters, function, at, &jacobian, settings)
}

/// Compares the claimed derivatives of several quantities, each a vector of components of one kind, with
/// differences along each parameter in turn (see [`CheckSettings::only`]); a row for each component. `jacobian` has for each parameter
/// the derivatives of all that `function` returns; otherwise as [`check_gradient`].
///
/// # Errors
/// The first error of `function`.
///
/// # Panics
/// When `parameters`, `at` and `jacobian` differ in length.
pub fn check_jacobian<E: Send>(
    quantities: &[&str],
    parameters: &[CheckedParameter],
    function: impl Fn(&[f64]) -> Result<Vec<Vec<f64>>, E> + Sync,
    at: &[f64],
    jacobian: &[Vec<Vec<f64>>],
    settings: &CheckSettings,
) -> Result<GradientReport, E> {
    assert!([at.len(), jacobian.len()] == [parameters.len(); 2], "one number for each parameter");
    let magnitudes = vec![0.0; quantities.len()];
    let one = |(i, parameter): (usize, &CheckedParameter)| {
        let along = |value: f64| {
            let mut x = at.to_vec();
            x[i] = value / parameter.unit;
            function(&x)
        };
        let in_unit = |by: &Vec<f64>| by.iter().map(|by| by / parameter.unit).collect();
        let claimed: Vec<Vec<f64>> = jacobian[i].iter().map(in_unit).collect();
        let value = at[i] * parameter.unit;
        let compared = compare_groups(along, value, parameter.scale, &claimed, &magnitudes, settings)?;
        let row = |quantity: &str, component: String, comparison| ReportRow {
            quantity: quantity.to_owned(),
            component,
            parameter: parameter.name.clone(),
            comparison,
        };
        let rows = quantities.iter().zip(compared).flat_map(|(quantity, components)| {
            let is_vector = components.len() > 1;
            let name = move |k: usize| if is_vector { k.to_string() } else { String::new() };
            components.into_iter().enumerate().map(move |(k, c)| row(quantity, name(k), c))
        });
        Ok(rows.collect::<Vec<_>>())
    };
    let included = parameters.iter().enumerate().filter(|(_, parameter)| settings.includes(&parameter.name));
    let rows = in_parallel(included, one).into_iter().collect::<Result<Vec<_>, E>>()?.concat();
    Ok(GradientReport { rows, allowed_undecided: settings.undecided, ..Default::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Verdict;

    #[test]
    fn right_and_wrong_components_are_told_apart_in_the_units_of_the_parameters() {
        // sin(x) + |y| + 3z of x in thousandths.
        let function = |v: &[f64]| Ok::<_, std::convert::Infallible>(v[0].sin() + v[1].abs() + 3.0 * v[2]);
        let parameter = |name: &str, unit: f64| CheckedParameter { name: name.into(), unit, scale: unit };
        let parameters = [parameter("x", 1e-3), parameter("y", 1.0), parameter("z", 2.0)];
        let at = [0.4, 0.0, 5.0];
        let gradient = [0.4f64.cos(), 0.5, 3.1];
        let Ok(report) =
            check_gradient("f", &parameters, function, &at, &gradient, &CheckSettings::default());
        let verdicts: Vec<Verdict> = report.rows.iter().map(|row| row.comparison.verdict).collect();
        assert_eq!(verdicts, [Verdict::Ok, Verdict::Kink, Verdict::Wrong]);
        assert!((report.rows[0].comparison.claimed - 1e3 * 0.4f64.cos()).abs() < 1e-9);
        assert!((report.rows[2].comparison.difference - 1.5).abs() < 1e-9);
        let text = report.to_string();
        assert!(text.contains("\nf ") && !text.contains("f,"), "{text}");
    }
}
