//! What happens to a cluster. Events name nodes and pods by number, counted round among those that
//! are there, so that each makes sense wherever shrinking leaves it.

use super::node::namespace_labels;
use super::pool::{self, Pairs, SelectorRecipe};
use super::storage::{self, StorageRecipe};
use proptest::collection::vec;
use proptest::prelude::*;

/// One event. `recipe`: number of a recipe of the case; `pick`: of a node or pod that is there.
#[derive(Clone, Debug)]
pub enum Event {
    AddNodes {
        recipe: u8,
        count: u8,
    },
    UpdateNode {
        pick: u8,
        recipe: u8,
    },
    RemoveNode {
        pick: u8,
    },
    /// A node that was removed comes back under its name.
    ReturnNode {
        pick: u8,
        recipe: u8,
    },
    /// A pod comes, waiting; with `decide`, it is tried at once.
    AddPod {
        recipe: u8,
        decide: bool,
    },
    /// A pod comes that is on a node already; every twentieth names one that is not there.
    AddBound {
        recipe: u8,
        node: u8,
    },
    /// A waiting pod is tried.
    Retry {
        pick: u8,
    },
    /// Any pod is asked about.
    Ask {
        pick: u8,
    },
    /// Any pod is bound to a node, as another scheduler would.
    Bind {
        pick: u8,
        node: u8,
    },
    UpdatePod {
        pick: u8,
        recipe: u8,
    },
    FinishPod {
        pick: u8,
    },
    RemovePod {
        pick: u8,
    },
    Forget {
        pick: u8,
    },
    Namespace {
        which: u8,
        labels: Pairs,
    },
    RemoveNamespace {
        which: u8,
    },
    Service {
        number: u8,
        namespace: u8,
        selector: Option<Pairs>,
    },
    RemoveService {
        number: u8,
        namespace: u8,
    },
    Owner {
        kind: u8,
        number: u8,
        namespace: u8,
        selector: Option<SelectorRecipe>,
    },
    RemoveOwner {
        kind: u8,
        number: u8,
        namespace: u8,
    },
    Storage(StorageRecipe),
    RemoveStorage {
        pick: u8,
    },
}

fn add_nodes() -> impl Strategy<Value = Event> + Clone {
    (any::<u8>(), 1..=4_u8).prop_map(|(recipe, count)| Event::AddNodes { recipe, count })
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        50 => work(),
        22 => change_of_pod(),
        14 => change_of_node(),
        14 => change_of_others(),
        18 => change_of_storage(),
    ]
}

fn work() -> impl Strategy<Value = Event> {
    let any = any::<u8>;
    prop_oneof![
        16 => (any(), prop::bool::weighted(0.8))
            .prop_map(|(recipe, decide)| Event::AddPod { recipe, decide }),
        6 => (any(), any()).prop_map(|(recipe, node)| Event::AddBound { recipe, node }),
        6 => any().prop_map(|pick| Event::Retry { pick }),
        3 => any().prop_map(|pick| Event::Ask { pick }),
    ]
}

fn change_of_pod() -> impl Strategy<Value = Event> {
    let any = any::<u8>;
    prop_oneof![
        3 => (any(), any()).prop_map(|(pick, node)| Event::Bind { pick, node }),
        3 => (any(), any()).prop_map(|(pick, recipe)| Event::UpdatePod { pick, recipe }),
        1 => any().prop_map(|pick| Event::FinishPod { pick }),
        4 => any().prop_map(|pick| Event::RemovePod { pick }),
        2 => any().prop_map(|pick| Event::Forget { pick }),
    ]
}

fn change_of_node() -> impl Strategy<Value = Event> {
    let any = any::<u8>;
    prop_oneof![
        5 => (any(), any()).prop_map(|(pick, recipe)| Event::UpdateNode { pick, recipe }),
        3 => any().prop_map(|pick| Event::RemoveNode { pick }),
        3 => (any(), any()).prop_map(|(pick, recipe)| Event::ReturnNode { pick, recipe }),
        2 => add_nodes(),
    ]
}

/// Namespaces, Services and owners that come or change.
fn others() -> impl Strategy<Value = Event> {
    let selector = proptest::option::weighted(0.9, pool::pairs(1));
    let service =
        (0..3_u8, 0..2_u8, selector).prop_map(|(number, namespace, selector)| Event::Service {
            number,
            namespace,
            selector,
        });
    let owner = (0..3_u8, 0..2_u8, 0..2_u8, pool::selector()).prop_map(
        |(kind, number, namespace, selector)| Event::Owner {
            kind,
            number,
            namespace,
            selector,
        },
    );
    prop_oneof![
        namespace_labels().prop_map(|(which, labels)| Event::Namespace { which, labels }),
        service,
        owner,
    ]
}

/// Namespaces, Services and owners that come, change or go.
pub fn change_of_others() -> impl Strategy<Value = Event> {
    prop_oneof![
        12 => others(),
        1 => (0..2_u8).prop_map(|which| Event::RemoveNamespace { which }),
        1 => (0..3_u8, 0..2_u8)
            .prop_map(|(number, namespace)| Event::RemoveService { number, namespace }),
        1 => (0..3_u8, 0..2_u8, 0..2_u8).prop_map(|(kind, number, namespace)| {
            Event::RemoveOwner { kind, number, namespace }
        }),
    ]
}

fn change_of_storage() -> impl Strategy<Value = Event> {
    prop_oneof![
        6 => storage::storage().prop_map(Event::Storage),
        1 => any::<u8>().prop_map(|pick| Event::RemoveStorage { pick }),
    ]
}

/// Nodes, then other objects, then pods; nothing goes.
pub fn growth() -> impl Strategy<Value = Vec<Event>> {
    let any = any::<u8>;
    let nodes = (any(), 1..=5_u8).prop_map(|(recipe, count)| Event::AddNodes { recipe, count });
    let pod = prop_oneof![
        3 => any().prop_map(|recipe| Event::AddPod { recipe, decide: false }),
        1 => (any(), any()).prop_map(|(recipe, node)| Event::AddBound { recipe, node }),
    ];
    (vec(nodes, 1..=6), vec(others(), 0..=8), vec(pod, 0..=80))
        .prop_map(|(nodes, others, pods)| [nodes, others, pods].concat())
}

/// Some nodes and some storage, then anything.
pub fn history() -> impl Strategy<Value = Vec<Event>> {
    let storage = vec(storage::storage().prop_map(Event::Storage), 0..=12);
    (vec(add_nodes(), 0..=10), storage, vec(event(), 1..=110))
        .prop_map(|(nodes, storage, rest)| [nodes, storage, rest].concat())
}

/// 100 to 240 nodes, then anything.
pub fn large_history() -> impl Strategy<Value = Vec<Event>> {
    let many =
        (any::<u8>(), 25..=60_u8).prop_map(|(recipe, count)| Event::AddNodes { recipe, count });
    (vec(many, 4), vec(event(), 1..=50)).prop_map(|(mut all, rest)| {
        all.extend(rest);
        all
    })
}
