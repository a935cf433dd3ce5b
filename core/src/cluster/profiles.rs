//! What profiles add to classes: names, added node affinity, default spread constraints.

use super::Cluster;
use super::nodes::finish;
use crate::capacity::CapacityExceeded;
use crate::class::{self, ClassView};
use crate::id::TextId;
use crate::intern::{Word, text_word};
use crate::object::{NodeAffinity, TopologySpreadConstraint};
use crate::selector::{write_item, write_term};

/// A profile's facts, as records.
#[derive(Clone, Copy)]
pub(crate) struct ProfileFacts {
    pub(crate) name: TextId,
    /// Terms of `addedAffinity`'s required part.
    pub(crate) added_required: Option<u32>,
    /// One item of weighted terms of its preferred part.
    pub(crate) added_preferred: Option<u32>,
    /// Items of default constraints, without selectors.
    pub(crate) constraints: u32,
    /// The built-in defaults do not ask a node for every key.
    pub(crate) system_defaults: bool,
}

/// Texts that rules name.
#[derive(Clone, Copy, Default)]
pub(crate) struct Known {
    pub(crate) hostname: Word,
    pub(crate) unschedulable: Word,
    pub(crate) empty: Word,
}

impl Cluster {
    /// Interns the texts that rules name; once, before anything else.
    pub(crate) fn intern_known(&mut self) -> Result<(), CapacityExceeded> {
        let mut word = |text| self.texts.intern(text).map(text_word);
        self.known = Known {
            hostname: word("kubernetes.io/hostname")?,
            unschedulable: word("node.kubernetes.io/unschedulable")?,
            empty: word("")?,
        };
        Ok(())
    }

    /// Adds a profile; `constraints` are its default spread constraints, `system` the built-in ones.
    pub(crate) fn add_profile(
        &mut self,
        name: &str,
        added: Option<&NodeAffinity>,
        constraints: &[TopologySpreadConstraint],
        system_defaults: bool,
    ) -> Result<(), CapacityExceeded> {
        let name = self.texts.intern(name)?;
        let (writer, texts) = (&mut self.writer, &mut self.texts);
        let records = &mut self.profile_records;
        let mut added_required = None;
        if let Some(required) = added.and_then(|added| added.required.as_ref()) {
            let mut terms = required.node_selector_terms.iter();
            let written = terms.try_for_each(|term| write_term(writer, texts, term, false));
            added_required = Some(finish(written, writer, texts, records)?);
        }
        let mut added_preferred = None;
        if let Some(preferred) = added.and_then(|added| added.preferred.as_ref()) {
            let written = class::write_added_preferred(writer, texts, preferred);
            added_preferred = Some(finish(written, writer, texts, records)?);
        }
        let written = constraints.iter().try_for_each(|constraint| {
            write_item(writer, texts, |writer, texts| {
                class::write_spread_head(writer, texts, constraint)
            })
        });
        let constraints = finish(written, writer, texts, records)?;
        self.profiles.push(ProfileFacts {
            name,
            added_required,
            added_preferred,
            constraints,
            system_defaults,
        });
        Ok(())
    }

    fn profile_of(&self, class: ClassView<'_>) -> Option<&ProfileFacts> {
        self.profiles.get(class.class.profile?.index())
    }

    /// Terms of the required part of `addedAffinity` in the profile of a class.
    pub(crate) fn added_terms(&self, class: ClassView<'_>) -> Option<&[Word]> {
        let record = self.profile_of(class)?.added_required?;
        Some(self.profile_records.words(record))
    }

    /// Default constraints in the profile of a class: items without selectors.
    pub(crate) fn default_constraints(&self, class: ClassView<'_>) -> &[Word] {
        let profile = self.profile_of(class);
        profile.map_or(&[], |profile| {
            self.profile_records.words(profile.constraints)
        })
    }
}
