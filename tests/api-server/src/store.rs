//! Objects, the version that counts their changes, and the changes that are remembered.

use crate::kind::{KINDS, Kind};
use crate::stored::Stored;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Where an object is: kind, namespace, name.
pub(crate) type Key = (&'static Kind, String, String);

/// A step from one version to the next.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    pub(crate) version: u64,
    pub(crate) key: Key,
    pub(crate) before: Option<Arc<Stored>>,
    /// `None` of what was deleted.
    pub(crate) after: Option<Arc<Stored>>,
    /// Watches never hear of it.
    pub(crate) lost: bool,
}

/// All there is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Store {
    version: u64,
    /// Changes up to here are forgotten.
    forgotten: u64,
    objects: BTreeMap<Key, Arc<Stored>>,
    changes: Vec<Change>,
    /// Kinds, by their place in [`KINDS`], of which there is something new to tell.
    touched: u32,
}

/// Each kind has its bit.
const _: () = assert!(KINDS.len() <= 32);

impl Store {
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    pub(crate) fn get(&self, key: &Key) -> Option<&Arc<Stored>> {
        self.objects.get(key)
    }

    /// There is something to tell of every kind.
    pub(crate) fn touch_all(&mut self) {
        self.touched = u32::MAX;
    }

    /// Kinds that were touched since the last time, as bits.
    pub(crate) fn take_touched(&mut self) -> u32 {
        std::mem::take(&mut self.touched)
    }

    /// The objects of a kind, in the order of their names, as of now.
    pub(crate) fn all(&self, kind: &'static Kind) -> impl Iterator<Item = &Arc<Stored>> {
        let first = (kind, String::new(), String::new());
        let rest = self.objects.range(first..);
        rest.take_while(move |((of, ..), _)| *of == kind)
            .map(|(_, object)| object)
    }

    /// The store as it was at a version. `None` if that is forgotten or still to come.
    pub(crate) fn at(&self, version: u64) -> Option<Cow<'_, Self>> {
        if version < self.forgotten || version > self.version {
            return None;
        }
        if version == self.version {
            return Some(Cow::Borrowed(self));
        }
        let mut then = self.clone();
        while let Some(change) = then.changes.pop_if(|change| change.version > version) {
            match change.before {
                Some(before) => then.objects.insert(change.key, before),
                None => then.objects.remove(&change.key),
            };
        }
        then.version = version;
        Some(Cow::Owned(then))
    }

    /// What followed a version. `None` if that is forgotten.
    pub(crate) fn since(&self, version: u64) -> Option<&[Change]> {
        let first = self
            .changes
            .partition_point(|change| change.version <= version);
        (version >= self.forgotten).then(|| self.changes.get(first..).unwrap_or_default())
    }

    /// Sets an object, whose version becomes the new one, and gives it back.
    pub(crate) fn put(&mut self, key: &Key, object: Value, lost: bool) -> Arc<Stored> {
        let object = Arc::new(Stored::new(self.completed(key, object)));
        let before = self.objects.insert(key.clone(), Arc::clone(&object));
        self.note(key, before, Some(Arc::clone(&object)), lost);
        object
    }

    /// Sets an object that was there before anybody came: no watch hears of it, and only its text is kept.
    pub(crate) fn fill(&mut self, key: &Key, object: Value) {
        let object = Stored::text_alone(&self.completed(key, object));
        self.objects.insert(key.clone(), Arc::new(object));
        self.forgotten = self.version;
    }

    /// What a server writes into an object, whose version is the next one.
    fn completed(&mut self, key: &Key, mut object: Value) -> Value {
        self.version += 1;
        let metadata = &mut object["metadata"];
        metadata["name"] = json!(key.2);
        if key.0.namespaced {
            metadata["namespace"] = json!(key.1);
        }
        if metadata["uid"].as_str().is_none_or(str::is_empty) {
            metadata["uid"] = json!(format!("uid-{}", self.version));
        }
        if metadata["creationTimestamp"].is_null() {
            metadata["creationTimestamp"] = json!(CREATED);
        }
        metadata["resourceVersion"] = json!(self.version.to_string());
        object["apiVersion"] = json!(key.0.api_version());
        object["kind"] = json!(key.0.kind);
        object
    }

    /// Removes an object, if it is there, and gives it back as its watchers see it last.
    pub(crate) fn remove(&mut self, key: &Key, lost: bool) -> Option<Arc<Stored>> {
        let before = self.objects.remove(key)?;
        self.version += 1;
        let last = before.at_version(self.version);
        self.note(key, Some(before), None, lost);
        Some(Arc::new(last))
    }

    /// Forgets all changes up to now, as etcd does when it is compacted.
    pub(crate) fn forget(&mut self) {
        self.forgotten = self.version;
        self.changes.clear();
        self.touch_all();
    }

    fn note(
        &mut self,
        key: &Key,
        before: Option<Arc<Stored>>,
        after: Option<Arc<Stored>>,
        lost: bool,
    ) {
        self.touched |= 1 << key.0.place();
        self.changes.push(Change {
            version: self.version,
            key: key.clone(),
            before,
            after,
            lost,
        });
    }
}

/// When everything was created: there is no clock here.
pub(crate) const CREATED: &str = "2026-01-01T00:00:00Z";

#[cfg(test)]
mod tests {
    use super::{Key, Store};
    use crate::kind::Kind;
    use serde_json::json;

    #[test]
    fn an_earlier_version_is_as_it_was_until_it_is_forgotten() {
        let mut store = Store::default();
        let key: Key = (Kind::of("nodes"), String::new(), "n".to_owned());
        store.put(&key, json!({"spec": 1}), false);
        store.put(&key, json!({"spec": 2}), false);
        store.remove(&key, false);
        let spec = |store: &Store| store.get(&key).map(|node| node.value()["spec"].clone());
        let then = |store: &Store, version| store.at(version).map(|then| spec(&then));
        assert_eq!(then(&store, 0), Some(None));
        assert_eq!(then(&store, 1), Some(Some(json!(1))));
        assert_eq!(then(&store, 2), Some(Some(json!(2))));
        assert_eq!(then(&store, 3), Some(None));
        assert_eq!(then(&store, 4), None);
        store.forget();
        assert_eq!(then(&store, 2), None);
        assert!(store.since(2).is_none());
        assert_eq!(store.since(3).map(<[_]>::len), Some(0));
    }
}
