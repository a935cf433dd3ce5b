//! The terms of a class that goes live: found, interned, counted; and those of other pods that it
//! feels.

use super::{CONSTRAINT_WORDS, Constraint, GROUP_WORDS, HOSTNAME, List, PREFERRED_WORDS, groups};
use crate::capacity::{CapacityExceeded, TOPOLOGY_KEYS_MAX};
use crate::class::{ClassView, Section};
use crate::cluster::Cluster;
use crate::cluster::term::{AffinityTermView, CarriedView, kind};
use crate::id::{ClassId, KeyId, TermId};
use crate::intern::{Word, text_word};
use crate::selector;
use crate::table::{Count, Table};

impl Cluster {
    /// Gives back the terms that the scratch list names, so many of each kind. The last one is the
    /// first in the chains of the classes that raise it, so it goes first.
    pub(super) fn release_scratch(&mut self, lengths: [u32; 4]) {
        let scratch = core::mem::take(&mut self.live.scratch);
        for [term, ..] in List::Preferred
            .of(&scratch, lengths)
            .as_chunks::<PREFERRED_WORDS>()
            .0
            .iter()
            .rev()
        {
            self.release_term(TermId(*term));
        }
        let affinity = groups(List::Affinity.of(&scratch, lengths)).rev();
        for (term, _) in groups(List::AntiAffinity.of(&scratch, lengths))
            .rev()
            .chain(affinity)
        {
            self.release_term(term);
        }
        for constraint in List::Constraints
            .of(&scratch, lengths)
            .as_chunks()
            .0
            .iter()
            .rev()
        {
            let Constraint {
                key,
                term,
                by_domain,
                ..
            } = Constraint::read(constraint);
            for term in by_domain.into_iter().chain(term) {
                self.release_term(term);
            }
            self.topology.release(key);
        }
        self.live.scratch = scratch;
    }

    /// Writes the class' own terms into the scratch list, and how many of each kind.
    pub(super) fn find_terms(
        &mut self,
        class: ClassId,
        lengths: &mut [u32; 4],
    ) -> Result<(), CapacityExceeded> {
        let [constraints, groups @ ..] = lengths;
        self.find_constraints(class, constraints)?;
        self.find_groups(class, groups)
    }

    fn find_constraints(
        &mut self,
        class: ClassId,
        length: &mut u32,
    ) -> Result<(), CapacityExceeded> {
        let view = self.classes.view(class);
        let own = !view.section(Section::Spread).is_empty();
        let Some(profile) = view
            .class
            .profile
            .and_then(|profile| self.profiles.get(profile.index()).copied())
        else {
            return Ok(());
        };
        let mut at = 0;
        loop {
            let view = self.classes.view(class);
            let section = if own {
                view.section(Section::Spread)
            } else {
                self.profile_records.words(profile.constraints)
            };
            let Some((item, rest)) = section.get(at..).and_then(selector::split_item) else {
                return Ok(());
            };
            at = section.len().saturating_sub(rest.len());
            let [max_skew, label, flags, min_domains, selector @ ..] = item else {
                return Ok(());
            };
            let (max_skew, label, mut flags, min_domains) =
                (*max_skew, *label, *flags, *min_domains);
            let written = self.writer.number(kind::SPREAD).and_then(|()| {
                self.writer
                    .copy(&mut self.texts, &[text_word(view.class.namespace)])?;
                let (writer, texts) = (&mut self.writer, &mut self.texts);
                if let [_, selector @ ..] = selector {
                    writer.copy(texts, selector)
                } else {
                    self.objects.write_default_selector(view, writer, texts)
                }
            });
            if let Err(full) = written {
                self.writer.clear(&mut self.texts);
                return Err(full);
            }
            let selector = self.writer.words().get(2..).unwrap_or_default();
            let everything = selector::is_everything(selector);
            let self_match = selector::selects(selector, view.labels(), &self.texts);
            let counts_nobody = everything || selector.len() < 2;
            if label == self.known.hostname {
                flags |= HOSTNAME;
            }
            if counts_nobody {
                self.writer.clear(&mut self.texts);
            }
            if !own && everything {
                return Ok(());
            }
            let term = if counts_nobody {
                None
            } else {
                Some(self.intern_term()?)
            };
            let mut by_domain = None;
            let number = |term: Option<TermId>| term.map_or(0, |term| term.0.saturating_add(1));
            let pushed = self
                .intern_by_domain(term.filter(|_| flags & HOSTNAME == 0), label)
                .and_then(|found| {
                    by_domain = found;
                    self.retain_key(label)
                })
                .and_then(|key| {
                    let constraint: [u32; CONSTRAINT_WORDS] = [
                        max_skew,
                        key.0,
                        flags,
                        min_domains,
                        number(term),
                        number(by_domain),
                        u32::from(self_match),
                    ];
                    self.live.push(&constraint).inspect_err(|_| {
                        self.topology.release(key);
                    })
                });
            if let Err(full) = pushed {
                for term in by_domain.into_iter().chain(term) {
                    self.release_term(term);
                }
                return Err(full);
            }
            length.count_up();
        }
    }

