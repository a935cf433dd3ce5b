//! Recipes of labels, selectors, taints and affinity from a target's bytes.

use berth_core::object::{
    Container, LabelSelector, Labels, Node, NodeSelectorTerm, Pod, Requirement,
};
use std::collections::BTreeMap;

/// What is left of an input; every choice takes a byte or two.
pub struct Choices<'a>(&'a [u8]);

/// Label keys, most of them right.
const KEYS: [&str; 8] = [
    "a",
    "b",
    "kubernetes.io/hostname",
    "zone",
    "example.com/x",
    "topology.kubernetes.io/zone",
    "metadata.name",
    "-",
];
/// Label values, most of them right, some of them integers.
const VALUES: [&str; 16] = [
    "",
    "a",
    "b",
    "n1",
    "n2",
    "0",
    "7",
    "007",
    "-1",
    "500",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "1.5",
    "v_1",
    "bad value!",
];
const OPERATORS: [&str; 8] = [
    "In",
    "NotIn",
    "Exists",
    "DoesNotExist",
    "Gt",
    "Lt",
    "",
    "in",
];
/// From here on, a byte that chooses a text says how many bytes are one.
const FREE_TEXT: u8 = 0xe0;

impl<'a> Choices<'a> {
    /// All of an input.
    pub const fn of(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Whether no byte is left.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next byte; 0 when there is none.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    /// A number below `count`.
    pub fn below(&mut self, count: usize) -> usize {
        usize::from(self.byte()) % count
    }

    /// One of two.
    pub fn is(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// One of a list.
    pub fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    /// One of a pool, or the bytes that follow.
    pub fn text(&mut self, pool: &[&str]) -> String {
        let byte = self.byte();
        if byte < FREE_TEXT {
            return pool[usize::from(byte) % pool.len()].to_owned();
        }
        let length = usize::from(byte - FREE_TEXT).min(self.0.len());
        let (text, rest) = self.0.split_at(length);
        self.0 = rest;
        String::from_utf8_lossy(text).into_owned()
    }

    /// Up to `most` of something.
    pub fn list<T>(&mut self, most: usize, mut of: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let count = self.below(most + 1);
        (0..count).map(|_| of(self)).collect()
    }

    /// Something or nothing.
    pub fn maybe<T>(&mut self, of: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.is() { Some(of(self)) } else { None }
    }

    /// A label's key.
    pub fn key(&mut self) -> String {
        self.text(&KEYS)
    }

    /// A label's value.
    pub fn value(&mut self) -> String {
        self.text(&VALUES)
    }

    /// Labels.
    pub fn labels(&mut self) -> Labels {
        self.list(4, |own| (own.key(), own.value()))
            .into_iter()
            .collect()
    }

    /// A requirement of a label or node selector.
    pub fn requirement(&mut self) -> Requirement {
        Requirement {
            key: self.key(),
            operator: self.text(&OPERATORS),
            values: self.list(3, Self::value),
        }
    }

    /// A label selector.
    pub fn label_selector(&mut self) -> LabelSelector {
        LabelSelector {
            match_labels: self.labels(),
            match_expressions: self.list(3, Self::requirement),
        }
    }

    /// A term of a node selector.
    pub fn node_term(&mut self) -> NodeSelectorTerm {
        NodeSelectorTerm {
            match_expressions: self.list(3, Self::requirement),
            match_fields: self.list(2, |own| Requirement {
                key: own.text(&["metadata.name", "metadata.name", "metadata.uid", ""]),
                ..own.requirement()
            }),
        }
    }

    /// A node with labels and room for some pods.
    pub fn node(&mut self, name: &str) -> Node {
        let mut node = Node::default();
        name.clone_into(&mut node.metadata.name);
        node.metadata.labels = self.labels();
        let amounts = [("cpu", "4"), ("memory", "8Gi"), ("pods", "6")];
        let amount = |(name, text): (&str, &str)| {
            let amount = text.parse_quantity();
            (name.to_owned(), amount)
        };
        node.status.allocatable = Some(amounts.into_iter().map(amount).collect());
        node
    }

    /// A pod of the default scheduler with labels and one container.
    pub fn pod(&mut self, name: &str) -> Pod {
        let mut pod = Pod::default();
        name.clone_into(&mut pod.metadata.name);
        self.one_of(&["default", "other"])
            .clone_into(&mut pod.metadata.namespace);
        "default-scheduler".clone_into(&mut pod.spec.scheduler_name);
        pod.metadata.labels = self.labels();
        let mut container = Container {
            name: "c".to_owned(),
            ..Container::default()
        };
        let requests = [("cpu".to_owned(), "1".parse_quantity())];
        container.resources.requests = Some(BTreeMap::from(requests));
        pod.spec.containers.push(container);
        pod
    }
}

/// A quantity that is written in this file.
trait Written {
    fn parse_quantity(&self) -> berth_core::Quantity;
}

impl Written for str {
    fn parse_quantity(&self) -> berth_core::Quantity {
        berth_core::Quantity::parse(self).expect("a quantity")
    }
}
