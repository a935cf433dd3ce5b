//! The model API server: objects with versions, and a stream of events a kind.

use berth_core::object::{Node, Object, PersistentVolume, PersistentVolumeClaim, Pod};
use std::collections::{BTreeMap, VecDeque};

/// Kind, namespace and name.
pub type Id = (&'static str, String, String);
/// Namespace and name of a pod.
pub type Key = (String, String);

/// An object's identity.
pub fn id_of(object: &Object) -> Id {
    let meta = object.metadata();
    (object.kind(), meta.namespace.clone(), meta.name.clone())
}

/// The identity of the pod of this key.
pub fn pod_id(key: &Key) -> Id {
    ("Pod", key.0.clone(), key.1.clone())
}

/// An object as it was written last.
#[derive(Clone, Debug)]
pub struct Versioned {
    pub version: u64,
    pub object: Object,
}

/// One event of a watch.
#[derive(Clone, Debug)]
pub struct Seen {
    pub version: u64,
    pub gone: bool,
    pub object: Object,
}

/// What the server held at a time.
#[derive(Clone, Debug, Default)]
pub struct Past {
    version: u64,
    objects: BTreeMap<Id, Versioned>,
}

impl Past {
    /// Its version, and the objects of a kind.
    pub fn list(&self, kind: &'static str) -> (u64, impl Iterator<Item = (&Id, &Versioned)>) {
        (self.version, of_kind(&self.objects, kind))
    }
}

fn of_kind<'a>(
    objects: &'a BTreeMap<Id, Versioned>,
    kind: &'static str,
) -> impl Iterator<Item = (&'a Id, &'a Versioned)> {
    let first = (kind, String::new(), String::new());
    let rest = objects.range(first..);
    rest.take_while(move |((own, _, _), _)| *own == kind)
}

/// All objects, and the events that the scheduler has not read yet.
#[derive(Default)]
pub struct Server {
    pub objects: BTreeMap<Id, Versioned>,
    pub streams: BTreeMap<&'static str, VecDeque<Seen>>,
    pub version: u64,
}

impl Server {
    /// Writes an object.
    pub fn put(&mut self, object: Object) {
        self.version += 1;
        let version = self.version;
        self.tell(Seen {
            version,
            gone: false,
            object: object.clone(),
        });
        self.objects
            .insert(id_of(&object), Versioned { version, object });
    }

    /// Deletes an object; whether it was there.
    pub fn delete(&mut self, id: &Id) -> bool {
        let Some(Versioned { object, .. }) = self.objects.remove(id) else {
            return false;
        };
        self.version += 1;
        let version = self.version;
        self.tell(Seen {
            version,
            gone: true,
            object,
        });
        true
    }

    fn tell(&mut self, event: Seen) {
        let stream = self.streams.entry(event.object.kind()).or_default();
        stream.push_back(event);
    }

    /// Objects of a kind.
    pub fn list(&self, kind: &'static str) -> impl Iterator<Item = (&Id, &Versioned)> {
        of_kind(&self.objects, kind)
    }

    /// All that is there now.
    pub fn snapshot(&self) -> Past {
        Past {
            version: self.version,
            objects: self.objects.clone(),
        }
    }

    /// All that was there then, and nothing that came later.
    pub fn restore(&mut self, past: &Past) {
        self.version = past.version;
        self.objects.clone_from(&past.objects);
        self.streams.clear();
    }

    /// All pods.
    pub fn pods(&self) -> impl Iterator<Item = &Pod> {
        self.list("Pod").filter_map(|(_, own)| match &own.object {
            Object::Pod(pod) => Some(&**pod),
            _ => None,
        })
    }

    /// All nodes.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.list("Node").filter_map(|(_, own)| match &own.object {
            Object::Node(node) => Some(&**node),
            _ => None,
        })
    }

    /// All volumes.
    pub fn volumes(&self) -> impl Iterator<Item = &PersistentVolume> {
        let all = self.list("PersistentVolume");
        all.filter_map(|(_, own)| match &own.object {
            Object::PersistentVolume(volume) => Some(&**volume),
            _ => None,
        })
    }

    /// All claims.
    pub fn claims(&self) -> impl Iterator<Item = &PersistentVolumeClaim> {
        let all = self.list("PersistentVolumeClaim");
        all.filter_map(|(_, own)| match &own.object {
            Object::PersistentVolumeClaim(claim) => Some(&**claim),
            _ => None,
        })
    }

    fn get(&self, kind: &'static str, namespace: &str, name: &str) -> Option<&Object> {
        let id = (kind, namespace.to_owned(), name.to_owned());
        self.objects.get(&id).map(|own| &own.object)
    }

    /// The volume of this name.
    pub fn volume(&self, name: &str) -> Option<&PersistentVolume> {
        match self.get("PersistentVolume", "", name)? {
            Object::PersistentVolume(volume) => Some(volume),
            _ => None,
        }
    }

    /// The claim of this key.
    pub fn claim(&self, key: &Key) -> Option<&PersistentVolumeClaim> {
        match self.get("PersistentVolumeClaim", &key.0, &key.1)? {
            Object::PersistentVolumeClaim(claim) => Some(claim),
            _ => None,
        }
    }

    /// The node of this name.
    pub fn node(&self, name: &str) -> Option<&Node> {
        match self.get("Node", "", name)? {
            Object::Node(node) => Some(node),
            _ => None,
        }
    }

    /// The pod of this key.
    pub fn pod(&self, key: &Key) -> Option<&Pod> {
        match self.get("Pod", &key.0, &key.1)? {
            Object::Pod(pod) => Some(pod),
            _ => None,
        }
    }

    /// Whether a node is there.
    pub fn has_node(&self, name: &str) -> bool {
        let id = ("Node", String::new(), name.to_owned());
        self.objects.contains_key(&id)
    }

    /// Changes a pod if it is there and has this UID; whether it has.
    pub fn change_pod(&mut self, key: &Key, uid: &str, change: impl FnOnce(&mut Pod)) -> bool {
        let Some(pod) = self.pod(key).filter(|pod| pod.metadata.uid == uid) else {
            return false;
        };
        let mut pod = pod.clone();
        change(&mut pod);
        if Some(&pod) != self.pod(key) {
            self.put(Object::Pod(Box::new(pod)));
        }
        true
    }

    /// Binds a pod, if it is this very pod, waits, and may be bound. The node is not looked for, as
    /// in a real server.
    pub fn bind(&mut self, key: &Key, uid: &str, node: &str) -> bool {
        let waits = |pod: &Pod| {
            pod.spec.node_name.is_empty()
                && pod.metadata.deletion_timestamp.is_none()
                && pod.spec.scheduling_gates.is_empty()
                && !pod.status.is_finished()
        };
        if !self.pod(key).is_some_and(waits) {
            return false;
        }
        self.change_pod(key, uid, |pod| {
            node.clone_into(&mut pod.spec.node_name);
            pod.status.nominated_node_name.clear();
        })
    }

    /// Deletes a pod as `kubectl delete` would: a bound one gets its time if `graceful`.
    pub fn evict(&mut self, key: &Key, uid: &str, graceful: bool) -> bool {
        let Some(pod) = self.pod(key).filter(|pod| pod.metadata.uid == uid) else {
            return false;
        };
        if !graceful || pod.spec.node_name.is_empty() {
            return self.delete(&pod_id(key));
        }
        self.change_pod(key, uid, |pod| {
            let meta = &mut pod.metadata;
            meta.deletion_timestamp
                .get_or_insert_with(|| "2026-01-01T00:00:00Z".into());
        })
    }
}
