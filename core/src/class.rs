//! Class: the compiled pod spec, everything that decides a pod's placement except its identity.
//!
//! Stage before: a decoded [`Pod`]. Stage after: the cluster counts pods by class and the plugins
//! read classes, not pods. Equal pods compile to equal words, so they share one class.

mod compile;

pub(crate) use compile::{
    Compiler, all_containers, pin_of, write_added_preferred, write_spread_head,
};

use crate::fixed_vec::FixedVec;
use crate::id::{ProfileId, ResourceId, TextId};
use crate::intern::{Records, Word, amount, word_text};
#[cfg(feature = "state-file")]
use crate::selector;
use crate::selector::LabelsView;
use crate::table::{Table, Vacant};

/// Parts of a class record, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Section {
    /// Namespace, scheduler name, flags, features, unsupported field, owner.
    Head,
    /// [`Amounts`], one after another.
    Amounts,
    /// Label pairs.
    Labels,
    /// `[resource, spec, status, score]` of every resource that is not in `Amounts`.
    Scalars,
    Tolerations,
    /// Pairs of `spec.nodeSelector`.
    NodeSelector,
    /// Terms of required node affinity.
    RequiredNodeAffinity,
    /// `[weight, term]` items of preferred node affinity.
    PreferredNodeAffinity,
    /// `[protocol, port, ip]` of host ports.
    Ports,
    /// Normalised image names, as often as they occur.
    Images,
    /// Items `[max skew, key, flags, min domains, selector item]`.
    Spread,
    /// Terms of required pod affinity, see `cluster::term`.
    Affinity,
    AntiAffinity,
    /// `[weight, term..]` items.
    PreferredAffinity,
    PreferredAntiAffinity,
}

impl Section {
    /// All of them, in order.
    pub(crate) const ALL: [Self; SECTIONS] = [
        Self::Head,
        Self::Amounts,
        Self::Labels,
        Self::Scalars,
        Self::Tolerations,
        Self::NodeSelector,
        Self::RequiredNodeAffinity,
        Self::PreferredNodeAffinity,
        Self::Ports,
        Self::Images,
        Self::Spread,
        Self::Affinity,
        Self::AntiAffinity,
        Self::PreferredAffinity,
        Self::PreferredAntiAffinity,
    ];
}

/// Number of sections.
pub(crate) const SECTIONS: usize = Section::PreferredAntiAffinity as usize + 1;

/// Bits of a class' flags.
pub(crate) mod flag {
    pub(crate) const TERMINATING: u32 = 1;
    pub(crate) const GATED: u32 = 1 << 1;
    /// Each term of required node affinity names the pod's own node; the name is the pod's.
    pub(crate) const PINNED: u32 = 1 << 2;
    pub(crate) const HAS_NODE_SELECTOR: u32 = 1 << 3;
    pub(crate) const HAS_REQUIRED_NODE_AFFINITY: u32 = 1 << 4;
    pub(crate) const HAS_PREFERRED_NODE_AFFINITY: u32 = 1 << 5;
}

/// What a pod asks of cpu (milli), memory and ephemeral storage (bytes), by who reads it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amounts {
    /// What `NodeResourcesFit` filters by.
    pub(crate) spec: [i64; 3],
    /// What the pod takes on its node, and what `NodeResourcesBalancedAllocation` scores.
    pub(crate) status: [i64; 3],
    /// What `NodeResourcesFit` scores.
    pub(crate) score: [i64; 3],
    /// Cpu and memory with defaults for containers that ask for none.
    pub(crate) non_zero: [i64; 2],
}

/// Who owns the pod, as far as default spreading reads it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OwnerKind {
    #[default]
    Other,
    ReplicationController,
    ReplicaSet,
    StatefulSet,
}

/// A class: its record's sections, and what is read of it most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Class {
    starts: [u32; SECTIONS + 1],
    pub(crate) namespace: TextId,
    pub(crate) profile: Option<ProfileId>,
    pub(crate) flags: u32,
    /// Declared features that the pod needs, as bits.
    pub(crate) features: u32,
    /// First field that Berth does not implement, by its place in [`UNSUPPORTED`], plus one.
    unsupported: u32,
    /// Init containers, containers and image volumes.
    pub(crate) image_count: u32,
    pub(crate) owner: (OwnerKind, Option<TextId>),
    pub(crate) amounts: Amounts,
}

/// Fields whose use makes a pod unsupported.
pub(crate) const UNSUPPORTED: &[&str] = &[
    "spec.resourceClaims",
    "spec.volumes[].persistentVolumeClaim",
    "spec.volumes[].ephemeral",
    "spec.volumes[].gcePersistentDisk",
    "spec.volumes[].awsElasticBlockStore",
    "spec.volumes[].azureDisk",
    "spec.volumes[].cinder",
    "spec.volumes[].vsphereVolume",
    "spec.volumes[].portworxVolume",
    "spec.volumes[].iscsi",
    "spec.volumes[].rbd",
];

impl Vacant for Class {
    const VACANT: &'static Self = &Self::EMPTY;
}

impl Class {
    const EMPTY: Self = Self {
        starts: [0; SECTIONS + 1],
        namespace: TextId(0),
        profile: None,
        flags: 0,
        features: 0,
        unsupported: 0,
        image_count: 0,
        owner: (OwnerKind::Other, None),
        amounts: Amounts {
            spec: [0; 3],
            status: [0; 3],
            score: [0; 3],
            non_zero: [0; 2],
        },
    };

