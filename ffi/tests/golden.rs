//! kube-scheduler's verdicts, replayed through the exported functions: the record of each pod
//! before it is placed, bits and scores against the record, where it is then placed, and the claims that
//! are bound for it.
//!
//! What goes in differs from what the golden scheduler got only as `cluster_list` says.

use berth::*;
use berth_test_support::answer::Answer;
use berth_test_support::cluster_list::{ClusterList, cluster_list};
use berth_test_support::golden::{BoundClaim, Scenario, scenarios};
use berth_test_support::tally::Tally;
use std::collections::BTreeMap;
use std::ffi::c_char;
use std::fmt::Write;
use std::ptr;

/// A handle whose calls panic, naming the result, where they fail.
struct Handle(*mut berth_scheduler_t);

impl Handle {
    fn new(config: Option<&str>) -> Self {
        let options = berth_options_t {
            size: size_of::<berth_options_t>(),
            fidelity: BERTH_FIDELITY_EXACT,
            ties: BERTH_TIES_FIRST_NAME,
            node_search: BERTH_NODE_SEARCH_ALL,
            seed: 0,
            abi_version: BERTH_ABI_VERSION,
            preemption: BERTH_PREEMPTION_DEFAULT,
            capacities: ptr::null(),
        };
        let mut handle = ptr::null_mut();
        let (text, length) =
            config.map_or((ptr::null(), 0), |config| (chars(config), config.len()));
        // SAFETY: all pointers are of values that outlive the call.
        let result =
            unsafe { berth_scheduler_create(&raw const options, text, length, &raw mut handle) };
        assert_eq!(
            result,
            berth_result_t::BERTH_RESULT_OK,
            "{}",
            error(ptr::null())
        );
        Self(handle)
    }

    fn done(&self, result: berth_result_t) {
        assert_eq!(result, berth_result_t::BERTH_RESULT_OK, "{}", error(self.0));
    }

    fn load(&self, json: &str) {
        // SAFETY: as above.
        self.done(unsafe { berth_load_json(self.0, chars(json), json.len(), ptr::null_mut()) });
    }

    fn pod(&self, name: &str) -> Option<berth_pod_id_t> {
        let mut id = BERTH_ID_NONE;
        // SAFETY: as above.
        let result = unsafe { berth_find_pod(self.0, chars(name), name.len(), &raw mut id) };
        if result == berth_result_t::BERTH_RESULT_NOT_FOUND {
            return None;
        }
        self.done(result);
        Some(id)
    }

    fn explain(&self, pod: berth_pod_id_t) -> Answer {
        let json = text(|buffer, length, out| {
            // SAFETY: as above.
            self.done(unsafe { berth_explain_json(self.0, pod, buffer, length, out) });
        });
        Answer::from_line(&json)
    }

    fn node_name(&self, node: berth_node_id_t) -> String {
        text(|buffer, length, out| {
            // SAFETY: as above.
            self.done(unsafe { berth_node_name(self.0, node, buffer, length, out) });
        })
    }

    /// By name of a feasible node its total, if it has one.
    fn evaluate(&self, pod: berth_pod_id_t) -> BTreeMap<String, Option<i64>> {
        let size = size_of::<berth_counts_t>();
        let mut counts = berth_counts_t {
            size,
            outcome: 0,
            rows: 0,
            feasible: 0,
            evaluated: 0,
            scored: 0,
        };
        let none = ptr::null_mut();
        // SAFETY: as above.
        self.done(unsafe { berth_evaluate(self.0, pod, none, 0, none.cast(), 0, &raw mut counts) });
        let mut bits = vec![u64::MAX; counts.rows.div_ceil(64) as usize];
        let mut scores = vec![-1; counts.rows as usize];
        // SAFETY: as above.
        self.done(unsafe {
            let (bits, scores) = (&mut bits, &mut scores);
            berth_evaluate(
                self.0,
                pod,
                bits.as_mut_ptr(),
                bits.len(),
                scores.as_mut_ptr(),
                scores.len(),
                &raw mut counts,
            )
        });
        let is_feasible = |node: &u32| bits[*node as usize / 64] >> (node % 64) & 1 == 1;
        let feasible = (0..bits.len() as u32 * 64).filter(is_feasible);
        let totals: BTreeMap<_, _> = feasible
            .map(|node| {
                let score = scores[node as usize];
                (self.node_name(node), (counts.scored == 1).then_some(score))
            })
            .collect();
        assert_eq!(totals.len(), counts.feasible as usize);
        totals
    }

    /// Where an attempt places the pod.
    fn schedule(&self, pod: berth_pod_id_t) -> Option<String> {
        let size = size_of::<berth_decision_t>();
        // SAFETY: all zeros is a value of every struct of the ABI.
        let mut decision: berth_decision_t = unsafe { std::mem::zeroed() };
        decision.size = size;
        // SAFETY: as above.
        self.done(unsafe { berth_schedule_pod(self.0, pod, &raw mut decision) });
        assert_eq!(
            decision.outcome == BERTH_OUTCOME_SCHEDULED,
            decision.node != BERTH_ID_NONE
        );
        (decision.node != BERTH_ID_NONE).then(|| self.node_name(decision.node))
    }

