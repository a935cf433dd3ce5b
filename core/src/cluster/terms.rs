//! Counting by term: which classes a term counts, and what each pod adds.

use super::term::{AffinityTermView, kind, role};
use super::topology::NO_DOMAIN;
use super::{ClassLinks, Cluster};
use crate::capacity::CapacityExceeded;
use crate::class::Section;
use crate::id::{ClassId, KeyId, TermId};
use crate::intern::Word;
use crate::selector;
use crate::table::{Count, Table};

impl Cluster {
    /// Interns the term that the writer holds; a new one is matched with all classes and counted.
    pub(super) fn intern_term(&mut self) -> Result<TermId, CapacityExceeded> {
        let (id, new) = self
            .writer
            .finish(&mut self.terms.records, &mut self.texts)?;
        let term = TermId(id);
        if !new {
            return Ok(term);
        }
        self.terms.begin(term);
        if let Some(list) = self.terms.list_of(term) {
            self.terms.records.retain(list.0);
        }
        let result = self.retain_key_of(term).and_then(|()| {
            if self.terms.kind(term) == kind::CARRIED {
                self.terms.carried_version.count_up();
                return Ok(());
            }
            self.match_classes(term)
        });
        if let Err(full) = result {
            self.release_term(term);
            return Err(full);
        }
        Ok(term)
    }

    pub(super) fn release_term(&mut self, term: TermId) {
        if self.terms.records.references(term.0) == 1 {
            if self.terms.kind(term) == kind::CARRIED {
                self.terms.carried_version.count_up();
            } else {
                self.unmatch_classes(term);
            }
            self.terms.end(term);
            if let Some(key) = self.terms.key(term) {
                self.topology.release(key);
            }
            if let Some(list) = self.terms.list_of(term) {
                self.terms.records.release(list.0, &mut self.texts);
            }
        }
        self.terms.records.release(term.0, &mut self.texts);
    }

    /// A topology key's id with one more reference; a new key's column is filled.
    pub(super) fn retain_key(&mut self, label: Word) -> Result<KeyId, CapacityExceeded> {
        let (key, new) = self.topology.retain(label)?;
        if !new {
            return Ok(key);
        }
        for row in 0..self.nodes.len() {
            if self.nodes.at(row).state != super::NodeState::Present {
                continue;
            }
            let value = self.facts(row).labels.value(label);
            if let Err(full) = self.topology.check_room(1) {
                self.topology.release(key);
                return Err(full);
            }
            self.topology.set(key, row, value);
        }
        Ok(key)
    }

    fn retain_key_of(&mut self, term: TermId) -> Result<(), CapacityExceeded> {
        if let [
            kind::GROUP | kind::JOINT | kind::CARRIED | kind::SPREAD_BY,
            label,
            ..,
        ] = *self.terms.words(term)
        {
            let key = self.retain_key(label)?;
            self.terms.set_key(term, key);
        }
        Ok(())
    }

    /// Finds the classes whose pods a new term counts, and counts those that are there.
    fn match_classes(&mut self, term: TermId) -> Result<(), CapacityExceeded> {
        for id in 0..self.classes.records.bound() as u32 {
            if !self.classes.records.contains(id) {
                continue;
            }
            let class = self.classes.view(ClassId(id));
            if !self
                .terms
                .counts_class(term, class, &self.objects, &self.texts)
            {
                continue;
            }
            let Some(links) = self.class_links.at_mut(id) else {
                continue;
            };
            self.links.push(&mut links.raises, term.0)?;
            let mut at = links.first_pod;
            while let Some(pod) = self.pods.get(at as usize).copied() {
                self.terms.check_room(1)?;
                self.raise_term(term, pod.row, true);
                at = pod.class_next;
            }
        }
        Ok(())
    }

    fn unmatch_classes(&mut self, term: TermId) {
        for links in &mut self.class_links {
            self.links.remove(&mut links.raises, term.0);
        }
    }

    /// Counts a pod of the class on the row in every term that it raises, or takes it out.
    pub(super) fn raise(&mut self, class: ClassId, row: u32, add: bool) {
        let mut at = self.class_links.at(class).raises;
        while let Some((term, next)) = self.links.link(at) {
            self.raise_term(TermId(term), row, add);
            at = next;
        }
    }

    fn raise_term(&mut self, term: TermId, row: u32, add: bool) {
        let slot = match self.terms.key(term) {
            None => row,
            Some(key) => match self.topology.domain(key, row as usize) {
                NO_DOMAIN => return,
                domain => domain,
            },
        };
        self.terms.raise(term, slot, row, add);
    }

    /// Counts that the pods of a row have at most.
    pub(super) fn raises_of_row(&self, row: usize) -> usize {
        let raises = |class: ClassId| self.links.values(self.class_links.at(class).raises);
        self.pods_on(row)
            .map(|pod| raises(self.pods.at(pod).class).count())
            .sum()
    }

    /// Takes the pods of a row out of all counts, before its labels change.
    pub(super) fn lower_row(&mut self, row: usize) {
        self.raise_pods(row, false);
    }

    /// Puts them back.
    pub(super) fn raise_row(&mut self, row: usize) {
        self.raise_pods(row, true);
    }

    fn raise_pods(&mut self, row: usize, add: bool) {
        let mut next = self.pods_on(row).next();
        while let Some(pod) = next {
            self.raise(self.pods.at(pod).class, row as u32, add);
            next = self.pod_after(pod);
        }
    }

    /// The terms that pods of a new class carry, as a part of what they raise.
    pub(super) fn link_carried(
        &mut self,
        id: ClassId,
        links: &mut ClassLinks,
    ) -> Result<(), CapacityExceeded> {
        for (section, role) in [
            (Section::Affinity, role::REQUIRED_AFFINITY),
            (Section::AntiAffinity, role::REQUIRED_ANTI_AFFINITY),
            (Section::PreferredAffinity, role::PREFERRED_AFFINITY),
            (
                Section::PreferredAntiAffinity,
                role::PREFERRED_ANTI_AFFINITY,
            ),
        ] {
            let weighted = matches!(
                role,
                role::PREFERRED_AFFINITY | role::PREFERRED_ANTI_AFFINITY
            );
            let mut at = 0;
            loop {
                let words = self.classes.view(id).section(section);
                let Some((item, rest)) = words.get(at..).and_then(selector::split_item) else {
                    break;
                };
                at = words.len().saturating_sub(rest.len());
                let (weight, term) = match item {
                    [weight, term @ ..] if weighted => (*weight, term),
                    term => (0, term),
                };
                let Some(key) = AffinityTermView::read(term).map(|term| term.key) else {
                    continue;
                };
                let writer = &mut self.writer;
                let texts = &mut self.texts;
                let written = writer.number(kind::CARRIED).and_then(|()| {
                    writer.copy(texts, &[key])?;
                    writer.number(role)?;
                    writer.number(weight)?;
                    writer.copy(texts, term)
                });
                if let Err(full) = written {
                    writer.clear(texts);
                    return Err(full);
                }
                let term = self.intern_term()?;
                if let Err(full) = self.links.push(&mut links.raises, term.0) {
                    self.release_term(term);
                    return Err(full);
                }
            }
        }
        Ok(())
    }

    /// After a namespace came, changed or went: what depends on its labels is found anew on demand.
    /// Matched terms belong to live classes alone, and go with them.
    pub(super) fn forget_namespace_matches(&mut self) {
        self.terms.carried_version.count_up();
        while let Some(class) = self.live.first_class() {
            self.drop_live(class);
        }
    }
}
