//! `NodePorts`: a host port is taken once a node, by address and protocol.
//!
//! Mirrors `plugins/nodeports/node_ports.go` and `HostPortInfo` of `framework/types.go`. Reason:
//! [`REASON`]. Differs from kube-scheduler: pods with the same port on one node are counted, so
//! that one of them leaving does not free it.

use crate::class::Section;
use crate::cycle::{Attempt, Refusal, Scratch};
use crate::intern::{Texts, Word};

/// Given where a wanted port is taken.
pub const REASON: &str = "node(s) didn't have free ports for the requested pod ports";

/// Every address of the node.
pub(crate) const ANY_ADDRESS: &str = "0.0.0.0";

pub(crate) fn filter(attempt: Attempt<'_>, scratch: &mut Scratch) {
    let wanted = attempt.class.section(Section::Ports);
    if wanted.is_empty() {
        return;
    }
    let cluster = attempt.cluster;
    for port in 0..cluster.ports.bound() as u32 {
        if !cluster.ports.contains(port) || cluster.port_counts.is_empty(port) {
            continue;
        }
        if conflicts(wanted, cluster.ports.words(port), &cluster.texts) {
            for (row, _) in cluster.port_counts.slots(port) {
                scratch.refuse_word(Refusal::Ports, row as usize / 64, 1 << (row % 64));
            }
        }
    }
}

/// Whether a port in use, `[protocol, port, address]`, is one of the wanted ones, which are sorted.
pub(crate) fn conflicts(wanted: &[Word], port: &[Word], texts: &Texts) -> bool {
    let &[protocol, number, address] = port else {
        return false;
    };
    let any = crate::selector::word_of(texts, ANY_ADDRESS);
    let (wanted, _) = wanted.as_chunks::<3>();
    meets(wanted, [protocol, number, address], any)
}

/// `any` is the word of the address that meets all others.
fn meets(wanted: &[[Word; 3]], [protocol, number, address]: [Word; 3], any: Option<Word>) -> bool {
    let wants = |address| wanted.binary_search(&[protocol, number, address]).is_ok();
    if Some(address) == any {
        let at = wanted.partition_point(|own| *own < [protocol, number, 0]);
        let next = wanted.get(at);
        return next.is_some_and(|own| own.starts_with(&[protocol, number]));
    }
    wants(address) || any.is_some_and(wants)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// The rule as upstream loops over it.
    fn plain(wanted: &[[Word; 3]], port: [Word; 3], any: Option<Word>) -> bool {
        wanted.iter().any(|own| {
            own[..2] == port[..2]
                && (own[2] == port[2] || Some(own[2]) == any || Some(port[2]) == any)
        })
    }

    proptest! {
        #[test]
        fn sorted_ports_meet_what_any_of_them_meets(
            wanted in vec((1..3_u32, 1..9_u32, 1..5_u32), 0..20),
            (protocol, number, address) in (1..3_u32, 1..9_u32, 1..5_u32),
            any in proptest::option::of(1..5_u32),
        ) {
            let mut wanted: Vec<[Word; 3]> =
                wanted.into_iter().map(|(a, b, c)| [a, b, c]).collect();
            let port = [protocol, number, address];
            let expected = plain(&wanted, port, any);
            wanted.sort_unstable();
            prop_assert_eq!(meets(&wanted, port, any), expected);
        }
    }
}
