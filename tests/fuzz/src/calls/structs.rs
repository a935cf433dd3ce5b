//! Calls with structs in the place of JSON, and those that fill arrays.

use super::{Calls, OK, text};
use berth::{
    BERTH_ID_NONE, BERTH_OUTCOME_NONE, berth_amount_t, berth_class_create, berth_class_release,
    berth_class_t, berth_decision_t, berth_node_list, berth_node_name, berth_node_t,
    berth_node_upsert, berth_pod_class, berth_pod_list, berth_pod_name, berth_pod_node,
    berth_pod_t, berth_pod_upsert, berth_preemption_failed, berth_result_t, berth_schedule_all,
    berth_string_t, berth_victim_t, berth_victims,
};
use std::mem::zeroed;
use std::ptr::null_mut;

/// Elements of an array that is too short for some answers.
const FEW: usize = 3;

fn string(text: &str) -> berth_string_t {
    berth_string_t {
        text: text.as_ptr().cast(),
        length: text.len(),
    }
}

/// Thousandths of a cpu, and a few pods.
fn amounts(cpu: i64) -> [berth_amount_t; 2] {
    [("cpu", cpu), ("pods", 5)].map(|(name, amount)| berth_amount_t {
        resource: string(name),
        amount,
    })
}

/// A word, and the number after it.
fn word_and_number(text: &str) -> (&str, i64) {
    let (word, number) = text.split_once(' ').unwrap_or((text, ""));
    (word, number.trim().parse().unwrap_or(0))
}

impl Calls {
    /// `NAME CPU`: the node is called so afterwards.
    pub(super) fn upsert_node(&self, text: &str) -> berth_result_t {
        let (name, cpu) = word_and_number(text);
        let amounts = amounts(cpu);
        // SAFETY: all zeros is a value of every struct of the ABI.
        let mut node: berth_node_t = unsafe { zeroed() };
        node.size = size_of::<berth_node_t>();
        node.name = string(name);
        (node.allocatable, node.allocatable_length) = (amounts.as_ptr(), amounts.len());
        let mut id = BERTH_ID_NONE;
        // SAFETY: the handle is alive, and so is all that the struct points to.
        let result = unsafe { berth_node_upsert(self.handle, &raw const node, &raw mut id) };
        if result == OK {
            let told = self::text(|buffer, length, out| {
                // SAFETY: the handle is alive, the buffer is as long as said.
                unsafe { berth_node_name(self.handle, id, buffer, length, out) }
            });
            assert_eq!(told, (OK, name.to_owned()));
        }
        result
    }

    /// `NAMESPACE CPU`: a class of pods that ask for it.
    pub(super) fn create_class(&self, text: &str) -> berth_result_t {
        let (namespace, cpu) = word_and_number(text);
        let amounts = amounts(cpu);
        // SAFETY: all zeros is a value of every struct of the ABI.
        let mut spec: berth_class_t = unsafe { zeroed() };
        spec.size = size_of::<berth_class_t>();
        spec.namespace_name = string(namespace);
        (spec.requests, spec.requests_length) = (amounts.as_ptr(), 1);
        let mut id = BERTH_ID_NONE;
        // SAFETY: the handle is alive, and so is all that the struct points to.
        let result = unsafe { berth_class_create(self.handle, &raw const spec, &raw mut id) };
        assert_eq!(result == OK, id != BERTH_ID_NONE);
        result
    }

    pub(super) fn release_class(&self, class: u32) -> berth_result_t {
        // SAFETY: the handle is alive.
        unsafe { berth_class_release(self.handle, class) }
    }

    /// `NAME CLASS`: the pod is of that class and called so afterwards.
    pub(super) fn upsert_pod(&self, text: &str) -> berth_result_t {
        let (name, class) = word_and_number(text);
        // SAFETY: all zeros is a value of every struct of the ABI.
        let mut pod: berth_pod_t = unsafe { zeroed() };
        pod.size = size_of::<berth_pod_t>();
        (pod.class_id, pod.priority) = (class as u32, name.len() as i32);
        pod.name = string(name);
        let mut id = BERTH_ID_NONE;
        // SAFETY: the handle is alive, and so is all that the struct points to.
        let result = unsafe { berth_pod_upsert(self.handle, &raw const pod, &raw mut id) };
        if result == OK {
            let (told, of) = self.pod_name(id);
            assert!(told == OK && of.ends_with(name), "{told:?}: {of}");
        }
        result
    }

