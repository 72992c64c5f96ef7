//! `isobar gradient`: derivatives of quantities at the end of a motion, by the adjoint.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::messages::text_output;
use super::outputs::print_json;
use super::simulate::simulation_error;
use super::{Error, load_scene, print_motion_warnings};
use isobar::io::Scene;
use isobar::multibody::{Model, Parameter};
use isobar::optimize::identification::parameters_at;
use isobar::optimize::objective::QuantityAtEnd;
use isobar::rollout::{
    ClosedLoop, ClosedLoopGradient, ControlLaw, DifferentiableLoss, MotionWarning, SimulationError,
};

/// Arguments of `isobar gradient`.
#[derive(Debug, Args)]
pub(super) struct GradientArguments {
    /// Scene file, TOML or JSON; `-` for standard input
    scene: PathBuf,
    /// End of the motion, s
    #[arg(long)]
    until: f64,
    /// A quantity at the end, of those that costs of problems may have, such as 'position of ball' or 'contact force of
    /// ball from floor'; 'position of ball, z' is one component. A cost's own spelling says more:
    /// 'position = { body = "ball", relative_to = "table" }' (may be repeated)
    #[arg(long, value_name = "QUANTITY", required = true)]
    of: Vec<String>,
    /// Derivatives with respect to parameters whose names contain this, as `isobar gradient-check` names them, or to the one
    /// that a fit gives this name (may be repeated). Without it to the initial state, materials, masses, sizes, gravity,
    /// commands, and the numbers of joints, drives and loads
    #[arg(long, value_name = "NAME")]
    with_respect_to: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What is printed.
#[derive(Debug, Serialize)]
struct Report {
    file: String,
    /// s.
    until: f64,
    quantities: Vec<Row>,
}

/// A quantity at the end, with its gradient.
#[derive(Debug, Serialize)]
struct Row {
    quantity: String,
    unit: &'static str,
    /// Which components these are; of a single number none is named.
    components: Vec<&'static str>,
    value: Vec<f64>,
    derivatives: Vec<Derivative>,
}

/// The derivative of each component with respect to a parameter.
#[derive(Debug, Serialize)]
struct Derivative {
    with_respect_to: String,
    unit: String,
    derivative: Vec<f64>,
}

/// A component of a quantity, and what it is called.
type Component = (QuantityAtEnd, &'static str);

/// The value of a component at the end, and its derivatives.
type Gradient = (f64, Vec<f64>);

/// What the derivatives are with respect to: parameters of the model, then control values, which are shifted alike in all steps.
struct Inputs {
    parameters: Vec<Parameter>,
    controls: Vec<usize>,
}

/// Simulates forward, and sweeps backward for each component.
pub(super) fn run(arguments: &GradientArguments) -> Result<(), Error> {
    let scene = load_scene(&arguments.scene)?;
    let closed = scene.closed_loop(arguments.until)?;
    let inputs = Inputs::read(&scene.model, &arguments.with_respect_to)?;
    let quantities =
        arguments.of.iter().map(|text| read_quantity(&scene, text)).collect::<Result<Vec<_>, _>>()?;
    let failed = |source| simulation_error(&scene, source);
    let losses: Vec<&Component> = quantities.iter().flat_map(|(.., components)| components).collect();
    let (warnings, gradients) = gradients(&closed, &losses, &inputs).map_err(failed)?;
    print_motion_warnings(&warnings);
    let mut gradients = gradients.into_iter();
    let inputs = inputs.named(&scene.model);
    let row = |(name, unit, components): &(&str, &'static str, Vec<Component>)| {
        let found: Vec<Gradient> = gradients.by_ref().take(components.len()).collect();
        let derivative = |(i, (name, per)): (usize, &(String, &str))| Derivative {
            with_respect_to: name.clone(),
            unit: quotient(unit, per),
            derivative: found.iter().map(|(_, derivatives)| derivatives[i]).collect(),
        };
        Row {
            quantity: (*name).to_owned(),
            unit,
            components: components.iter().map(|(_, name)| *name).filter(|name| !name.is_empty()).collect(),
            value: found.iter().map(|(value, _)| *value).collect(),
            derivatives: inputs.iter().enumerate().map(derivative).collect(),
        }
    };
    let quantities = quantities.iter().map(row).collect();
    let report = Report { file: scene.path.display().to_string(), until: arguments.until, quantities };
    match arguments.json {
        true => print_json(&report),
        false => Ok(print(&mut text_output(), &report)?),
    }
}

/// The quantity of an argument, without the name of a component, with the components that are meant.
fn read_quantity<'t>(scene: &Scene, text: &'t str) -> Result<(&'t str, &'static str, Vec<Component>), Error> {
    let refused = |message: String| Error::Usage(format!("--of: found {text:?}: {message}"));
    let (name, wanted) = match text.rsplit_once(", ") {
        Some((name, axis @ ("x" | "y" | "z"))) => (name, Some(axis)),
        _ => (text, None),
    };
    let quantity = scene.quantity_at_end(name).map_err(refused)?;
    let names: &[&str] = if quantity.dimension() == 1 { &[""] } else { &["x", "y", "z"] };
    let is_wanted = |name: &str| wanted.is_none_or(|wanted| wanted == name);
    let made = names.iter().enumerate().filter(|(_, name)| is_wanted(name)).map(|(i, name)| {
        let loss = QuantityAtEnd::new(&scene.model, quantity, i);
        Ok((loss.map_err(|error| refused(error.to_string()))?, *name))
    });
    let made = made.collect::<Result<Vec<_>, Error>>()?;
    match made.is_empty() {
        true => Err(refused("it is one number, which has no components".to_owned())),
        false => Ok((name.trim(), quantity.unit(), made)),
    }
}

/// The gradient of each component, and what a simulation of the motion has to warn of.
fn gradients(
    closed: &ClosedLoop<'_, ControlLaw>,
    losses: &[&Component],
    inputs: &Inputs,
) -> Result<(Vec<MotionWarning>, Vec<Gradient>), SimulationError> {
    let motion = closed.motion();
    motion.outcome?;
    let losses: Vec<&dyn DifferentiableLoss> = losses.iter().map(|(loss, _)| loss as _).collect();
    let found = closed.loss_gradients_over(&motion.trajectory.states, &losses, &inputs.parameters)?;
    let gradient = |found: ClosedLoopGradient| {
        let (by, mut derivatives) = (found.loss.by_controls, found.loss.by_parameters);
        let along = |&i: &usize| (0..by.steps()).map(|step| by.row(step)[i]).sum::<f64>();
        derivatives.extend(inputs.controls.iter().map(along));
        (found.loss.value, derivatives)
    };
    Ok((motion.warnings, found.into_iter().map(gradient).collect()))
}

impl Inputs {
    /// Those whose names are asked for; without names all that results can depend on, but of meshes and places.
    fn read(model: &Model, wanted: &[String]) -> Result<Self, Error> {
        let controls = 0..model.actuators().len();
        let all = Parameter::all(model);
        if wanted.is_empty() {
            return Ok(Self { parameters: all, controls: controls.collect() });
        }
        let [few, many] = Parameter::beyond_all(model);
        let mut inputs = Self { parameters: Vec::new(), controls: Vec::new() };
        for name in wanted {
            let containing = |list: &[Parameter]| -> Vec<Parameter> {
                list.iter().filter(|parameter| parameter.name(model).contains(name)).copied().collect()
            };
            let found: Vec<usize> =
                controls.clone().filter(|&i| model.control_name(i).contains(name)).collect();
            let mut parameters = [containing(&all), containing(&few)].concat();
            if parameters.is_empty() && found.is_empty() {
                parameters = containing(&many);
            }
            if parameters.is_empty() && found.is_empty() {
                parameters = parameters_at(model, name).unwrap_or_default();
            }
            if parameters.is_empty() && found.is_empty() {
                let names = all.iter().chain(&few).map(|parameter| parameter.name(model));
                let names: Vec<String> = names.chain(controls.map(|i| model.control_name(i))).collect();
                let allowed = format!(
                    "a part of one of these, or of `geometries[0].vertices[0].x` and the like: {}",
                    names.join(", ")
                );
                return Err(Error::Value { name: "with-respect-to", found: name.clone(), allowed });
            }
            parameters.retain(|parameter| !inputs.parameters.contains(parameter));
            inputs.parameters.extend(parameters);
            inputs
                .controls
                .extend(found.into_iter().filter(|i| !inputs.controls.contains(i)).collect::<Vec<_>>());
        }
        Ok(inputs)
    }

