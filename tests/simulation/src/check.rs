//! The checkers. They share no code with core: sums and verdicts come from the naive twin, queue
//! facts from `expected.rs`.

mod decision;
mod places;
mod pop;
mod preemption;
mod rebuild;
mod volumes;
mod waiting;

pub(crate) use decision::judged;
pub(crate) use places::{places, sums};
pub(crate) use pop::{Before, popped};
pub(crate) use rebuild::{rebuilt, whole};
pub(crate) use volumes::{bound_once, promises, taken, volumes_bound, volumes_hold};
pub(crate) use waiting::{lost, parked};
