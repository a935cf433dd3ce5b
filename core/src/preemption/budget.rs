//! PodDisruptionBudgets: which evictions would violate one.
//!
//! Mirrors `FilterVictimsWithPDBViolation` of `framework/preemption/util.go`. Budgets are asked in
//! the order of the object table; a budget that is used up ends the walk, so that later ones do not
//! count that pod.

use crate::class::ClassView;
use crate::cluster::Cluster;
use crate::cluster::owner::Budget;
use crate::intern::Word;
use crate::planted::{self, Bug};
use alloc::vec::Vec;

/// Sets the counters to what each budget allows.
pub(super) fn fill(cluster: &Cluster, allowed: &mut Vec<i64>) {
    allowed.clear();
    let budgets = cluster.objects.budgets();
    allowed.extend(budgets.map(|budget| budget.allowed));
}

/// Whether evicting a pod of this class and name violates a budget, counting it in.
pub(super) fn is_violating(
    cluster: &Cluster,
    class: ClassView<'_>,
    name: Word,
    allowed: &mut [i64],
) -> bool {
    if class.labels().0.is_empty() || planted::is(Bug::BudgetIgnored) {
        return false;
    }
    let counts = |budget: &Budget<'_>| budget.counts(class, name, &cluster.texts);
    for (budget, left) in cluster.objects.budgets().zip(allowed) {
        if counts(&budget) {
            *left = left.saturating_sub(1);
            if *left < 0 {
                return true;
            }
        }
    }
    false
}
