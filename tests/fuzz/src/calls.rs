//! Sequences of C calls: a result for each, and nothing changed where it is not OK.

use berth::{
    BERTH_ABI_VERSION, BERTH_BIND_BOUND, BERTH_CHANGE_ADDED, BERTH_CHANGE_DELETED,
    BERTH_CHANGE_MODIFIED, BERTH_OUTCOME_SCHEDULED, berth_advance, berth_apply_json, berth_bound,
    berth_capacities_t, berth_commit, berth_counts_t, berth_decision_t, berth_evaluate,
    berth_explain_json, berth_find_node, berth_find_pod, berth_fork, berth_last_error,
    berth_load_json, berth_loaded_t, berth_node_name, berth_node_remove, berth_notes,
    berth_options_t, berth_pod_forget, berth_pod_node, berth_pod_remove, berth_result_t,
    berth_rollback, berth_schedule_one, berth_schedule_pod, berth_scheduler_create,
    berth_scheduler_destroy, berth_scheduler_t, berth_state_hash, berth_state_load,
    berth_state_save, berth_state_size,
};
use std::ffi::c_char;
use std::ptr::{null, null_mut};

use berth_result_t::{
    BERTH_RESULT_BAD_STATE as BAD_STATE, BERTH_RESULT_CAPACITY as CAPACITY, BERTH_RESULT_OK as OK,
    BERTH_RESULT_PANIC as PANIC,
};

mod structs;
mod volumes;

/// What a byte of a buffer that is not written keeps.
const UNTOUCHED: u8 = 0xa5;

/// One line a call: `L` and JSON loads it, `+`, `~`, `-` and JSON apply it, `p` and a name finds a
/// pod, `n` a node, `e` and a number evaluates the pod of that id, `s` schedules it, `x` explains it;
/// `N` asks for notes; `o` and a number makes a turn of the loop at that second, `b` says that the pod is
/// bound, `a` lets time pass until that second; `f` forks, `r` rolls back, `k` commits; `g` forgets the
/// pod's place, `d` removes the pod, `D` the node; `S` saves the state and loads it. `v` and a number asks
/// for the volumes of the pod of that id, `B` binds them, `c` binds the claims that nobody waits for.
/// `u` and a name and a number takes in a node with that cpu as a struct, `q` and a namespace and a number
/// creates a class, `Q` releases it, `U` and a name and a number takes in a pod of the class of that id;
/// `P` says that the evictions for a pod failed, `M` asks for all of a pod, `i` for all lists, and `A`
/// makes turns of the loop. A first line of `C` and a text is the configuration.
pub fn run(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else {
        return;
    };
    let config = text.lines().next().and_then(|line| line.strip_prefix('C'));
    let Some(mut calls) = Calls::new(config) else {
        return;
    };
    for line in text.lines() {
        calls.line(line);
    }
    calls.end();
}

/// A handle that is used by nobody else.
struct Calls {
    handle: *mut berth_scheduler_t,
    /// The state's hash at each fork, the oldest first.
    forks: Vec<u64>,
}

impl Calls {
    fn new(config: Option<&str>) -> Option<Self> {
        // SAFETY: all zeros is a value of every struct of the ABI.
        let mut capacities: berth_capacities_t = unsafe { std::mem::zeroed() };
        capacities.size = size_of::<berth_capacities_t>();
        (capacities.nodes, capacities.pods) = (8, 16);
        let options = berth_options_t {
            size: size_of::<berth_options_t>(),
            fidelity: 0,
            ties: 0,
            node_search: 0,
            seed: 0,
            abi_version: BERTH_ABI_VERSION,
            preemption: 0,
            capacities: &raw const capacities,
        };
        let (config, length) = config.map_or((null(), 0), |text| (text.as_ptr(), text.len()));
        let mut handle = null_mut();
        // SAFETY: all pointers are to what is alive here; the text is as long as said.
        let result = unsafe {
            berth_scheduler_create(&raw const options, config.cast(), length, &raw mut handle)
        };
        assert_ne!(result, PANIC);
        assert_eq!(result == OK, !handle.is_null(), "{result:?}");
        let forks = Vec::new();
        (result == OK).then_some(Self { handle, forks })
    }

