//! The derivatives of a fit's residuals against differences, and in the way that the fit makes them.

use std::path::{Path, PathBuf};

use super::{Error, print_warnings};
use isobar::check::{
    CheckSettings, CheckedParameter, GradientReport, check_jacobian, compare_jacobians, tightest_first,
};
use isobar::io::{FileError, FitFile};
use isobar::optimize::identification::Identification;
use isobar::optimize::least_squares::{Residuals, residuals_and_jacobian_holding};

/// Checks the Jacobian of the residuals, measurement by measurement, with respect to the parameters of a
/// fit, at the start and at the results of a fit that are given; in dual numbers through whole motions, and
/// as the fit composes it from derivatives of steps.
pub(super) fn check_fit(
    path: &Path,
    at: &[PathBuf],
    settings: &CheckSettings,
) -> Result<GradientReport, Error> {
    let file = FitFile::load(path)?;
    print_warnings(file.warnings());
    let start = file.parameters.initial();
    let mut points = vec![("at the start".to_owned(), start.clone())];
    for path in at {
        points.push((format!("at {}", path.display()), saved_values(&file, path)?));
    }
    let failed = |source: &dyn std::fmt::Display| Error::Fit {
        path: path.display().to_string(),
        message: source.to_string(),
    };
    let identification = solved_tightly(file.identification()?, &start);
    let parameters: Vec<CheckedParameter> = file
        .parameters
        .as_slice()
        .iter()
        .map(|parameter| CheckedParameter {
            name: parameter.name.clone(),
            unit: 1.0,
            scale: parameter.scale(),
        })
        .collect();
    let mut all = GradientReport { allowed_undecided: settings.undecided, ..Default::default() };
    for (when, values) in points {
        // Derivatives are those with the substeps held; so are the differences that they are compared with.
        let substeps = identification.find_substeps(&values).map_err(|e| failed(&e))?;
        let holding = |x: &[f64]| identification.residuals_by_measurement(x, Some(&substeps));
        let groups = holding(&values).map_err(|e| failed(&e))?;
        let (_, jacobian) = residuals_and_jacobian_holding(&identification, &values, Some(&substeps))
            .map_err(|e| failed(&e))?;
        let mut columns: Vec<Vec<Vec<f64>>> = Vec::with_capacity(values.len());
        for column in jacobian.column_iter() {
            let mut rest = column.as_slice();
            let part = |(_, residuals): &(&str, Vec<f64>)| {
                let (part, after) = rest.split_at(residuals.len());
                rest = after;
                part.to_vec()
            };
            columns.push(groups.iter().map(part).collect());
        }
        let quantities: Vec<(String, usize)> = groups
            .iter()
            .map(|(name, residuals)| (format!("residuals of {name} {when}"), residuals.len()))
            .collect();
        let names: Vec<&str> = quantities.iter().map(|(name, _)| name.as_str()).collect();
        let residuals = |x: &[f64]| Ok(holding(x)?.into_iter().map(|(_, residuals)| residuals).collect());
        let checked = check_jacobian(&names, &parameters, residuals, &values, &columns, settings);
        all.rows.extend(checked.map_err(|e: isobar::optimize::ProblemError| failed(&e))?.rows);
        let composed = identification.residuals_with_composed_jacobian(&values, Some(&substeps));
        let (_, composed) = composed.map_err(|e| failed(&e))?;
        let way = format!("residuals {when}, Jacobians of steps, as the fit has them");
        compare_jacobians(&way, &quantities, &parameters, (&jacobian, composed), &mut all);
    }
    Ok(all)
}

/// The values of the fit's parameters in a result of `isobar fit`.
fn saved_values(file: &FitFile, path: &Path) -> Result<Vec<f64>, Error> {
    let values = FitFile::read_parameter_values(path)?;
    let of = |name: &str| {
        values.get(name).copied().ok_or_else(|| {
            Error::File(FileError::Invalid {
                path: path.to_owned(),
                line: None,
                field: "the file".to_owned(),
                message: format!("it has no value of `{name}`, a parameter of this fit"),
            })
        })
    };
    file.parameters.as_slice().iter().map(|parameter| of(&parameter.name)).collect()
}

/// Lets implicit steps be solved as tightly as they can be at the start, so that differences of
/// residuals have little noise.
fn solved_tightly(mut identification: Identification, start: &[f64]) -> Identification {
    for method in tightest_first(identification.integrator()) {
        identification.set_integrator(method);
        if identification.residuals_by_measurement(start, None).is_ok() {
            break;
        }
    }
    identification
}
