//! From the load tables of a scene file to loads.

use std::path::{Path, PathBuf};

use nalgebra::Vector3;

use crate::input_file;
use crate::io::document::field_path::FieldPath;
use crate::io::file_error::{Problem, check_name};
use crate::io::scene::body_tables::{Range, number, vector};
use crate::io::scene::load_schema::{LoadHistoryTable, LoadInterpolationTable, LoadTable, LoadValueTable};
use crate::io::strict::Exactly;
use crate::multibody::{Body, Load, LoadHistory, LoadKind};
use crate::shown::list;

/// The loads on the bodies of a scene; files are found relative to the folder, and added to `files`.
pub(in crate::io) fn loads(
    tables: &[LoadTable],
    bodies: &[Body],
    folder: &Path,
    files: &mut Vec<PathBuf>,
) -> Result<Vec<Load>, Problem> {
    let mut loads = Vec::new();
    for (i, t) in tables.iter().enumerate() {
        let table = FieldPath::root().key("loads").index(i);
        let name = t.name.clone().unwrap_or_else(|| format!("loads[{i}]"));
        if let Some(own) = &t.name {
            check_name(own, &table.key("name"))?;
            if let Some(first) = tables[..i].iter().position(|other| other.name.as_ref() == Some(own)) {
                let message = format!("found `{own}`, the name of loads[{first}] too; names must be unique");
                return Err(Problem::new(table.key("name"), message));
            }
        }
        let all: Vec<_> = bodies.iter().map(|body| (body.name.clone(), body.is_free())).collect();
        let body = free_body(&t.body, &all, &table.key("body"))?;
        if t.force.is_none() && t.torque.is_none() {
            return Err(Problem::new(
                table,
                "found neither `force` nor `torque`; a load has at least one of them",
            ));
        }
        if t.force.is_none() && t.point.is_some() {
            return Err(Problem::new(table.key("point"), "found without `force`, which acts there"));
        }
        let point = match t.point {
            Some(point) => vector(point, Range::Finite, &table.key("point"))?,
            None => Vector3::zeros(),
        };
        let frame = t.frame.frame();
        let parts = [("force", &t.force, LoadKind::Force { point }), ("torque", &t.torque, LoadKind::Torque)];
        for (key, value, kind) in parts {
            if let Some(value) = value {
                let history = history(value, folder, &table.key(key), files)?;
                loads.push(Load { name: name.clone(), body, kind, frame, history });
            }
        }
    }
    Ok(loads)
}

/// The index of the free body with a name, among bodies by their names and whether they move freely.
pub(in crate::io) fn free_body(
    name: &str,
    bodies: &[(String, bool)],
    field: &FieldPath,
) -> Result<usize, Problem> {
    match bodies.iter().position(|(own, _)| own == name) {
        Some(body) if bodies[body].1 => Ok(body),
        Some(_) => {
            let message = format!("`{name}` does not move freely; loads are for bodies that do");
            Err(Problem::new(field.clone(), message))
        }
        None => {
            let free = bodies.iter().filter(|(_, is_free)| *is_free);
            let known = list(free.map(|(name, _)| format!("`{name}`")));
            let message = format!("there is no body `{name}`; those that move freely are {known}");
            Err(Problem::new(field.clone(), message))
        }
    }
}