    /// Their names and units.
    fn named(&self, model: &Model) -> Vec<(String, &'static str)> {
        let parameters =
            self.parameters.iter().map(|parameter| (parameter.name(model), parameter.unit(model)));
        parameters.chain(self.controls.iter().map(|&i| (model.control_name(i), "N m or N"))).collect()
    }
}

/// The unit of a derivative.
fn quotient(unit: &str, per: &str) -> String {
    let bracketed = |unit: &str| match unit.contains(['/', ' ']) {
        true => format!("({unit})"),
        false => unit.to_owned(),
    };
    if per == "1" { unit.to_owned() } else { format!("{}/{}", bracketed(unit), bracketed(per)) }
}

/// Prints a table for each quantity.
fn print(out: &mut dyn Write, report: &Report) -> std::io::Result<()> {
    let number = |x: &f64| if *x == 0.0 { format!("{:>14}", 0) } else { format!("{x:>14.6e}") };
    let numbers = |all: &[f64]| all.iter().map(number).collect::<Vec<_>>().join(" ");
    for (i, Row { quantity, unit, components, value, derivatives }) in report.quantities.iter().enumerate() {
        let names = derivatives.iter().map(|d| d.with_respect_to.chars().count());
        let width = names.max().unwrap_or(0).max("with respect to".len());
        if i > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{quantity} at {} s", report.until)?;
        if !components.is_empty() {
            let titles: Vec<String> = components.iter().map(|name| format!("{name:>14}")).collect();
            writeln!(out, "{:width$} {}", "", titles.join(" "))?;
        }
        writeln!(out, "{:width$} {}  {unit}", "value", numbers(value))?;
        writeln!(out, "with respect to")?;
        for Derivative { with_respect_to, unit, derivative } in derivatives {
            writeln!(out, "{with_respect_to:width$} {}  {unit}", numbers(derivative))?;
        }
    }
    Ok(())
}