    fn line(&mut self, line: &str) {
        let mut letters = line.chars();
        let Some(call) = letters.next() else {
            return;
        };
        let text = letters.as_str();
        let id = text.trim().parse().unwrap_or(0);
        let before = self.hash();
        let result = match call {
            'L' => self.load(text),
            '+' => self.apply(BERTH_CHANGE_ADDED, text),
            '~' => self.apply(BERTH_CHANGE_MODIFIED, text),
            '-' => self.apply(BERTH_CHANGE_DELETED, text),
            'p' => self.find(text, berth_find_pod),
            'n' => self.find(text, berth_find_node),
            'm' => self.name(id),
            'e' => self.evaluate(id),
            's' => self.schedule(id),
            'x' => self.explain(id),
            'N' => self.notes(),
            'o' => self.turn(id),
            'f' | 'r' | 'k' => self.fork(call),
            'S' => self.save_and_load(),
            'b' | 'a' | 'g' | 'd' | 'D' => self.change(call, id),
            'v' => self.volumes(id),
            'B' => self.bind_volumes(id),
            'c' => self.bind_claims(),
            'u' => self.upsert_node(text),
            'q' => self.create_class(text),
            'Q' => self.release_class(id),
            'U' => self.upsert_pod(text),
            'P' => self.preemption_failed(id),
            'M' => self.pod(id),
            'i' => self.lists(),
            'A' => self.turns(id),
            _ => return,
        };
        assert_ne!(result, PANIC, "{line}");
        if result != OK {
            // What was bound before a table was full stays bound.
            let is_partial = matches!(call, 'B' | 'c') && result == CAPACITY;
            assert!(is_partial || self.hash() == before, "{result:?}: {line}");
            assert!(!self.last_error().is_empty(), "{result:?}: {line}");
        } else if !"L+~-sobagdDrBcuqQUPA".contains(call) {
            assert_eq!(self.hash(), before, "{line}");
        }
    }

    /// A turn of the loop; what it says must hold.
    fn turn(&self, second: u32) -> berth_result_t {
        // SAFETY: all zeros is a value of every struct of the ABI.
        let mut decision: berth_decision_t = unsafe { std::mem::zeroed() };
        decision.size = size_of::<berth_decision_t>();
        let now = u64::from(second) * 1_000_000_000;
        // SAFETY: the handle is alive, the struct has its size.
        let result = unsafe { berth_schedule_one(self.handle, now, &raw mut decision) };
        assert_eq!(result, OK);
        let mut node = 0;
        if decision.outcome == BERTH_OUTCOME_SCHEDULED {
            // SAFETY: the handle is alive, and so is where the id goes.
            let asked = unsafe { berth_pod_node(self.handle, decision.pod, &raw mut node) };
            assert_eq!((asked, node), (OK, decision.node));
        }
        result
    }

    fn fork(&mut self, call: char) -> berth_result_t {
        let before = self.hash();
        // SAFETY: the handle is alive.
        let result = unsafe {
            match call {
                'f' => berth_fork(self.handle),
                'r' => berth_rollback(self.handle),
                _ => berth_commit(self.handle),
            }
        };
        assert_eq!(result == BAD_STATE, call != 'f' && self.forks.is_empty());
        if result == OK {
            match call {
                'f' => self.forks.push(before),
                'r' => assert_eq!(Some(self.hash()), self.forks.pop()),
                _ => drop(self.forks.pop()),
            }
        }
        result
    }

    /// The state is the same afterwards.
    fn save_and_load(&self) -> berth_result_t {
        let mut size = 0;
        // SAFETY: the handle is alive, and so is where the size goes.
        assert_eq!(unsafe { berth_state_size(self.handle, &raw mut size) }, OK);
        let mut bytes = vec![UNTOUCHED; size];
        // SAFETY: the handle is alive, the bytes are as many as said.
        unsafe {
            let saved =
                berth_state_save(self.handle, bytes.as_mut_ptr(), bytes.len(), &raw mut size);
            assert_eq!((saved, size), (OK, bytes.len()));
            berth_state_load(self.handle, bytes.as_ptr(), bytes.len())
        }
    }

    fn change(&self, call: char, id: u32) -> berth_result_t {
        // SAFETY: the handle is alive.
        unsafe {
            match call {
                'b' => berth_bound(self.handle, id, BERTH_BIND_BOUND, 0),
                'a' => berth_advance(self.handle, u64::from(id) * 1_000_000_000, null_mut()),
                'g' => berth_pod_forget(self.handle, id),
                'd' => berth_pod_remove(self.handle, id),
                _ => berth_node_remove(self.handle, id),
            }
        }
    }

    fn hash(&self) -> u64 {
        let mut hash = 0;
        // SAFETY: the handle is alive, and so is where the hash goes.
        assert_eq!(unsafe { berth_state_hash(self.handle, &raw mut hash) }, OK);
        hash
    }

    fn load(&self, json: &str) -> berth_result_t {
        let mut loaded = berth_loaded_t {
            size: size_of::<berth_loaded_t>(),
            pending: 0,
            skipped: 0,
        };
        // SAFETY: the handle is alive, the text is as long as said, the struct has its size.
        unsafe {
            berth_load_json(
                self.handle,
                json.as_ptr().cast(),
                json.len(),
                &raw mut loaded,
            )
        }
    }

    fn apply(&self, change: i32, json: &str) -> berth_result_t {
        let mut id = 0;
        // SAFETY: the handle is alive, the text is as long as said, and so is where the id goes.
        unsafe {
            berth_apply_json(
                self.handle,
                change,
                json.as_ptr().cast(),
                json.len(),
                &raw mut id,
            )
        }
    }

