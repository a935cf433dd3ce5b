//! The terms of a class that goes live: found, interned, counted; and those of other pods that it
//! feels.

use super::{CONSTRAINT_WORDS, GROUP_WORDS, HOSTNAME, PREFERRED_WORDS};
use crate::capacity::CapacityExceeded;
use crate::class::{ClassView, Section};
use crate::cluster::Cluster;
use crate::cluster::term::{AffinityTermView, CarriedView, kind};
use crate::id::{ClassId, KeyId, TermId};
use crate::intern::text_word;
use crate::selector;

impl Cluster {
    /// Gives back the terms that the scratch list names, so many of each kind. The last one is the
    /// first in the chains of the classes that raise it, so it goes first.
    pub(super) fn release_scratch(&mut self, lengths: [u32; 4]) {
        let sizes = [CONSTRAINT_WORDS, GROUP_WORDS, GROUP_WORDS, PREFERRED_WORDS];
        let all = lengths.iter().zip(sizes);
        let mut at: usize = all.map(|(length, words)| *length as usize * words).sum();
        for (list, words) in sizes.into_iter().enumerate().rev() {
            for _ in 0..lengths[list] {
                at -= words;
                let item: [u32; 5] = core::array::from_fn(|word| {
                    self.live.scratch.get(at + word).copied().unwrap_or(0)
                });
                if list == 0 {
                    if let Some(term) = item[4].checked_sub(1) {
                        self.release_term(TermId(term));
                    }
                    self.topology.release(KeyId(item[1]));
                } else {
                    self.release_term(TermId(item[0]));
                }
            }
        }
    }

    /// Writes the class' own terms into the scratch list, and how many of each kind.
    pub(super) fn find_terms(
        &mut self,
        class: ClassId,
        lengths: &mut [u32; 4],
    ) -> Result<(), CapacityExceeded> {
        self.find_constraints(class, &mut lengths[0])?;
        self.find_groups(class, lengths)
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
            .map(|profile| self.profiles[profile.index()])
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
            at = section.len() - rest.len();
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
                0
            } else {
                self.intern_term()?.0 + 1
            };
            let key = match self.retain_key(label) {
                Ok(key) => key,
                Err(full) => {
                    if let Some(term) = term.checked_sub(1) {
                        self.release_term(TermId(term));
                    }
                    return Err(full);
                }
            };
            let words = [
                max_skew,
                key.0,
                flags,
                min_domains,
                term,
                u32::from(self_match),
            ];
            words
                .into_iter()
                .try_for_each(|word| self.live.push(word))?;
            *length += 1;
        }
    }

    /// Required affinity as one group a distinct key, then anti-affinity and preferred terms.
    fn find_groups(
        &mut self,
        class: ClassId,
        lengths: &mut [u32; 4],
    ) -> Result<(), CapacityExceeded> {
        for (section, list, sign) in [
            (Section::Affinity, 1, 0),
            (Section::AntiAffinity, 2, 0),
            (Section::PreferredAffinity, 3, 1),
            (Section::PreferredAntiAffinity, 3, -1),
        ] {
            let (mut at, first) = (0, self.live.scratch.len());
            loop {
                let words = self.classes.view(class).section(section);
                let Some((item, rest)) = words.get(at..).and_then(selector::split_item) else {
                    break;
                };
                at = words.len() - rest.len();
                let (weight, term) = match item {
                    [weight, term @ ..] if sign != 0 => (*weight, term),
                    term => (0, term),
                };
                let label = term.first().copied().unwrap_or(0);
                // One group a key: it holds all terms, so it is not written once for each.
                let key = self.topology.find(label).map(|key| key.0);
                let (own, _) = self.live.scratch[first..].as_chunks::<2>();
                if list == 1 && key.is_some_and(|key| own.iter().any(|[_, own]| *own == key)) {
                    continue;
                }
                let written = self.writer.number(kind::GROUP).and_then(|()| {
                    self.writer.copy(&mut self.texts, &[label])?;
                    if list == 1 {
                        return self.writer.copy(&mut self.texts, words);
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
                let weight = sign * weight.cast_signed();
                let words = [term.0, key.0, weight.cast_unsigned()];
                let count = if sign == 0 { 2 } else { 3 };
                let pushed = words[..count]
                    .iter()
                    .try_for_each(|word| self.live.push(*word));
                if let Err(full) = pushed {
                    self.release_term(term);
                    return Err(full);
                }
                lengths[list] += 1;
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
        let class = self.live.slots[slot].class;
        self.live.scratch.clear();
        let view = self.classes.view(class);
        for term in self.terms.ids() {
            let felt = CarriedView::read(self.terms.words(term))
                .is_some_and(|own| own.term.matches(view, false, &self.objects, &self.texts));
            if felt {
                self.live.push(term.0)?;
            }
        }
        let (start, len) = self.live.slots[slot].felt;
        let felt = self.live.insert(0)?;
        self.live.words.remove(start, len as usize);
        self.live.slots[slot].felt = felt;
        self.live.slots[slot].felt_version = self.terms.carried_version;
        Ok(())
    }
}
