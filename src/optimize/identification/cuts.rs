//! Where a recording is cut into windows.

use std::ops::Range;

use crate::optimize::data::RecordedState;

/// The part of a recording that is compared, and the length of its windows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeWindow {
    /// Earliest recorded time used, s.
    pub from: f64,
    /// Latest recorded time used, s.
    pub until: f64,
    /// Longest time simulated from one recorded state, s; a window has at least one recorded
    /// time after its start. Infinite: one window.
    pub horizon: f64,
    /// Whether windows start only at recorded states in which the body touches nothing, in that state,
    /// the one before it and the one after it: velocities computed by differences reach that far.
    /// Recorded states in contact overlap by the errors of the recording, to which a stiff contact
    /// responds with forces that never acted; a fit then makes the contact too soft.
    pub free_starts: bool,
}

impl Default for TimeWindow {
    /// The whole recording from its first state.
    fn default() -> Self {
        Self { from: f64::NEG_INFINITY, until: f64::INFINITY, horizon: f64::INFINITY, free_starts: false }
    }
}

/// Between which recorded states a recording may be cut.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cuts {
    /// The recorded states that are compared.
    pub compared: Range<usize>,
    /// For each recorded state whether the body touches another; empty if windows may start in contact.
    pub touching: Vec<bool>,
}

impl Cuts {
    fn may_start(&self, state: usize) -> bool {
        let beside = state.saturating_sub(1)..(state + 2).min(self.touching.len());
        self.touching.is_empty() || !self.touching[beside].contains(&true)
    }

    /// The recorded states of windows that are as long as the horizon (s), or shorter. Where starts are estimated, a
    /// recorded state belongs to one window.
    pub fn windows(
        &self,
        states: &[RecordedState],
        horizon: f64,
        starts_are_estimated: bool,
    ) -> Vec<Range<usize>> {
        // A start that is estimated takes measurements that say more than where it is.
        let fewest = if starts_are_estimated { 2 } else { 1 };
        let last = self.compared.end - 1;
        let mut windows: Vec<Range<usize>> = Vec::new();
        let mut start = self.compared.start;
        while let Some(next) = (start..last).find(|state| self.may_start(*state)) {
            start = next;
            // Recorded times are rounded; one that is meant to be at the horizon is inside.
            let end = states[start].time + horizon * (1.0 + 1e-9);
            let within = |i: &usize| states[*i].time <= end;
            let stop = (start + 1..=last).take_while(within).last().unwrap_or(start + 1);
            let stop = stop.max(start + fewest).min(last);
            windows.push(start..stop + 1);
            start = stop;
        }
        if starts_are_estimated {
            // What is a measurement of the next window's start is not one of this window's end.
            for next in 1..windows.len() {
                let start = windows[next].start;
                windows[next - 1].end = windows[next - 1].end.min(start);
            }
        }
        windows
    }
}