    /// Binds the claims of a placed pod.
    fn bind_volumes(&self, pod: berth_pod_id_t) -> Vec<BoundClaim> {
        let mut count = u32::MAX;
        // SAFETY: as above.
        self.done(unsafe { berth_bind_volumes(self.0, pod, &raw mut count) });
        let json = text(|buffer, length, out| {
            // SAFETY: as above.
            self.done(unsafe { berth_volumes_json(self.0, pod, buffer, length, out) });
        });
        let bound: Vec<BoundClaim> = serde_json::from_str(&json).expect("claims");
        assert_eq!(bound.len(), count as usize);
        bound
    }

    fn state_hash(&self) -> u64 {
        let mut hash = 0;
        // SAFETY: as above.
        self.done(unsafe { berth_state_hash(self.0, &raw mut hash) });
        hash
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: a handle of `new`.
        let result = unsafe { berth_scheduler_destroy(self.0) };
        assert_eq!(result, berth_result_t::BERTH_RESULT_OK);
    }
}

fn chars(text: &str) -> *const c_char {
    text.as_ptr().cast()
}

/// A text of a function that is asked for the length first.
fn text(ask: impl Fn(*mut c_char, usize, *mut usize)) -> String {
    let mut length = 0;
    ask(ptr::null_mut(), 0, &raw mut length);
    let mut bytes = vec![0_u8; length];
    ask(bytes.as_mut_ptr().cast(), length, &raw mut length);
    String::from_utf8(bytes).expect("texts are UTF-8")
}

fn error(handle: *const berth_scheduler_t) -> String {
    text(|buffer, length, out| {
        // SAFETY: the pointers are of values that outlive the call.
        let result = unsafe { berth_last_error(handle, buffer, length, out) };
        assert_eq!(result, berth_result_t::BERTH_RESULT_OK);
    })
}

/// Bits and scores must say what the record says.
fn compare_evaluation(handle: &Handle, pod: berth_pod_id_t, answer: &Answer) -> String {
    let totals = handle.evaluate(pod);
    let scores = answer.scores.iter().flatten();
    let of_record: BTreeMap<String, Option<i64>> = scores
        .map(|score| (score.node.clone(), Some(score.total)))
        .collect();
    let is_equal = match (totals.len(), answer.scores.is_some()) {
        (0, false) => answer.node.is_none(),
        (1, false) => totals
            .into_iter()
            .eq(answer.node.clone().map(|node| (node, None))),
        _ => totals == of_record,
    };
    if is_equal {
        String::new()
    } else {
        "    bits and scores differ from the record\n".into()
    }
}

fn replay(set: &str, compared: usize) {
    let mut tally = Tally::of(set);
    for scenario in scenarios(set) {
        let list = cluster_list(&scenario);
        let handle = Handle::new(scenario.config.as_ref().map(ToString::to_string).as_deref());
        handle.load(&list.json.to_string());
        replay_one(&scenario, &list, &handle, &mut tally);
    }
    tally.finish(compared);
}

fn replay_one(scenario: &Scenario, list: &ClusterList, handle: &Handle, tally: &mut Tally<'_>) {
    for verdict in &scenario.verdicts {
        if verdict.wraps || verdict.error.is_some() {
            return;
        }
        if list.replaced.contains(&verdict.pod) {
            let pod = handle.pod(&verdict.pod);
            let placed = pod.and_then(|pod| handle.schedule(pod));
            assert_eq!(placed, verdict.chosen, "{}", verdict.pod);
            continue;
        }
        let Some(pod) = handle.pod(&verdict.pod) else {
            tally.count(&scenario.name, &verdict.pod, "    not found\n");
            continue;
        };
        let before = handle.state_hash();
        let mut answer = handle.explain(pod);
        let evaluation = compare_evaluation(handle, pod, &answer);
        assert_eq!(handle.state_hash(), before, "a question changed the state");
        let placed = handle.schedule(pod);
        answer.volumes = Some(handle.bind_volumes(pod));
        let mut differences = answer.differences(verdict) + &evaluation;
        if placed != verdict.chosen {
            writeln!(differences, "    placed: {placed:?}").expect("write to text");
        }
        tally.count(&scenario.name, &verdict.pod, &differences);
    }
}

#[test]
fn hypershift() {
    replay("hypershift-13nodes", 142);
}

#[test]
fn platform_mix() {
    replay("platform-mix-12nodes", 324);
}

#[test]
fn dsb() {
    replay("dsb-6nodes", 108);
}

#[test]
fn openb() {
    replay("openb-gpuspec33-120nodes", 1400);
}

#[test]
fn random() {
    replay("random-120-scenarios", 2593);
}

#[test]
fn random_config() {
    replay("random-config", 1260);
}

#[test]
fn random_resources() {
    replay("random-resources", 1265);
}

#[test]
fn random_volumes() {
    replay("random-volumes", 1295);
}

#[test]
fn random_resources_huge() {
    replay("random-resources-huge", 92);
}
