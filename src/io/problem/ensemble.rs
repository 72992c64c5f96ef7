//! From the tables of a problem file to the members of an ensemble.

use std::path::Path;

use crate::io::document::Document;
use crate::io::document::field_path::FieldPath;
use crate::io::file_error::{FileError, Problem};
use crate::io::problem::costs::cost_term;
use crate::io::problem::draws::{Draws, Variation, drawn_scene, put_draws, variations};
use crate::io::problem::end_time::free_end;
use crate::io::problem::ensemble_schema::EnsembleTable;
use crate::io::problem::file::ProblemFile;
use crate::io::problem::members::{Member, ProblemEnsemble};
use crate::io::problem::optimized_numbers::{
    check_unvaried, design, design_variables, names, tuned_parameters,
};
use crate::io::problem::schema::{CostTable, ProblemTable};
use crate::io::scene::body_tables::{Range, number};
use crate::io::scene::file::Scene;
use crate::multibody::Model;
use crate::optimize::ensemble::{EnsembleMember, EnsembleTask, KnotVariables, Risk, SharedVariables};
use crate::optimize::objective::{Deviation, Objective};
use crate::optimize::trajectory::ControlRange;
use crate::parallel::in_parallel;
use crate::rollout::Controls;
use crate::step::Integrator;

/// Whether a problem is one of an ensemble.
pub(in crate::io) fn is_ensemble(table: &ProblemTable, scene: &Scene) -> bool {
    let given = !table.vary.is_empty() || table.ensemble.is_some() || !table.success.is_empty();
    given || !table.optimizes_commands_alone() || !scene.controllers().is_empty()
}

/// The ensemble of a problem.
pub(in crate::io) fn ensemble(
    (path, document): (&Path, &Document),
    table: &ProblemTable,
    nominal: &ProblemFile,
    warnings: &mut Vec<Problem>,
) -> Result<ProblemEnsemble, FileError> {
    let located = |problem| document.located(problem);
    let root = FieldPath::root();
    if !table.constraints.is_empty() {
        let message = "are given beside controllers or an ensemble, `model_parameters` or `end_time`, for which there are no constraints; a cost with \
                       `deviation = \"above\"` or `\"below\"` and a large weight takes their place";
        return Err(located(Problem::new(root.key("constraints"), message)));
    }
    let settings = settings(table, &root).map_err(located)?;
    let tuned = tuned_parameters(&table.controller_parameters, &nominal.scene, &root, warnings);
    let (tuned, of_controllers): (Vec<_>, Vec<f64>) = tuned.map_err(located)?.into_iter().unzip();
    let designed = design_variables(&table.model_parameters, &table.vary, &nominal.scene, &root, warnings);
    let (designed, of_model): (Vec<_>, Vec<f64>) = designed.map_err(located)?.into_iter().unzip();
    let until_then = |until: f64| {
        let times = nominal.simulation.step_times(until);
        times.map_err(|error| located(Problem::new(root.key("until"), error)))
    };
    let optimized: Vec<(usize, ControlRange)> =
        nominal.controls.iter().map(|control| (control.actuator, control.range)).collect();
    let map = nominal.knots.map(optimized.len(), &until_then(nominal.until)?);
    let map = map.map_err(|error| located(Problem::new(root.key("knots"), error)))?;
    let mut start = nominal.start.clone();
    let parameters = nominal.scene.controller_parameters().to_vec();
    start.extend(of_controllers.into_iter().chain(of_model));
    let end =
        free_end(table, Some(&nominal.knots).filter(|_| !optimized.is_empty()), &root).map_err(located)?;
    let (mut latest, mut field) = (nominal.until, root.key("controller_parameters"));
    if let Some(end) = &end {
        start.push(nominal.until);
        // Up to the end of the step that is under way at the latest end.
        let step = nominal.simulation.time_step;
        (latest, field) = ((end.range.upper / step).ceil() * step, root.key("end_time"));
    }
    let times = until_then(latest)?;
    let variables = SharedVariables::new(Some(KnotVariables { map, optimized }), tuned, designed, end);
    let variables = variables.map_err(|error| located(Problem::new(field, error)))?;
    let (simulation, until) = (nominal.simulation, nominal.until);
    let risk = settings.risk;
    let task = EnsembleTask { settings: simulation, until, variables, parameters, risk };
    let varied = variations(&table.vary, &root.key("vary")).map_err(located)?;
    let (times, seed) = (&times[..], settings.seed);
    let maker = MemberMaker { path, document, table, nominal, varied: &varied, times, seed };
    let made = |draws: Draws, count: usize| -> Result<Vec<(Member, Objective)>, FileError> {
        in_parallel(0..count, |member| maker.member(draws, member)).into_iter().collect()
    };
    let training = made(Draws::Training, settings.members)?.into_iter().map(|(member, _)| member).collect();
    let (test, success) = made(Draws::Test, settings.test)?.into_iter().unzip();
    let definition = format!("{:?} {varied:?}", table.ensemble);
    let of = |t| names(t).map(str::to_owned).collect();
    let design_names = table.model_parameters.iter().map(of).collect();
    Ok(ProblemEnsemble { task, training, test, success, start, design_names, definition })
}

