//! Classes coming and going with the first and last of their pods.

use super::{ClassLinks, Cluster};
use crate::capacity::CapacityExceeded;
use crate::class::{Class, Section};
use crate::id::{ClassId, ProfileId, TermId};
use crate::object::Pod;
use crate::scheduler::ApplyError;
use crate::selector;
use crate::table::Table;

impl Cluster {
    pub(crate) fn intern_class(&mut self, pod: &Pod) -> Result<ClassId, ApplyError> {
        check_selectors(pod)?;
        let (writer, texts) = (&mut self.writer, &mut self.texts);
        if let Err(full) = self.compiler.write(pod, writer, texts, &mut self.resources) {
            writer.clear(texts);
            return Err(full.into());
        }
        let (id, new) = writer.finish(&mut self.classes.records, texts)?;
        let id = ClassId(id);
        if new {
            self.read_class(id);
            if let Err(full) = self.hold_volumes(id) {
                self.classes.records.release(id.0, &mut self.texts);
                return Err(full.into());
            }
            if let Err(full) = self.link_class(id) {
                self.release_class(id);
                return Err(full.into());
            }
        }
        Ok(id)
    }

    /// Reads the record of a class, which links to nothing yet.
    pub(super) fn read_class(&mut self, id: ClassId) {
        let profiles = &self.profiles;
        let class = Class::read(self.classes.records.words(id.0), |name| {
            let mut names = profiles.iter().map(|own| own.name);
            names.position(|own| own == name).map(ProfileId::from_index)
        });
        self.classes.set(id, class);
        self.class_links.set(id, ClassLinks::EMPTY);
    }

    /// Finds the terms and ports that a new class raises.
    pub(super) fn link_class(&mut self, id: ClassId) -> Result<(), CapacityExceeded> {
        let mut links = *self.class_links.at(id);
        let result = self.link_ports(id, &mut links).and_then(|()| {
            self.link_carried(id, &mut links)?;
            let class = self.classes.view(id);
            for term in self.terms.ids() {
                if self
                    .terms
                    .counts_class(term, class, &self.objects, &self.texts)
                {
                    self.links.push(&mut links.raises, term.0)?;
                }
            }
            Ok(())
        });
        self.class_links.set(id, links);
        result
    }

    fn link_ports(&mut self, id: ClassId, links: &mut ClassLinks) -> Result<(), CapacityExceeded> {
        let class = self.classes.view(id);
        // Each of them once: a pod's own ports do not meet each other.
        for port in class.section(Section::Ports).chunks_exact(3) {
            if let Err(full) = self.writer.copy(&mut self.texts, port) {
                self.writer.clear(&mut self.texts);
                return Err(full);
            }
            let (port, _) = self.writer.finish(&mut self.ports, &mut self.texts)?;
            if let Err(full) = self.links.push(&mut links.ports, port) {
                self.ports.release(port, &mut self.texts);
                return Err(full);
            }
        }
        Ok(())
    }

    pub(crate) fn release_class(&mut self, id: ClassId) {
        if self.classes.records.references(id.0) == 1 {
            self.drop_live(id);
            let mut links = *self.class_links.at(id);
            while let Some((term, _)) = self.links.link(links.raises) {
                self.links.remove(&mut links.raises, term);
                if self.terms.kind(TermId(term)) == super::term::kind::CARRIED {
                    self.release_term(TermId(term));
                }
            }
            while let Some((port, _)) = self.links.link(links.ports) {
                self.links.remove(&mut links.ports, port);
                self.ports.release(port, &mut self.texts);
            }
            self.class_links.set(id, links);
            self.release_volumes(id);
        }
        self.classes.records.release(id.0, &mut self.texts);
    }
}

/// A label selector that does not parse is refused, as the API server does.
fn check_selectors(pod: &Pod) -> Result<(), ApplyError> {
    let spreads = &pod.spec.topology_spread_constraints;
    if !spreads
        .iter()
        .filter_map(|spread| spread.label_selector.as_ref())
        .all(selector::is_valid)
    {
        return Err(ApplyError::Selector(
            "spec.topologySpreadConstraints[].labelSelector",
        ));
    }
    let affinity = pod.spec.affinity.as_ref();
    let sides = [
        affinity.and_then(|affinity| affinity.pod_affinity.as_ref()),
        affinity.and_then(|affinity| affinity.pod_anti_affinity.as_ref()),
    ];
    let terms = sides.into_iter().flatten().flat_map(|side| {
        let preferred = side.preferred.iter().map(|term| &term.pod_affinity_term);
        side.required.iter().chain(preferred)
    });
    for term in terms {
        if !term
            .label_selector
            .iter()
            .chain(&term.namespace_selector)
            .all(selector::is_valid)
        {
            return Err(ApplyError::Selector("spec.affinity: a term's selector"));
        }
    }
    Ok(())
}
