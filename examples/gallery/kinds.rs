//! The kinds of steps that closed forms are tried with.

use isobar::Scene;
use isobar::io::SolverKind;

use crate::page::Failure;

/// A kind of step, and whether it is between rigid bodies.
#[derive(Clone, Copy)]
pub struct Kind {
    pub name: &'static str,
    pub solver: SolverKind,
    pub rigid: bool,
    /// The accuracy of a step, m.
    accuracy: Option<f64>,
}

const fn kind(name: &'static str, solver: SolverKind, rigid: bool, accuracy: Option<f64>) -> Kind {
    Kind { name, solver, rigid, accuracy }
}

/// Between compliant bodies, implicit steps first.
pub const COMPLIANT: [Kind; 9] = [
    kind("lagged", SolverKind::Lagged, false, None),
    kind("similar", SolverKind::Similar, false, None),
    kind("tamsi", SolverKind::Tamsi, false, None),
    kind("sap", SolverKind::Sap, false, None),
    kind("semi_implicit_euler", SolverKind::SemiImplicitEuler, false, None),
    kind("rk4", SolverKind::Rk4, false, None),
    kind("bogacki_shampine", SolverKind::BogackiShampine, false, Some(1e-7)),
    kind("dormand_prince", SolverKind::DormandPrince, false, Some(1e-7)),
    kind("radau", SolverKind::Radau, false, Some(1e-6)),
];

/// Between rigid bodies.
pub const RIGID: [Kind; 7] = [
    kind("ecp", SolverKind::Ecp, true, None),
    kind("lcp", SolverKind::Lcp, true, None),
    kind("ncp", SolverKind::Ncp, true, None),
    kind("lagged, rigid", SolverKind::Lagged, true, None),
    kind("similar, rigid", SolverKind::Similar, true, None),
    kind("tamsi, rigid", SolverKind::Tamsi, true, None),
    kind("sap, rigid", SolverKind::Sap, true, None),
];

impl Kind {
    /// A scene file for steps of this kind: what says `rigid = false` in it is rigid where the kind is.
    pub fn scene(&self, text: &str) -> Result<Scene, Failure> {
        let text = if self.rigid { text.replace("rigid = false", "rigid = true") } else { text.to_owned() };
        let accuracy = self.accuracy.map_or(String::new(), |accuracy| format!("accuracy = {accuracy:e}\n"));
        let solver = format!("[solver]\nkind = \"{}\"\n{accuracy}", self.solver.name());
        let mut scene = Scene::parse(&text.replacen("[solver]\n", &solver, 1), "gallery.toml")?;
        match self.solver {
            // Friction is stiff: at v_s = 1 mm/s steps above 0.4 ms are not stable.
            SolverKind::SemiImplicitEuler | SolverKind::Rk4 => scene.time_step = 2e-4,
            // They are as short as the accuracy asks for.
            _ if self.accuracy.is_some() => scene.time_step = 5e-3,
            _ => (),
        }
        Ok(scene)
    }
}
