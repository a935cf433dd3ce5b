//! Recipes of what a pod says about its place: affinity, spreading, tolerations.

use super::node::{EFFECTS, TAINTS};
use super::pool::{self, Expression, KEYS, NAMESPACES, SelectorRecipe, VALUES, pick};
use super::{few, rarely};
use berth_core::object::{
    NodeSelector, NodeSelectorTerm, PodAffinityTerm, PreferredSchedulingTerm, Requirement,
    Toleration, TopologySpreadConstraint, WeightedPodAffinityTerm,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// A term of a node selector; fields are (whether `metadata.name`, operator, node numbers).
#[derive(Clone, Debug, Default)]
pub struct TermRecipe {
    pub expressions: Vec<Expression>,
    pub fields: Vec<(bool, u8, Vec<u8>)>,
}

impl TermRecipe {
    /// The term itself.
    pub fn term(&self) -> NodeSelectorTerm {
        let field = |(is_name, operator, values): &(bool, u8, Vec<u8>)| Requirement {
            key: if *is_name {
                "metadata.name"
            } else {
                "metadata.other"
            }
            .into(),
            operator: pick(&["In", "NotIn", "Exists"], *operator).into(),
            values: values.iter().map(|number| node_name(*number)).collect(),
        };
        NodeSelectorTerm {
            match_expressions: self.expressions.iter().map(pool::requirement).collect(),
            match_fields: self.fields.iter().map(field).collect(),
        }
    }
}

/// Names are not in the order of arrival.
pub fn node_name(number: u8) -> String {
    format!("n{:03}", u32::from(number) * 37 % 256)
}

/// Terms with every operator; with `wrong`, also such as do not parse.
pub fn term(wrong: bool) -> impl Strategy<Value = TermRecipe> + Clone {
    let operators = if wrong { 7 } else { 6 };
    let field = if wrong {
        // The API server insists on one value; kube-scheduler narrows by all of them.
        (any::<bool>(), 0..3_u8, vec(0..6_u8, 0..=3)).boxed()
    } else {
        (Just(true), 0..2_u8, vec(0..6_u8, 1)).boxed()
    };
    let named = (Just(true), Just(0_u8), vec(0..6_u8, 1));
    let expressions = vec(pool::expression(operators, wrong), 1..=2);
    prop_oneof![
        6 => expressions.clone().prop_map(|expressions| TermRecipe { expressions, fields: vec![] }),
        2 => named.prop_map(|field| TermRecipe { expressions: vec![], fields: vec![field] }),
        1 => (expressions, vec(field.clone(), 1..=2))
            .prop_map(|(expressions, fields)| TermRecipe { expressions, fields }),
        1 => vec(field, 0..=2).prop_map(|fields| TermRecipe { expressions: vec![], fields }),
    ]
}

/// Some terms do not parse.
pub fn any_term() -> impl Strategy<Value = TermRecipe> + Clone {
    prop_oneof![4 => term(false), 1 => term(true)]
}

/// Terms of a required node affinity.
pub fn selector(terms: &[TermRecipe]) -> NodeSelector {
    NodeSelector {
        node_selector_terms: terms.iter().map(TermRecipe::term).collect(),
    }
}

/// A preferred term.
pub fn preferred((weight, term): &(i32, TermRecipe)) -> PreferredSchedulingTerm {
    PreferredSchedulingTerm {
        weight: *weight,
        preference: term.term(),
    }
}

/// A term of pod affinity.
#[derive(Clone, Debug)]
pub struct NearRecipe {
    pub key: u8,
    pub selector: Option<SelectorRecipe>,
    pub namespaces: Vec<u8>,
    pub namespace_selector: Option<Option<SelectorRecipe>>,
}

impl NearRecipe {
    /// The term itself.
    pub fn term(&self) -> PodAffinityTerm {
        let of = |recipe: &Option<SelectorRecipe>| recipe.as_ref().map(SelectorRecipe::selector);
        PodAffinityTerm {
            label_selector: of(&self.selector),
            namespaces: self
                .namespaces
                .iter()
                .map(|at| pick(&NAMESPACES, *at).into())
                .collect(),
            namespace_selector: self.namespace_selector.as_ref().and_then(of),
            topology_key: pick(&KEYS, self.key).into(),
            ..PodAffinityTerm::default()
        }
    }

    /// The term with a weight.
    pub fn weighted(&self, weight: i32) -> WeightedPodAffinityTerm {
        WeightedPodAffinityTerm {
            weight,
            pod_affinity_term: self.term(),
        }
    }
}

/// Keys of topology, other keys and such as no node has.
fn topology_key() -> impl Strategy<Value = u8> + Clone {
    pool::number(KEYS.len(), 3)
}

/// Terms of pod affinity, of either sign.
pub fn near() -> impl Strategy<Value = NearRecipe> + Clone {
    let namespaces = few(4, 2, 0..NAMESPACES.len() as u8);
    let namespace_selector = rarely(4, pool::selector());
    (
        topology_key(),
        pool::selector(),
        namespaces.boxed(),
        namespace_selector.boxed(),
    )
        .prop_map(
            |(key, selector, namespaces, namespace_selector)| NearRecipe {
                key,
                selector,
                namespaces,
                namespace_selector,
            },
        )
}

/// A spread constraint.
#[derive(Clone, Debug)]
pub struct SpreadRecipe {
    pub max_skew: i32,
    pub key: u8,
    pub hard: bool,
    pub selector: Option<SelectorRecipe>,
    pub min_domains: Option<i32>,
    pub honor_affinity: Option<bool>,
    pub honor_taints: Option<bool>,
    pub match_label_keys: Vec<u8>,
}

impl SpreadRecipe {
    /// The constraint itself.
    pub fn constraint(&self) -> TopologySpreadConstraint {
        let policy = |honor: Option<bool>| {
            honor.map(|honor| {
                if honor {
                    "Honor".into()
                } else {
                    "Ignore".into()
                }
            })
        };
        TopologySpreadConstraint {
            max_skew: self.max_skew,
            topology_key: pick(&KEYS, self.key).into(),
            when_unsatisfiable: if self.hard {
                "DoNotSchedule"
            } else {
                "ScheduleAnyway"
            }
            .into(),
            label_selector: self.selector.as_ref().map(SelectorRecipe::selector),
            min_domains: self.min_domains,
            node_affinity_policy: policy(self.honor_affinity),
            node_taints_policy: policy(self.honor_taints),
            match_label_keys: self
                .match_label_keys
                .iter()
                .map(|key| pick(&KEYS, *key).into())
                .collect(),
        }
    }
}

/// Constraints of either kind.
pub fn spread() -> impl Strategy<Value = SpreadRecipe> + Clone {
    let max_skew = prop_oneof![10 => 1..4, 1 => Just(i32::MAX), 1 => 1..100];
    let min_domains = rarely(4, 1..6_i32).boxed();
    let policies = (
        rarely(4, any::<bool>()).boxed(),
        rarely(3, any::<bool>()).boxed(),
    );
    let keys = few(5, 2, 3..KEYS.len() as u8).boxed();
    (
        max_skew,
        topology_key(),
        any::<bool>(),
        pool::selector(),
        min_domains,
        policies,
        keys,
    )
        .prop_map(
            |(max_skew, key, hard, selector, min_domains, policies, keys)| SpreadRecipe {
                max_skew,
                key,
                hard,
                selector,
                min_domains: min_domains.filter(|_| hard),
                honor_affinity: policies.0,
                honor_taints: policies.1,
                match_label_keys: keys,
            },
        )
}

/// A toleration: key, operator, value, effect.
pub type TolerationRecipe = (Option<u8>, u8, u8, u8);

/// Most tolerate something.
pub fn toleration() -> impl Strategy<Value = TolerationRecipe> + Clone {
    (
        proptest::option::weighted(0.8, 0..TAINTS.len() as u8),
        pool::number(5, 3),
        pool::number(VALUES.len(), 2),
        pool::number(EFFECTS.len(), 4),
    )
}

/// The toleration that a recipe says.
pub fn tolerated((key, operator, value, effect): &TolerationRecipe) -> Toleration {
    Toleration {
        key: key.map_or("", |key| pick(&TAINTS, key)).into(),
        operator: pick(&["Exists", "Equal", "", "Gt", "Odd"], *operator).into(),
        value: pick(&VALUES, *value).into(),
        effect: pick(&EFFECTS, *effect).into(),
    }
}
