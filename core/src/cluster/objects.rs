//! Namespaces, Services and owners coming and going.

use super::Cluster;
use super::owner::ObjectKind;
use crate::capacity::CapacityExceeded;
use crate::object::{LabelSelector, Labels, PodDisruptionBudget};
use crate::scheduler::ApplyError;
use crate::selector::{self, write_labels, write_pairs};

impl Cluster {
    pub(crate) fn set_namespace(&mut self, name: &str, labels: &Labels) -> Result<(), ApplyError> {
        self.set_object(ObjectKind::Namespace, "", name, |cluster| {
            write_labels(&mut cluster.writer, &mut cluster.texts, labels)
        })?;
        self.forget_namespace_matches();
        Ok(())
    }

    /// A Service or ReplicationController; without a selector it selects nothing.
    pub(crate) fn set_pairs(
        &mut self,
        kind: ObjectKind,
        namespace: &str,
        name: &str,
        pairs: Option<&Labels>,
    ) -> Result<(), ApplyError> {
        self.set_object(kind, namespace, name, |cluster| {
            cluster.writer.number(u32::from(pairs.is_some()))?;
            match pairs {
                Some(pairs) => write_pairs(&mut cluster.writer, &mut cluster.texts, pairs),
                None => Ok(()),
            }
        })
    }

    /// A ReplicaSet or StatefulSet; a selector that does not parse adds nothing, as upstream.
    pub(crate) fn set_selector(
        &mut self,
        kind: ObjectKind,
        namespace: &str,
        name: &str,
        selector: Option<&LabelSelector>,
    ) -> Result<(), ApplyError> {
        let selector = selector.filter(|selector| selector::is_valid(selector));
        self.set_object(kind, namespace, name, |cluster| {
            let (writer, texts) = (&mut cluster.writer, &mut cluster.texts);
            selector::write_bare_selector(writer, texts, selector, core::iter::empty())
        })
    }

    /// A PodDisruptionBudget; a selector that does not parse selects nothing, as upstream.
    pub(crate) fn set_budget(&mut self, budget: &PodDisruptionBudget) -> Result<(), ApplyError> {
        let metadata = &budget.metadata;
        let kind = ObjectKind::PodDisruptionBudget;
        let selector = budget.spec.selector.as_ref();
        let selector = selector.filter(|selector| selector::is_valid(selector));
        self.set_object(kind, &metadata.namespace, &metadata.name, |cluster| {
            let (writer, texts) = (&mut cluster.writer, &mut cluster.texts);
            let allowed = budget.status.disruptions_allowed.max(0);
            writer.number(allowed.cast_unsigned())?;
            selector::write_item(writer, texts, |writer, texts| {
                let mut names = budget.status.disrupted_pods.iter();
                names.try_for_each(|name| writer.text(texts, name))
            })?;
            selector::write_bare_selector(writer, texts, selector, core::iter::empty())
        })
    }

    pub(crate) fn remove_object(
        &mut self,
        kind: ObjectKind,
        namespace: &str,
        name: &str,
    ) -> Result<(), ApplyError> {
        let namespace = match kind {
            ObjectKind::Namespace => Some(0),
            _ => selector::word_of(&self.texts, namespace),
        };
        let name = selector::word_of(&self.texts, name);
        let removed = namespace.zip(name).is_some_and(|(namespace, name)| {
            self.objects.remove(kind, namespace, name, &mut self.texts)
        });
        if !removed {
            return Err(ApplyError::NotFound);
        }
        if kind == ObjectKind::Namespace {
            self.forget_namespace_matches();
        }
        Ok(())
    }

    /// Whether an object of this kind and name is there.
    pub(crate) fn has_object(&self, kind: ObjectKind, namespace: &str, name: &str) -> bool {
        let namespace = match kind {
            ObjectKind::Namespace => Some(0),
            _ => selector::word_of(&self.texts, namespace),
        };
        let name = selector::word_of(&self.texts, name);
        namespace
            .zip(name)
            .is_some_and(|(namespace, name)| self.objects.contains(kind, namespace, name))
    }

    fn set_object(
        &mut self,
        kind: ObjectKind,
        namespace: &str,
        name: &str,
        write: impl FnOnce(&mut Self) -> Result<(), CapacityExceeded>,
    ) -> Result<(), ApplyError> {
        if name.is_empty() {
            return Err(ApplyError::NoName);
        }
        if let Err(full) = write(self) {
            self.writer.clear(&mut self.texts);
            return Err(full.into());
        }
        let (writer, texts) = (&mut self.writer, &mut self.texts);
        Ok(self.objects.set(kind, namespace, name, writer, texts)?)
    }
}
