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

/// Whether a port in use, `[protocol, port, address]`, is one of the wanted ones.
pub(crate) fn conflicts(wanted: &[Word], port: &[Word], texts: &Texts) -> bool {
    let &[protocol, number, address] = port else {
        return false;
    };
    let any = crate::selector::word_of(texts, ANY_ADDRESS);
    let is_any = |address: Word| Some(address) == any;
    wanted.chunks_exact(3).any(|own| {
        let &[own_protocol, own_number, own_address] = own else {
            return false;
        };
        own_protocol == protocol
            && own_number == number
            && (own_address == address || is_any(own_address) || is_any(address))
    })
}