/// The most members that there may be: more are a mistake.
const MOST_MEMBERS: usize = 100_000;

fn settings(table: &ProblemTable, root: &FieldPath) -> Result<EnsembleTable, Problem> {
    let standard = EnsembleTable::default();
    let field = root.key("ensemble");
    let Some(t) = &table.ensemble else {
        if !table.vary.is_empty() {
            let message = "is missing; `[[vary]]` needs the number of members, `ensemble = { members = … }`";
            return Err(Problem::new(field, message));
        }
        return Ok(standard);
    };
    for (key, count, least) in [("members", t.members, 1), ("test", t.test, 0)] {
        if !(least..=MOST_MEMBERS).contains(&count) {
            let message = format!("found {count}; it must be between {least} and {MOST_MEMBERS}");
            return Err(Problem::new(field.key(key), message));
        }
    }
    let here = field.key("risk");
    match t.risk {
        Risk::SmoothWorst(temperature) => {
            number(temperature, Range::Positive, &here.key("smooth_worst"))?;
        }
        Risk::ConditionalValue(part) if !(part > 0.0 && part <= 1.0) => {
            let message =
                format!("found {part}; it must be above 0 and at most 1, the part of the members that count");
            return Err(Problem::new(here.key("conditional_value"), message));
        }
        _ => {}
    }
    Ok(EnsembleTable { members: t.members, test: t.test, seed: t.seed, risk: t.risk })
}

/// Makes members.
struct MemberMaker<'p> {
    path: &'p Path,
    document: &'p Document,
    table: &'p ProblemTable,
    nominal: &'p ProblemFile,
    varied: &'p [Variation],
    times: &'p [f64],
    seed: u64,
}