/// A value over time.
fn history(
    value: &LoadValueTable,
    folder: &Path,
    field: &FieldPath,
    files: &mut Vec<PathBuf>,
) -> Result<LoadHistory, Problem> {
    let t = match value {
        LoadValueTable::Constant(value) => {
            return vector(*value, Range::Finite, field).map(LoadHistory::Constant);
        }
        LoadValueTable::OverTime(table) => table,
    };
    check_way(t, field)?;
    let linear = t.interpolation == Some(LoadInterpolationTable::Linear);
    if let Some(period) = t.period {
        let part = |value: Option<Exactly<f64, 3>>, key: &str| match value {
            Some(value) => vector(value, Range::Finite, &field.key(key)),
            None => Ok(Vector3::zeros()),
        };
        return Ok(LoadHistory::Periodic {
            period: number(period, Range::Positive, &field.key("period"))?,
            mean: part(t.mean, "mean")?,
            sine: part(t.sine, "sine")?,
            cosine: part(t.cosine, "cosine")?,
        });
    }
    if let Some(file) = &t.file {
        let path = folder.join(file);
        let rows = read_rows(&path).map_err(|message| Problem::new(field.key("file"), message))?;
        files.push(path);
        let (times, values) = rows.into_iter().unzip();
        return Ok(LoadHistory::Knots { times, values, linear });
    }
    let (times, given) = (t.times.clone().unwrap_or_default(), t.values.as_deref().unwrap_or_default());
    for (i, &time) in times.iter().enumerate() {
        let field = field.key("times").index(i);
        number(time, Range::Finite, &field)?;
        if i > 0 && time <= times[i - 1] {
            let message = format!("found {time} after {}; times must increase", times[i - 1]);
            return Err(Problem::new(field, message));
        }
    }
    if times.is_empty() || given.len() != times.len() {
        let message = format!(
            "found {} for {} times; there must be one for each, and at least one",
            given.len(),
            times.len()
        );
        return Err(Problem::new(field.key("values"), message));
    }
    let value =
        |(i, value): (usize, &Exactly<f64, 3>)| vector(*value, Range::Finite, &field.key("values").index(i));
    let values = given.iter().enumerate().map(value).collect::<Result<_, _>>()?;
    Ok(LoadHistory::Knots { times, values, linear })
}

/// Checks that a load over time is given in one way.
fn check_way(t: &LoadHistoryTable, field: &FieldPath) -> Result<(), Problem> {
    let of_knots = [("times", t.times.is_some()), ("values", t.values.is_some())];
    let of_file = [("file", t.file.is_some())];
    let of_period = [("mean", t.mean.is_some()), ("sine", t.sine.is_some()), ("cosine", t.cosine.is_some())];
    let refuse = |others: &[(&str, bool)], way: &str| match others.iter().find(|(_, given)| *given) {
        Some((key, _)) => {
            Err(Problem::new(field.key(key), format_args!("found beside `{way}`; a load has one of the two")))
        }
        None => Ok(()),
    };
    if t.period.is_some() {
        refuse(&of_knots, "period")?;
        refuse(&of_file, "period")?;
        return refuse(&[("interpolation", t.interpolation.is_some())], "period");
    }
    if let Some((key, _)) = of_period.iter().find(|(_, given)| *given) {
        return Err(Problem::new(field.key(key), "found without `period`, which it is for"));
    }
    if t.file.is_some() {
        return refuse(&of_knots, "file");
    }
    match of_knots.iter().find(|(_, given)| !given) {
        Some((key, _)) => Err(Problem::new(
            field.key(key),
            "is missing; a load over time has `times` and `values`, a `file` or a `period`",
        )),
        None => Ok(()),
    }
}

/// Times and values of a CSV file.
fn read_rows(path: &Path) -> Result<Vec<(f64, Vector3<f64>)>, String> {
    let text =
        input_file::read_text(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let mut rows: Vec<(f64, Vector3<f64>)> = Vec::new();
    for (line, row) in text.lines().enumerate().skip(1).filter(|(_, row)| !row.trim().is_empty()) {
        let here = || format!("{}, line {}", path.display(), line + 1);
        let number = |cell: &str| cell.trim().parse::<f64>().ok().filter(|x| x.is_finite());
        let cells: Option<Vec<f64>> = row.split(',').map(number).collect();
        match cells.as_deref() {
            Some(&[time, x, y, z]) => {
                if let Some((last, _)) = rows.last()
                    && time <= *last
                {
                    return Err(format!(
                        "{}: found the time {time} after {last}; times must increase",
                        here()
                    ));
                }
                rows.push((time, Vector3::new(x, y, z)));
            }
            _ => {
                return Err(format!("{}: found `{row}`; a line has four numbers: time, x, y, z", here()));
            }
        }
    }
    if rows.is_empty() {
        return Err(format!("{}: found no numbers below the line of names", path.display()));
    }
    Ok(rows)
}