    /// Reads a class record; `profile` is found by its scheduler name.
    pub(crate) fn read(words: &[Word], profile: impl Fn(TextId) -> Option<ProfileId>) -> Self {
        let mut starts = [0; SECTIONS + 1];
        let mut at = 0;
        for start in &mut starts {
            *start = u32::saturating_add(at, 1);
            let count = words.get(at as usize).copied().unwrap_or(0);
            at = start.saturating_add(count);
        }
        let mut class = Self {
            starts,
            ..Self::EMPTY
        };
        if let &[
            namespace,
            scheduler,
            flags,
            features,
            unsupported,
            images,
            kind,
            owner,
        ] = class.section(words, Section::Head)
        {
            class.namespace = word_text(namespace).unwrap_or(TextId(0));
            class.profile = word_text(scheduler).and_then(profile);
            class.flags = flags;
            class.features = features;
            class.unsupported = unsupported;
            class.image_count = images;
            let kind = match kind {
                1 => OwnerKind::ReplicationController,
                2 => OwnerKind::ReplicaSet,
                3 => OwnerKind::StatefulSet,
                _ => OwnerKind::Other,
            };
            class.owner = (kind, word_text(owner));
        }
        let mut amounts = class
            .section(words, Section::Amounts)
            .chunks_exact(3)
            .map(amount);
        let mut next = || amounts.next().unwrap_or(0);
        class.amounts = Amounts {
            spec: [next(), next(), next()],
            status: [next(), next(), next()],
            score: [next(), next(), next()],
            non_zero: [next(), next()],
        };
        class
    }

    /// The words of a section of this class' record.
    pub(crate) fn section<'a>(&self, words: &'a [Word], section: Section) -> &'a [Word] {
        let Some([start, next, ..]) = self.starts.get(section as usize..) else {
            return &[];
        };
        // The word before each start is the section's count.
        let end = (*next as usize).saturating_sub(1);
        words.get(*start as usize..end).unwrap_or_default()
    }

    /// The field that makes pods of this class unsupported.
    pub(crate) fn unsupported(&self) -> Option<&'static str> {
        UNSUPPORTED
            .get((self.unsupported as usize).checked_sub(1)?)
            .copied()
    }

    pub(crate) const fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }
}

/// A class together with its words.
#[derive(Clone, Copy)]
pub(crate) struct ClassView<'a> {
    pub(crate) class: &'a Class,
    pub(crate) words: &'a [Word],
}

impl<'a> ClassView<'a> {
    pub(crate) fn section(self, section: Section) -> &'a [Word] {
        self.class.section(self.words, section)
    }

    pub(crate) fn labels(self) -> LabelsView<'a> {
        LabelsView(self.section(Section::Labels))
    }

    /// What is asked of resources beside cpu, memory and ephemeral storage.
    pub(crate) fn scalars(self) -> impl Iterator<Item = Scalar> + 'a {
        let scalars = self.section(Section::Scalars).as_chunks::<10>().0;
        scalars.iter().map(|[resource, amounts @ ..]| {
            let mut amounts = amounts.chunks_exact(3).map(amount);
            let mut next = || amounts.next().unwrap_or(0);
            Scalar {
                resource: ResourceId(*resource),
                spec: next(),
                status: next(),
                score: next(),
            }
        })
    }
}

/// What a pod asks of one resource, by who reads it; see [`Amounts`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scalar {
    pub(crate) resource: ResourceId,
    pub(crate) spec: i64,
    pub(crate) status: i64,
    pub(crate) score: i64,
}

/// Flag of a spread constraint: `DoNotSchedule`.
pub(crate) const SPREAD_HARD: u32 = 1;
pub(crate) const SPREAD_HONOR_AFFINITY: u32 = 2;
pub(crate) const SPREAD_HONOR_TAINTS: u32 = 4;

/// All classes; the id is the record's.
#[derive(Clone)]
pub(crate) struct Classes {
    pub(crate) records: Records,
    entries: FixedVec<Class>,
}

impl Classes {
    pub(crate) fn new(limit: u32, words_limit: u64) -> Self {
        Self {
            records: Records::new(["classes", "class_words"], limit, words_limit),
            entries: FixedVec::with_capacity(limit as usize),
        }
    }

    /// Keeps what was read of the record `id`.
    pub(crate) fn set(&mut self, id: crate::id::ClassId, class: Class) {
        match self.entries.get_mut(id.index()) {
            Some(entry) => *entry = class,
            None => self.entries.push(class),
        }
    }

    pub(crate) fn view(&self, id: crate::id::ClassId) -> ClassView<'_> {
        ClassView {
            class: self.entries.at(id),
            words: self.records.words(id.0),
        }
    }
}

/// Whether the words have the shape of a class record whose resources are below `resources`; for
/// those of a state file.
#[cfg(feature = "state-file")]
pub(crate) fn is_whole(words: &[Word], resources: usize) -> bool {
    let is_text = |word: &Word| word_text(*word).is_some();
    let mut rest = words;
    for section in Section::ALL {
        let Some((part, after)) = selector::split_item(rest) else {
            return false;
        };
        rest = after;
        let texts = |size: usize| part.len().is_multiple_of(size) && part.iter().all(is_text);
        let right = match section {
            Section::Head => part.len() == 8 && part.iter().take(2).all(is_text),
            Section::Amounts => part.len() == 3 * 11,
            Section::Labels => selector::is_sorted(part),
            Section::NodeSelector => texts(2),
            Section::Images => texts(1),
            Section::Tolerations => part.len().is_multiple_of(4),
            Section::Ports => part.len().is_multiple_of(3),
            Section::Scalars => {
                let mut ids = part.iter().step_by(10);
                part.len().is_multiple_of(10) && ids.all(|id| (*id as usize) < resources)
            }
            _ => {
                selector::items(part)
                    .map(|item| item.len().saturating_add(1))
                    .sum::<usize>()
                    == part.len()
            }
        };
        if !right {
            return false;
        }
    }
    rest.is_empty()
}
