//! Every limit by its name, to make them larger.

use super::Capacities;

impl Capacities {
    /// The same with twice of what was refused.
    #[must_use]
    pub fn grown(mut self, which: &str) -> Self {
        for (name, limit) in self.limits() {
            if name == which {
                let twice = limit.get().saturating_mul(2);
                limit.set(twice.max(1));
            }
        }
        self
    }

    /// Room for both.
    #[must_use]
    pub fn plus(mut self, mut other: Self) -> Self {
        for ((_, limit), (_, other)) in self.limits().into_iter().zip(other.limits()) {
            let both = limit.get().saturating_add(other.get());
            limit.set(both);
        }
        self
    }

    /// Every limit, by its name.
    fn limits(&mut self) -> [(&'static str, Limit<'_>); 31] {
        use Limit::{Narrow, Wide};
        [
            ("nodes", Narrow(&mut self.nodes)),
            ("pods", Narrow(&mut self.pods)),
            ("classes", Narrow(&mut self.classes)),
            ("class_words", Wide(&mut self.class_words)),
            ("live_classes", Narrow(&mut self.live_classes)),
            ("live_words", Narrow(&mut self.live_words)),
            ("texts", Narrow(&mut self.texts)),
            ("text_bytes", Wide(&mut self.text_bytes)),
            ("node_words", Wide(&mut self.node_words)),
            ("record_words", Narrow(&mut self.record_words)),
            ("resources", Narrow(&mut self.resources)),
            ("topology_keys", Narrow(&mut self.topology_keys)),
            ("domains", Narrow(&mut self.domains)),
            ("terms", Narrow(&mut self.terms)),
            ("term_words", Wide(&mut self.term_words)),
            ("term_counts", Narrow(&mut self.term_counts)),
            ("links", Narrow(&mut self.links)),
            ("images", Narrow(&mut self.images)),
            ("image_words", Wide(&mut self.image_words)),
            ("image_counts", Narrow(&mut self.image_counts)),
            ("ports", Narrow(&mut self.ports)),
            ("port_counts", Narrow(&mut self.port_counts)),
            ("objects", Narrow(&mut self.objects)),
            ("object_words", Wide(&mut self.object_words)),
            ("volumes", Narrow(&mut self.volumes)),
            ("volume_words", Wide(&mut self.volume_words)),
            ("volume_bindings", Narrow(&mut self.volume_bindings)),
            ("volume_uses", Narrow(&mut self.volume_uses)),
            ("volume_use_counts", Narrow(&mut self.volume_use_counts)),
            ("in_flight_events", Narrow(&mut self.in_flight_events)),
            ("event_words", Narrow(&mut self.event_words)),
        ]
    }
}

/// A limit, of 32 or 64 bits.
enum Limit<'a> {
    Narrow(&'a mut u32),
    Wide(&'a mut u64),
}

impl Limit<'_> {
    fn get(&self) -> u64 {
        match self {
            Self::Narrow(limit) => u64::from(**limit),
            Self::Wide(limit) => **limit,
        }
    }

    /// What is too much for it is the most.
    fn set(self, value: u64) {
        match self {
            Self::Narrow(limit) => *limit = u32::try_from(value).unwrap_or(u32::MAX),
            Self::Wide(limit) => *limit = value,
        }
    }
}
