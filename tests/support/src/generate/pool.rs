//! Names and amounts that recipes refer to by number. Ordinary ones come first, so that shrinking
//! ends at them.

use berth_core::Quantity;
use berth_core::object::{LabelSelector, Labels, Requirement, ResourceList};
use proptest::collection::vec;
use proptest::prelude::*;

/// Keys of labels and topology; the first three are topology's own.
pub const KEYS: [&str; 6] = [
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "app",
    "gen",
    "example.com/tier",
];

/// Label values; some are integers of one kind or another.
pub const VALUES: [&str; 9] = [
    "a",
    "b",
    "5",
    "",
    "7",
    "007",
    "abc",
    "9223372036854775807",
    "9223372036854775808",
];

/// Namespaces; the last is never an object.
pub const NAMESPACES: [&str; 3] = ["default", "team", "ghost"];

/// Amounts of cpu.
pub const CPU: [&str; 18] = [
    "1",
    "100m",
    "250m",
    "500m",
    "2",
    "4",
    "1900m",
    "0",
    "333m",
    "7",
    "64",
    "1n",
    "35184372088832m",
    "70368744177663m",
    "70368744177664m",
    "70368744177665m",
    "9223372036854775807m",
    "1e16",
];

/// Amounts of memory and storage.
pub const MEMORY: [&str; 18] = [
    "1Gi",
    "128Mi",
    "200Mi",
    "3Gi",
    "8Gi",
    "16Gi",
    "1.5Gi",
    "0",
    "7700Mi",
    "123456789",
    "1",
    "100m",
    "35184372088832",
    "70368744177663",
    "70368744177664",
    "9223372036854775806",
    "8E",
    "1e30",
];

/// Counts of extended resources.
pub const COUNTS: [&str; 6] = ["1", "2", "4", "0", "9223372036854775807", "1500m"];

/// Resources beside cpu and memory, of every class of names.
pub const RESOURCES: [&str; 7] = [
    "nvidia.com/gpu",
    "ephemeral-storage",
    "hugepages-2Mi",
    "example.com/fpga",
    "foo",
    "attachable-volumes-x",
    "example.kubernetes.io/x",
];

/// Amount number `at` of `pool`.
pub fn amount(pool: &[&str], at: u8) -> Quantity {
    let text = pick(pool, at);
    Quantity::parse(text).unwrap_or_else(|error| panic!("{text}: {error:?}"))
}

/// Element number `at`, counted round.
pub fn pick<'a>(pool: &[&'a str], at: u8) -> &'a str {
    pool[usize::from(at) % pool.len()]
}

/// Numbers of a pool of `len`, the first `ordinary` of them far more often.
pub fn number(len: usize, ordinary: u8) -> impl Strategy<Value = u8> + Clone {
    let len = u8::try_from(len).expect("a small pool");
    prop_oneof![15 => 0..ordinary, 1 => 0..len]
}

/// Label pairs, as numbers of key and value.
pub type Pairs = Vec<(u8, u8)>;

/// Up to `most` pairs.
pub fn pairs(most: usize) -> impl Strategy<Value = Pairs> + Clone {
    vec((3..KEYS.len() as u8, number(VALUES.len(), 3)), 0..=most)
}

/// The labels that pairs say; the last of a key counts.
pub fn labels(pairs: &[(u8, u8)]) -> Labels {
    pairs
        .iter()
        .map(|(key, value)| (pick(&KEYS, *key).into(), pick(&VALUES, *value).into()))
        .collect()
}

/// cpu, memory and others of a resource list; each may be left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Amounts {
    pub cpu: Option<u8>,
    pub memory: Option<u8>,
    pub others: Vec<(u8, u8)>,
}

impl Amounts {
    /// The list itself.
    pub fn list(&self) -> ResourceList {
        let mut list = ResourceList::new();
        if let Some(cpu) = self.cpu {
            list.insert("cpu".into(), amount(&CPU, cpu));
        }
        if let Some(memory) = self.memory {
            list.insert("memory".into(), amount(&MEMORY, memory));
        }
        for (resource, count) in &self.others {
            let name = pick(&RESOURCES, *resource);
            let pool: &[&str] = match name {
                "ephemeral-storage" | "hugepages-2Mi" => &MEMORY,
                _ => &COUNTS,
            };
            list.insert(name.into(), amount(pool, *count));
        }
        list
    }
}

/// What containers ask for.
pub fn requests() -> impl Strategy<Value = Amounts> + Clone {
    amounts(4)
}

/// Amounts with cpu and memory; others in one of `one_in`.
pub fn amounts(one_in: u32) -> impl Strategy<Value = Amounts> + Clone {
    let cpu = proptest::option::weighted(0.8, number(CPU.len(), 9));
    let memory = proptest::option::weighted(0.8, number(MEMORY.len(), 9));
    let other = (number(RESOURCES.len(), 4), number(COUNTS.len(), 3));
    let others = prop_oneof![
        one_in - 1 => Just(Vec::new()),
        1 => vec(other, 1..=2),
    ];
    (cpu, memory, others).prop_map(|(cpu, memory, others)| Amounts {
        cpu,
        memory,
        others,
    })
}

/// One requirement: key, operator, values.
pub type Expression = (u8, u8, Vec<u8>);

const OPERATORS: [&str; 7] = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Near"];

/// Operators up to number `operators`; those beyond 4 are of node selectors only, 6 is none. With
/// `wrong`, values may be too few or too many, or no label values.
pub fn expression(operators: u8, wrong: bool) -> impl Strategy<Value = Expression> + Clone {
    (
        number(KEYS.len(), 6),
        0..operators,
        vec(number(VALUES.len(), 5), 0..=2),
    )
        .prop_map(move |(key, operator, mut values)| {
            if !wrong {
                match operator {
                    0 | 1 if values.is_empty() => values.push(0),
                    2 | 3 => values.clear(),
                    4.. => values = vec![2],
                    _ => {}
                }
            }
            (key, operator, values)
        })
}

/// The requirement that an expression says.
pub fn requirement((key, operator, values): &Expression) -> Requirement {
    Requirement {
        key: pick(&KEYS, *key).into(),
        operator: pick(&OPERATORS, *operator).into(),
        values: values
            .iter()
            .map(|value| pick(&VALUES, *value).into())
            .collect(),
    }
}

/// A label selector: pairs and expressions; both empty select everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelectorRecipe {
    pub pairs: Pairs,
    pub expressions: Vec<Expression>,
}

impl SelectorRecipe {
    /// The selector itself.
    pub fn selector(&self) -> LabelSelector {
        LabelSelector {
            match_labels: labels(&self.pairs),
            match_expressions: self.expressions.iter().map(requirement).collect(),
        }
    }
}

/// Absent, empty, or with one pair or expression.
pub fn selector() -> impl Strategy<Value = Option<SelectorRecipe>> + Clone {
    prop_oneof![
        6 => pairs(1).prop_map(|pairs| Some(SelectorRecipe { pairs, expressions: vec![] })),
        3 => (pairs(1), vec(expression(4, false), 1..=2))
            .prop_map(|(pairs, expressions)| Some(SelectorRecipe { pairs, expressions })),
        1 => Just(Some(SelectorRecipe::default())),
        1 => Just(None),
    ]
}
