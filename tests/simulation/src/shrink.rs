//! Makes a failing script smaller: fewer steps, fewer faults, the same violation.

use crate::action::Action;
use crate::fault::{Fault, Faults};
use crate::run::{Failure, play};
use crate::setup::Setup;
use std::rc::Rc;

/// A script that fails.
#[derive(Clone, Debug)]
pub struct Small {
    pub actions: Vec<Action>,
    pub faults: Faults,
    pub failure: Failure,
}

/// Leaves out what is not needed, in at most `tries` runs.
pub fn shrink(setup: &Rc<Setup>, script: &[Action], failure: Failure, mut tries: usize) -> Small {
    let mut small = Small {
        actions: script.to_vec(),
        faults: setup.faults,
        failure,
    };
    small.cut();
    let mut try_it = |small: &mut Small, actions: &[Action], faults: Faults| {
        if tries == 0 {
            return false;
        }
        tries -= 1;
        let outcome = play(setup, actions, faults);
        match outcome.failure {
            Some(failure) if failure.violation.what == small.failure.violation.what => {
                *small = Small {
                    actions: actions.to_vec(),
                    faults,
                    failure,
                };
                small.cut();
                true
            }
            _ => false,
        }
    };
    for fault in Fault::ALL {
        if small.faults.has(fault) {
            let (actions, faults) = (small.actions.clone(), small.faults.without(fault));
            try_it(&mut small, &actions, faults);
        }
    }
    let mut run = small.actions.len();
    while run > 0 {
        let mut end = small.actions.len();
        while end > 0 {
            let start = end.saturating_sub(run);
            let mut rest = small.actions.clone();
            rest.drain(start..end.min(rest.len()));
            let faults = small.faults;
            try_it(&mut small, &rest, faults);
            end = start.min(small.actions.len());
        }
        run /= 2;
    }
    small
}

impl Small {
    /// Nothing after the failing step is needed.
    fn cut(&mut self) {
        if let Some(step) = self.failure.step {
            self.actions.retain(|action| action.number <= step);
        }
    }

    /// The steps, as numbers and ranges.
    pub fn steps(&self) -> String {
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for action in &self.actions {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == action.number => *last = action.number,
                _ => ranges.push((action.number, action.number)),
            }
        }
        let one = |(first, last): &(usize, usize)| {
            if first == last {
                format!("{first}")
            } else {
                format!("{first}-{last}")
            }
        };
        ranges.iter().map(one).collect::<Vec<_>>().join(",")
    }

    /// The faults, by name.
    pub fn fault_names(&self) -> String {
        let all = Fault::ALL.into_iter().filter(|own| self.faults.has(*own));
        all.map(|fault| format!("{fault:?}"))
            .collect::<Vec<_>>()
            .join(",")
    }
}

/// Reads what [`Small::steps`] writes.
///
/// # Errors
/// The part that is no number or range.
pub fn read_steps(text: &str) -> Result<Vec<usize>, String> {
    let mut steps = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| {
            text.parse::<usize>()
                .map_err(|error| format!("{text}: {error}"))
        };
        steps.extend(number(first)?..=number(last)?);
    }
    Ok(steps)
}
