//! `SchedulingGates`: a pod with a gate is not tried until the last one is gone.
//!
//! Mirrors `plugins/schedulinggates/scheduling_gates.go`. Acts at PreEnqueue: a gated pod gets the
//! outcome [`Outcome::Gated`](crate::Outcome::Gated) where its profile runs the plugin there.

use super::Plugin;
use crate::class::{Class, flag};
use crate::cycle::plan::Plan;

/// Whether the pod has to wait for its gates.
pub(crate) fn gates(class: &Class, plan: &Plan) -> bool {
    class.has(flag::GATED) && plan.pre_enqueues(Plugin::SchedulingGates)
}