    /// Name, class and node of a pod: all are told, or none.
    pub(super) fn pod(&self, pod: u32) -> berth_result_t {
        let (result, _) = self.pod_name(pod);
        let mut id = BERTH_ID_NONE;
        // SAFETY: the handle is alive, and so is where the id goes.
        let asked = unsafe { berth_pod_class(self.handle, pod, &raw mut id) };
        assert_eq!(asked, result);
        // SAFETY: as above.
        let asked = unsafe { berth_pod_node(self.handle, pod, &raw mut id) };
        assert_eq!(asked, result);
        result
    }

    fn pod_name(&self, pod: u32) -> (berth_result_t, String) {
        text(|buffer, length, out| {
            // SAFETY: the handle is alive, the buffer is as long as said.
            unsafe { berth_pod_name(self.handle, pod, buffer, length, out) }
        })
    }

    /// Nodes, pods and victims into arrays: as many as counted before, each of which is there.
    pub(super) fn lists(&self) -> berth_result_t {
        let (mut nodes, mut pods, mut victims) = (0, 0, 0);
        // SAFETY: the handle is alive, NULL stands for no array, and so is where the numbers go.
        unsafe {
            assert_eq!(
                berth_node_list(self.handle, null_mut(), 0, &raw mut nodes),
                OK
            );
            assert_eq!(
                berth_pod_list(self.handle, null_mut(), 0, &raw mut pods),
                OK
            );
            assert_eq!(
                berth_victims(self.handle, null_mut(), 0, &raw mut victims),
                OK
            );
        }
        let mut ids = vec![BERTH_ID_NONE; nodes.max(pods)];
        let mut count = 0;
        // SAFETY: the handle is alive, the array is at least as long as said.
        let told = unsafe { berth_node_list(self.handle, ids.as_mut_ptr(), nodes, &raw mut count) };
        assert_eq!((told, count), (OK, nodes));
        assert!(ids[..nodes].iter().all(|id| self.name(*id) == OK));
        // SAFETY: as above.
        let told = unsafe { berth_pod_list(self.handle, ids.as_mut_ptr(), pods, &raw mut count) };
        assert_eq!((told, count), (OK, pods));
        assert!(ids[..pods].iter().all(|id| self.pod(*id) == OK));
        // SAFETY: all zeros is a value of every struct of the ABI.
        let mut gone: Vec<berth_victim_t> = (0..victims).map(|_| unsafe { zeroed() }).collect();
        // SAFETY: the handle is alive, the array is as long as said.
        let told =
            unsafe { berth_victims(self.handle, gone.as_mut_ptr(), victims, &raw mut count) };
        assert_eq!((told, count), (OK, victims));
        told
    }

    /// Turns of the loop until few have been made or none can be.
    pub(super) fn turns(&self, second: u32) -> berth_result_t {
        // SAFETY: all zeros is a value of every struct of the ABI.
        let mut decisions: [berth_decision_t; FEW] = unsafe { zeroed() };
        for decision in &mut decisions {
            decision.size = size_of::<berth_decision_t>();
        }
        let mut count = usize::MAX;
        // SAFETY: the handle is alive, the array is as long as said.
        let result = unsafe {
            berth_schedule_all(
                self.handle,
                u64::from(second) * 1_000_000_000,
                decisions.as_mut_ptr(),
                FEW,
                size_of::<berth_decision_t>(),
                &raw mut count,
            )
        };
        assert!(result == OK && count <= FEW, "{result:?}: {count}");
        let made = &decisions[..count];
        assert!(made.iter().all(|turn| turn.outcome != BERTH_OUTCOME_NONE));
        result
    }

    pub(super) fn preemption_failed(&self, pod: u32) -> berth_result_t {
        // SAFETY: the handle is alive.
        unsafe { berth_preemption_failed(self.handle, pod) }
    }
}