    /// The term that counts by domain what `term` counts by row.
    fn intern_by_domain(
        &mut self,
        term: Option<TermId>,
        label: Word,
    ) -> Result<Option<TermId>, CapacityExceeded> {
        let Some(term) = term else {
            return Ok(None);
        };
        let (writer, texts) = (&mut self.writer, &mut self.texts);
        let what = self.terms.words(term).get(1..).unwrap_or_default();
        let written = writer
            .number(kind::SPREAD_BY)
            .and_then(|()| writer.copy(texts, &[label]))
            .and_then(|()| writer.copy(texts, what));
        if let Err(full) = written {
            writer.clear(texts);
            return Err(full);
        }
        self.intern_term().map(Some)
    }

    /// Required affinity as one group a distinct key, then anti-affinity and preferred terms.
    fn find_groups(
        &mut self,
        class: ClassId,
        lengths: &mut [u32; 3],
    ) -> Result<(), CapacityExceeded> {
        if let Some(list) = self.list_of_required(class)? {
            let found = self.find_groups_of(class, Section::Affinity, 0, 0, Some(list), lengths);
            // The groups hold it from here on.
            self.release_term(list);
            found?;
        }
        for (section, list, sign) in [
            (Section::AntiAffinity, 1, 0),
            (Section::PreferredAffinity, 2, 1),
            (Section::PreferredAntiAffinity, 2, -1),
        ] {
            self.find_groups_of(class, section, list, sign, None, lengths)?;
        }
        Ok(())
    }

    /// The class' terms of required affinity as one record; `None` without any.
    fn list_of_required(&mut self, class: ClassId) -> Result<Option<TermId>, CapacityExceeded> {
        let words = self.classes.view(class).section(Section::Affinity);
        if words.is_empty() {
            return Ok(None);
        }
        let (writer, texts) = (&mut self.writer, &mut self.texts);
        let written = writer.number(kind::LIST);
        if let Err(full) = written.and_then(|()| writer.copy(texts, words)) {
            writer.clear(texts);
            return Err(full);
        }
        self.intern_term().map(Some)
    }

    /// The groups of one section. With a `joint` list there is one a distinct key, of pods that match
    /// all of it.
    fn find_groups_of(
        &mut self,
        class: ClassId,
        section: Section,
        list: usize,
        sign: i32,
        joint: Option<TermId>,
        lengths: &mut [u32; 3],
    ) -> Result<(), CapacityExceeded> {
        let mut at = 0;
        let mut seen = [false; TOPOLOGY_KEYS_MAX as usize];
        loop {
            let words = self.classes.view(class).section(section);
            let Some((item, rest)) = words.get(at..).and_then(selector::split_item) else {
                break;
            };
            at = words.len().saturating_sub(rest.len());
            let (weight, term) = match item {
                [weight, term @ ..] if sign != 0 => (*weight, term),
                term => (0, term),
            };
            let label = term.first().copied().unwrap_or(0);
            let kind = joint.map_or(kind::GROUP, |_| kind::JOINT);
            let written = self.writer.number(kind).and_then(|()| {
                self.writer.copy(&mut self.texts, &[label])?;
                if let Some(joint) = joint {
                    return self.writer.number(joint.0);
                }
                self.writer.number(term.len() as u32)?;
                self.writer.copy(&mut self.texts, term)
            });
            if let Err(full) = written {
                self.writer.clear(&mut self.texts);
                return Err(full);
            }
            let term = self.intern_term()?;
            let key = self.terms.key(term).unwrap_or(KeyId(0));
            let is_seen = seen.get_mut(key.index());
            if is_seen.is_some_and(|seen| core::mem::replace(seen, joint.is_some())) {
                self.release_term(term);
                continue;
            }
            let group: [u32; GROUP_WORDS] = [term.0, key.0];
            let weight = sign.saturating_mul(weight.cast_signed()).cast_unsigned();
            let preferred: [u32; PREFERRED_WORDS] = [term.0, key.0, weight];
            let pushed = if sign == 0 {
                self.live.push(&group)
            } else {
                self.live.push(&preferred)
            };
            if let Err(full) = pushed {
                self.release_term(term);
                return Err(full);
            }
            if let Some(length) = lengths.at_mut(list) {
                length.count_up();
            }
        }
        Ok(())
    }

    pub(super) fn is_self_affine(&self, view: ClassView<'_>) -> bool {
        selector::items(view.section(Section::Affinity)).all(|item| {
            AffinityTermView::read(item)
                .is_some_and(|term| term.matches(view, true, &self.objects, &self.texts))
        })
    }

    /// Finds anew which carried terms select the class.
    pub(super) fn find_felt(&mut self, slot: usize) -> Result<(), CapacityExceeded> {
        let class = self.live.slots.at(slot).class;
        self.live.scratch.clear();
        let view = self.classes.view(class);
        for term in self.terms.ids() {
            let felt = CarriedView::read(self.terms.words(term))
                .is_some_and(|own| own.term.matches(view, false, &self.objects, &self.texts));
            if felt {
                self.live.push(&[term.0])?;
            }
        }
        let felt = self.live.insert()?;
        if let Some(entry) = self.live.slots.at_mut(slot) {
            let (start, len) = core::mem::replace(&mut entry.felt, felt);
            entry.felt_version = self.terms.carried_version;
            self.live.words.remove(start, len as usize);
        }
        Ok(())
    }
}
