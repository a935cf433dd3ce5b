//! What must leave no trace: questions, and things that are done and undone.

use super::Simulation;
use crate::random::Random;
use crate::server::Key;
use crate::violation::{Check, Violation, ensure};
use berth_core::object::Object;
use berth_core::{ApplyError, Change, Detail};

impl Simulation {
    pub(super) fn ask(&mut self, random: &mut Random) -> Check {
        let before = self.engine.state_hash();
        let keys: Vec<&Key> = self.pods.keys().collect();
        if let Some(id) = random.pick(&keys).and_then(|key| self.id(key)) {
            let first = self.engine.explain(id, Detail::Full);
            let again = self.engine.explain(id, Detail::Full);
            ensure(first == again, "I18", || {
                format!("asked twice: {first:?} and {again:?}")
            })?;
            ensure(self.engine.state_hash() == before, "I18", || {
                format!("asking for {:?} changed the state", self.key(id))
            })?;
        }
        let left = self.come_and_go(random)?;
        ensure(!left || self.engine.state_hash() == before, "I18", || {
            "what came and went again changed the state".into()
        })
    }

    /// A pod comes, on a node or not, and goes; whether it could.
    fn come_and_go(&mut self, random: &mut Random) -> Result<bool, Violation> {
        let at = random.below(self.setup.pods.len());
        let mut pod = self.setup.pods[at].pod("visitor");
        let nodes: Vec<String> = self
            .engine
            .nodes()
            .map(|node| self.engine.node(node).name.to_owned())
            .collect();
        if let Some(node) = random.pick(&nodes) {
            pod.spec.node_name.clone_from(node);
        }
        let object = Object::Pod(Box::new(pod));
        // An earlier one may be there still, as there was no room to hear that it goes.
        if self
            .client
            .told
            .contains_key(&crate::server::id_of(&object))
        {
            return Ok(true);
        }
        match self.engine.apply(Change::Added, &object) {
            Ok(()) => {}
            Err(ApplyError::Capacity(_)) => return Ok(true),
            Err(error) => {
                ensure(false, "apply", || format!("{error}: {object:?}"))?;
            }
        }
        self.hear(None);
        // A node that changes is looked at anew by the next attempt.
        self.shadow.apply(Change::Added, &object);
        let gone = self.engine.apply(Change::Deleted, &object);
        if let Err(ApplyError::Capacity(_)) = gone {
            // The table of kept events is full; the client would tell it again.
            self.client
                .told
                .insert(crate::server::id_of(&object), object.clone());
            self.client.refused.insert(crate::server::id_of(&object));
            if let Object::Pod(pod) = &object {
                let expected = crate::expected::Expected::new(pod, false, self.now);
                self.pods.insert(crate::expected::key_of(pod), expected);
            }
            return Ok(false);
        }
        self.shadow.apply(Change::Deleted, &object);
        ensure(gone.is_ok(), "apply", || format!("{gone:?}: {object:?}"))?;
        Ok(true)
    }
}