impl MemberMaker<'_> {
    /// A member, and what a success of it is.
    fn member(&self, draws: Draws, member: usize) -> Result<(Member, Objective), FileError> {
        let Self { document, table, nominal, varied, seed, .. } = *self;
        let located = |problem| document.located(problem);
        let other;
        let scene = match varied.is_empty() {
            true => &nominal.scene,
            false => {
                other = self.scene(draws, member)?;
                &other
            }
        };
        let mut controllers = scene.controllers().to_vec();
        if table.ensemble.is_some() {
            let stream = draws.stream(member);
            controllers
                .iter_mut()
                .flat_map(|c| &mut c.noise)
                .for_each(|noise| *noise = noise.of_stream(stream ^ seed));
        }
        let of = (&scene.model, nominal.simulation.integrator);
        let objective = match varied.is_empty() {
            true => nominal.objective.clone(),
            false => objective(&table.costs, "costs", of).map_err(located)?,
        };
        let success = success(&table.success, of).map_err(located)?;
        let controls = Controls::of_commands(&scene.commands, self.times);
        let name = draws.name(member);
        let models = (&scene.model, &nominal.scene.model);
        check_unvaried(&table.model_parameters, models, &FieldPath::root()).map_err(located)?;
        let named = table.model_parameters.iter().map(names);
        let design = design(&scene.model, named, &FieldPath::root()).map_err(located)?;
        let (model, initial) = (scene.model.clone(), scene.state.clone());
        let residuals = objective;
        Ok((EnsembleMember { name, model, initial, controllers, controls, design, residuals }, success))
    }

    fn scene(&self, draws: Draws, member: usize) -> Result<Scene, FileError> {
        let Self { path, document, table, nominal, varied, seed, .. } = *self;
        let mut put = Ok(Vec::new());
        let file = match drawn_scene(varied, seed, draws, member) {
            Some((name, field)) => document.named_file(&field, Path::new(&name))?,
            None => document.named_file(&FieldPath::root().key("scene"), &table.scene)?,
        };
        let scene = Scene::load_changed(&file, |scene| {
            put = put_draws(varied, seed, draws, member, scene);
        });
        let put = put.map_err(|problem| document.located(problem))?;
        let scene = scene.map_err(|error| of_draw(error, &put, &draws.name(member), document))?;
        let field = FieldPath::root().key("vary");
        let own = |s: &Scene| -> Vec<String> { s.model.actuators.iter().map(|a| a.name.clone()).collect() };
        let mismatch = |what: &str| {
            let message = format!(
                "the scene of {}, {}, has other {what} than {}; all members must have the same",
                draws.name(member),
                scene.path.display(),
                path.display()
            );
            Err(document.located(Problem::new(field.clone(), message)))
        };
        let names = |s: &Scene| -> Vec<String> {
            s.feedback.parameter_names().into_iter().map(|(name, _)| name).collect()
        };
        if own(&scene) != own(&nominal.scene) {
            return mismatch("actuators");
        }
        if names(&scene) != names(&nominal.scene)
            || scene.controller_parameters().len() != nominal.scene.controller_parameters().len()
        {
            return mismatch("parameters of controllers");
        }
        if scene.simulation_settings()? != nominal.simulation {
            return mismatch("solver settings");
        }
        Ok(scene)
    }
}

/// What is wrong with the scene of a member, said of the table that put it there.
fn of_draw(error: FileError, put: &[(FieldPath, FieldPath)], member: &str, document: &Document) -> FileError {
    let FileError::Invalid { path, field, message, .. } = &error else { return error };
    let is_it = |(place, _): &&(FieldPath, FieldPath)| {
        let place = place.to_string();
        field.starts_with(&place) || place.starts_with(field)
    };
    let Some((_, table)) = put.iter().find(is_it) else { return error };
    let message = format!("{member} has `{field}` of {}: {message}", path.display());
    document.located(Problem::new(table.clone(), message))
}

/// The objective of cost tables in a scene.
fn objective(tables: &[CostTable], key: &str, of: (&Model, Integrator)) -> Result<Objective, Problem> {
    let field = FieldPath::root().key(key);
    let terms = tables.iter().enumerate().map(|(i, t)| Ok(cost_term(t, of, &field.index(i))?.1));
    let terms = terms.collect::<Result<Vec<_>, Problem>>()?;
    let (model, _) = of;
    Objective::new(model, model.command_dimension(), terms).map_err(|e| Problem::new(field, e))
}

/// What a success is in a scene.
fn success(tables: &[CostTable], of: (&Model, Integrator)) -> Result<Objective, Problem> {
    for (i, t) in tables.iter().enumerate() {
        if t.deviation == Deviation::Both {
            let field = FieldPath::root().key("success").index(i).key("deviation");
            let message = "must be `above` or `below`: which deviations from the target are failures";
            return Err(Problem::new(field, message));
        }
    }
    objective(tables, "success", of)
}
