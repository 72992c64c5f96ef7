use std::sync::{Arc, Mutex};

use argmin::core::Error;

use super::estimated_starts::{noisy_identification, unknown};
use super::*;
use crate::optimize::checkpoint::{CheckpointStore, ProblemCheckpoints};
use crate::optimize::fit::{FitStarts, fit_from_starts};

/// All that was ever kept.
#[derive(Default)]
struct Memory(Mutex<Vec<String>>);

impl CheckpointStore for Memory {
    fn load(&self) -> Result<Option<String>, Error> {
        Ok(self.0.lock().unwrap().last().cloned())
    }
    fn save(&self, text: &str) -> Result<(), Error> {
        self.0.lock().unwrap().push(text.to_owned());
        Ok(())
    }
}

/// A fit that is interrupted comes to the same bits as one that is not.
#[test]
fn an_interrupted_fit_is_the_same_fit() {
    let settings = FitSettings { cost_tolerance: 1e-12, ..Default::default() };
    let lbfgs = FitSettings { method: Method::Lbfgs, ..settings };
    let scattered = FitSettings { starts: FitStarts { count: 2, spread: 0.2, seed: 1 }, ..settings };
    let dormand_prince = ErrorControlled { method: ControlledMethod::DormandPrince, accuracy: 1e-4 };
    let controlled =
        SimulationSettings { integrator: Integrator::ErrorControlled(dormand_prince), time_step: 5e-3 };
    let fixed = EXPLICIT;
    let (near, far) = (unknown(1900.0, 0.25), unknown(200.0, 3.0));
    let cases = [
        (settings, fixed, &far, f64::INFINITY, true),
        (settings, fixed, &near, 0.1, false),
        (FitSettings { cost_tolerance: 0.0, ..settings }, fixed, &near, 0.1, false),
        (settings, controlled, &near, 0.1, true),
        (settings, controlled, &near, f64::INFINITY, false),
        (lbfgs, fixed, &near, 0.1, true),
        (lbfgs, controlled, &near, 0.1, true),
        (scattered, fixed, &near, 0.1, true),
    ];
    let mut stages: Vec<String> = Vec::new();
    for (k, (settings, simulation, parameters, horizon, estimated)) in cases.into_iter().enumerate() {
        let fitted = |stores: &[Arc<Memory>]| {
            let problem = noisy_identification(7, horizon, estimated);
            let problem = Identification { settings: simulation, ..problem };
            let place = |start: usize| {
                let store: Arc<dyn CheckpointStore> = Arc::clone(stores.get(start)?) as _;
                Some(ProblemCheckpoints { store, problem: "it".to_owned() })
            };
            fit_from_starts(&problem, parameters, &settings, |_| None, place).unwrap()
        };
        let stores = || [0, 1].map(|_| Arc::new(Memory::default()));
        let whole = fitted(&[]);
        let kept = stores();
        assert_eq!(fitted(&kept), whole, "case {k}");
        let texts = kept.each_ref().map(|store| store.0.lock().unwrap().clone());
        assert!(texts[0].len() > 2, "case {k}: {} iterations", texts[0].len());
        // Every third save, and the last: those between are of the same stages.
        let last = texts[0].len() - 1;
        for (i, text) in texts[0].iter().enumerate().filter(|(i, _)| i % 3 == 0 || *i == last) {
            let resumed = stores();
            resumed[0].save(text).unwrap();
            // The other start, if there is one, has come to somewhere else.
            if let Some(text) = texts[1].get(i / 2) {
                resumed[1].save(text).unwrap();
            }
            assert_eq!(fitted(&resumed), whole, "case {k}, after save {i}");
            let saved: serde_json::Value = serde_json::from_str(text).unwrap();
            stages.push(saved["begun"]["stage"].to_string());
        }
        println!(
            "case {k}: {} saves, {}, {} iterations",
            texts[0].len(),
            whole.termination,
            whole.iterations
        );
    }
    for stage in ["\"eased\"", "\"whole\"", "{\"held\":1}"] {
        assert!(stages.iter().any(|found| found == stage), "{stage} in {stages:?}");
    }
}
