//! An attempt that fails inside Berth: its pod is set aside, and the others go on.
//!
//! The core does not panic; should it, or what asks extenders, one pod must neither end the process nor
//! hold up the rest. What happens again and again is no matter of one pod, and the state is not believed
//! any more: the loop ends, and the process with it.

use super::Loop;
use crate::run::events::Event;
use crate::run::pod_ref::PodRef;
use berth_core::Outcome;
use berth_core::id::PodId;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// So many within [`SPAN`] are no matter of one pod.
const FAILURES_MAX: usize = 3;
const SPAN: Duration = Duration::from_mins(1);

/// The last failures.
#[derive(Debug, Default)]
pub struct Guard {
    times: Vec<Instant>,
    is_over: bool,
}

impl Guard {
    /// Whether nothing is to be tried any more.
    pub const fn is_over(&self) -> bool {
        self.is_over
    }

    fn failed(&mut self) {
        self.times.retain(|time| time.elapsed() < SPAN);
        self.times.push(Instant::now());
        self.is_over |= self.times.len() > FAILURES_MAX;
    }
}

/// Runs something to its end, or says what it panicked with.
pub fn guarded<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|payload| said(&*payload))
}

fn said(payload: &(dyn Any + Send)) -> String {
    let text = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "it does not say why".to_owned())
}

impl Loop {
    /// Takes the pods out on which an attempt failed; each comes again when it changes. Whether anything
    /// is tried after that.
    pub(super) fn set_aside(&mut self, why: &str) -> bool {
        self.guard.failed();
        let told = guarded(|| {
            for pod in self.stuck() {
                let pod = PodRef::of(&self.model, pod);
                let note =
                    format!("Berth failed on this pod, and leaves it until it changes: {why}");
                tracing::error!(target: "loop", pod = pod.key(), why, "An attempt failed inside Berth");
                self.events.tell(Event {
                    type_: "Warning",
                    reason: "FailedScheduling",
                    action: "Scheduling",
                    controller: self.controller(&pod),
                    regarding: pod.reference(),
                    related: None,
                    note: note.clone(),
                });
                self.model.set_aside(&pod.namespace, &pod.name, note);
            }
        });
        if told.is_err() {
            self.guard.is_over = true;
        }
        !self.guard.is_over
    }

    /// Pods that were taken out of the queue and came to nothing.
    fn stuck(&mut self) -> Vec<PodId> {
        let scheduler = self.model.scheduler();
        let nowhere = |pod: &PodId| scheduler.waits(*pod) && scheduler.queue_part(*pod).is_none();
        let mut pods: Vec<PodId> = scheduler.pods().filter(nowhere).collect();
        // What is not supported is in no queue either, and was told so.
        pods.retain(|pod| {
            let judged = guarded(|| self.model.intake.evaluate(*pod).outcome);
            !matches!(judged, Ok(Outcome::Unsupported(_)))
        });
        pods
    }
}
