//! What goes wrong, when the test says so.

use crate::refusal::Refusal;

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// None: faults that were ordered after this one are for the requests behind it.
    Pass,
    /// It is refused and has no effect.
    Refuse(Refusal),
    /// The connection is cut and nothing was done.
    Cut,
    /// It is carried out, and the connection is cut instead of an answer.
    LoseAnswer,
    /// Nothing is done, and nothing answered, until the fault is lifted.
    Hold,
    /// It is carried out, and answered once the fault is lifted.
    HoldAnswer,
    /// Nothing is done, and the answer is something else.
    Answer {
        /// HTTP's.
        code: u16,
        /// As the header says.
        content_type: String,
        /// Whatever it is.
        body: String,
    },
    /// Of a list: it is as the server was at this version, as if from a cache that lags.
    Stale(u64),
}

/// Which requests a fault is for. All three must fit.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rule {
    pub(crate) number: u64,
    /// Kubernetes' verb, `*` for any.
    pub(crate) verb: String,
    /// The resource, with its subresource behind a slash, `*` for any.
    pub(crate) resource: String,
    /// Requests that it is still for.
    pub(crate) left: u64,
    pub(crate) fault: Fault,
}

/// A fault that was ordered, to be lifted by [`Server::lift`](crate::Server::lift).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order(pub(crate) u64);

/// All that is ordered.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    ordered: u64,
    rules: Vec<Rule>,
}

impl Faults {
    pub(crate) fn order(&mut self, verb: &str, resource: &str, times: u64, fault: Fault) -> Order {
        self.ordered += 1;
        self.rules.push(Rule {
            number: self.ordered,
            verb: verb.to_owned(),
            resource: resource.to_owned(),
            left: times,
            fault,
        });
        Order(self.ordered)
    }

    pub(crate) fn lift(&mut self, order: Order) {
        self.rules.retain(|rule| rule.number != order.0);
    }

    pub(crate) fn lift_all(&mut self) {
        self.rules.clear();
    }

    /// Whether requests are still held by it.
    pub(crate) fn stands(&self, order: Order) -> bool {
        self.rules.iter().any(|rule| rule.number == order.0)
    }

    /// The first fault for a request, which is one less from then on.
    pub(crate) fn take(&mut self, verb: &str, resource: &str) -> Option<(Order, Fault)> {
        let fits = |word: &str, with: &str| word == "*" || word == with;
        let rule = self.rules.iter_mut().find(|rule| {
            rule.left > 0 && fits(&rule.verb, verb) && fits(&rule.resource, resource)
        })?;
        rule.left -= 1;
        Some((Order(rule.number), rule.fault.clone()))
    }
}