    fn find(
        &self,
        name: &str,
        find: unsafe extern "C" fn(
            *mut berth_scheduler_t,
            *const c_char,
            usize,
            *mut u32,
        ) -> berth_result_t,
    ) -> berth_result_t {
        let mut id = 0;
        // SAFETY: the handle is alive, the text is as long as said, and so is where the id goes.
        unsafe { find(self.handle, name.as_ptr().cast(), name.len(), &raw mut id) }
    }

    fn evaluate(&self, pod: u32) -> berth_result_t {
        let mut counts = berth_counts_t {
            size: size_of::<berth_counts_t>(),
            outcome: 0,
            rows: 0,
            feasible: 0,
            evaluated: 0,
            scored: 0,
        };
        // SAFETY: the handle is alive, NULL stands for no array, the struct has its size.
        let asked = unsafe {
            berth_evaluate(
                self.handle,
                pod,
                null_mut(),
                0,
                null_mut(),
                0,
                &raw mut counts,
            )
        };
        if asked != OK {
            return asked;
        }
        let rows = counts.rows as usize;
        let mut bits = vec![u64::MAX; rows.div_ceil(64)];
        let mut scores = vec![i64::MIN; rows];
        // SAFETY: the arrays have the lengths that are said; the rest is as above.
        let result = unsafe {
            berth_evaluate(
                self.handle,
                pod,
                bits.as_mut_ptr(),
                bits.len(),
                scores.as_mut_ptr(),
                scores.len(),
                &raw mut counts,
            )
        };
        assert_eq!(result, OK);
        let feasible: u32 = bits.iter().map(|word| word.count_ones()).sum();
        assert_eq!(feasible, counts.feasible);
        for (row, score) in scores.iter().enumerate() {
            let is_feasible = bits[row / 64] >> (row % 64) & 1 == 1;
            assert!(is_feasible || *score == 0, "node {row} has {score}");
        }
        result
    }

    fn schedule(&self, pod: u32) -> berth_result_t {
        // SAFETY: all zeros is a value of every struct of the ABI.
        let mut decision: berth_decision_t = unsafe { std::mem::zeroed() };
        decision.size = size_of::<berth_decision_t>();
        // SAFETY: the handle is alive, the struct has its size.
        unsafe { berth_schedule_pod(self.handle, pod, &raw mut decision) }
    }

    fn explain(&self, pod: u32) -> berth_result_t {
        let (result, json) = text(|buffer, length, out| {
            // SAFETY: the handle is alive, the buffer is as long as said.
            unsafe { berth_explain_json(self.handle, pod, buffer, length, out) }
        });
        if result == OK {
            let record: serde_json::Value = serde_json::from_str(&json).expect("JSON");
            assert!(record.is_object(), "{json}");
        }
        result
    }

    fn name(&self, node: u32) -> berth_result_t {
        text(|buffer, length, out| {
            // SAFETY: the handle is alive, the buffer is as long as said.
            unsafe { berth_node_name(self.handle, node, buffer, length, out) }
        })
        .0
    }

    fn notes(&self) -> berth_result_t {
        text(|buffer, length, out| {
            // SAFETY: the handle is alive, the buffer is as long as said.
            unsafe { berth_notes(self.handle, buffer, length, out) }
        })
        .0
    }

    fn last_error(&self) -> String {
        let (result, error) = text(|buffer, length, out| {
            // SAFETY: the handle is alive, the buffer is as long as said.
            unsafe { berth_last_error(self.handle, buffer, length, out) }
        });
        assert_eq!(result, OK);
        error
    }

    fn end(self) {
        // SAFETY: the handle is alive, and is not used again.
        assert_eq!(unsafe { berth_scheduler_destroy(self.handle) }, OK);
    }
}

/// A text of a function that hands one out, asked for its length, with a byte too little, and with
/// one too many.
fn text(
    ask: impl Fn(*mut c_char, usize, *mut usize) -> berth_result_t,
) -> (berth_result_t, String) {
    let mut length = 0;
    let result = ask(null_mut(), 0, &raw mut length);
    if result != OK {
        return (result, String::new());
    }
    let mut buffer = vec![UNTOUCHED; length + 1];
    let mut written = 0;
    if length > 0 {
        let small = ask(buffer.as_mut_ptr().cast(), length - 1, &raw mut written);
        assert_eq!(small, berth_result_t::BERTH_RESULT_SMALL_BUFFER);
        assert_eq!(written, length);
        assert!(buffer.iter().all(|byte| *byte == UNTOUCHED));
    }
    let result = ask(buffer.as_mut_ptr().cast(), length + 1, &raw mut written);
    assert_eq!((result, written), (OK, length));
    assert_eq!(buffer.pop(), Some(UNTOUCHED));
    (result, String::from_utf8(buffer).expect("texts are UTF-8"))
}
