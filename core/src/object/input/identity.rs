//! Which objects of an input are the same.

use super::{Invalid, invalid, subject};
use crate::object::Object;
use crate::object::path::Path;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

/// Stands where a dump's UIDs have been taken out.
const NIL_UID: &str = "00000000-0000-0000-0000-000000000000";

/// The places of objects by what must be unique.
pub(super) struct Identities<'o> {
    /// By kind, namespace and name.
    names: HashMap<(&'static str, &'o str, &'o str), usize, FixedState>,
    /// By kind and UID.
    uids: HashMap<(&'static str, &'o str), (usize, &'o Object), FixedState>,
}

impl<'o> Identities<'o> {
    pub(super) fn new(objects: usize) -> Self {
        Self {
            names: HashMap::with_capacity_and_hasher(objects, FixedState::default()),
            uids: HashMap::with_hasher(FixedState::default()),
        }
    }

    /// Adds an object, or tells which earlier one it clashes with.
    pub(super) fn add(&mut self, place: usize, object: &'o Object) -> Option<(usize, Invalid)> {
        let kind = object.kind();
        let metadata = object.metadata();
        let root = Path::root("metadata");
        if !metadata.name.is_empty() {
            match self
                .names
                .entry((kind, &metadata.namespace, &metadata.name))
            {
                Entry::Occupied(earlier) => {
                    let problem = "stands twice in the input; the first one is kept";
                    return Some((*earlier.get(), invalid(&root.key("name"), problem)));
                }
                Entry::Vacant(entry) => {
                    entry.insert(place);
                }
            }
        }
        if metadata.uid.is_empty() || metadata.uid == NIL_UID {
            return None;
        }
        match self.uids.entry((kind, &metadata.uid)) {
            Entry::Occupied(entry) => {
                let (earlier, other) = *entry.get();
                let problem = format_args!("is that of {} too", subject(other));
                Some((earlier, invalid(&root.key("uid"), problem)))
            }
            Entry::Vacant(entry) => {
                entry.insert((place, object));
                None
            }
        }
    }

    /// The place of an object by kind, namespace and name.
    pub(super) fn place(&self, kind: &'static str, namespace: &str, name: &str) -> Option<usize> {
        self.names.get(&(kind, namespace, name)).copied()
    }
}
