//! Names of the pods that are made.

use super::identity::Identities;
use crate::object::expand::Expansion;
use alloc::collections::BTreeMap;

/// Numbers for the names of pods that are made: the next that no pod of the input has.
pub(super) struct Names<'a, 'o> {
    identities: &'a Identities<'o>,
    /// By namespace and name of the workload: two kinds may share them.
    next: BTreeMap<(&'o str, &'o str), u64>,
}

impl<'a, 'o> Names<'a, 'o> {
    pub(super) fn new(identities: &'a Identities<'o>) -> Self {
        Self {
            identities,
            next: BTreeMap::new(),
        }
    }

    /// The objects whose names are taken.
    pub(super) fn identities(&self) -> &'a Identities<'o> {
        self.identities
    }

    /// The number of a workload's next pod.
    pub(super) fn next(&mut self, expansion: &Expansion<'o>) -> u64 {
        let workload = expansion.metadata();
        let next = self.next.entry((&workload.namespace, &workload.name));
        let next = next.or_insert_with(|| expansion.first_ordinal());
        loop {
            let ordinal = *next;
            *next = ordinal.saturating_add(1);
            let name = expansion.name(ordinal);
            let taken = self.identities.place("Pod", &workload.namespace, &name);
            if taken.is_none() {
                return ordinal;
            }
        }
    }
}
