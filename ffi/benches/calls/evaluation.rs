//! A pod judged on all nodes from Rust: by the core, and by the C function.

use berth::{
    BERTH_FIDELITY_BEST, berth_counts_t, berth_evaluate, berth_find_pod, berth_load_json,
    berth_options_t, berth_result_t, berth_scheduler_create, berth_scheduler_destroy,
    berth_scheduler_t,
};
use berth_core::id::PodId;
use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::object::{Node, Object, Pod};
use berth_core::{Capacities, Change, Fidelity, Options, Scheduler};
use serde_json::{Value, json};
use std::ptr::{null, null_mut};
use std::time::{Duration, Instant};

use berth_result_t::BERTH_RESULT_OK as OK;

/// How many nodes fit the last pod, and the sum of their scores.
pub type Found = (usize, i64);

/// Somebody who evaluates the pods in turn, so many times, into two columns.
pub trait Turn {
    fn turn(&mut self, count: usize) -> (Duration, Found);
}

/// Nodes that differ, as many pods on them, and pods p0, p1 .. that wait.
pub fn list(nodes: usize, pods: usize) -> Value {
    let pod = |name: String, at: usize, node: Value| {
        let (cpu, memory) = (100 + at % 31 * 100, 256 + at % 31 * 64);
        let requests = json!({"cpu": format!("{cpu}m"), "memory": format!("{memory}Mi")});
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {
                "nodeName": node,
                "containers": [{"name": "main", "resources": {"requests": requests}}],
            },
        })
    };
    let node = |at: usize| {
        let memory = format!("{}Gi", 32 + at % 7 * 16);
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": format!("n{at}"), "labels": {"zone": format!("z{}", at % 3)}},
            "status": {"allocatable": {
                "cpu": (8 + at % 13).to_string(), "memory": memory, "pods": "110",
            }},
        })
    };
    let bound = (0..nodes).map(|at| pod(format!("b{at}"), at, format!("n{at}").into()));
    let waiting = (0..pods).map(|at| pod(format!("p{at}"), at, "".into()));
    let items: Vec<Value> = (0..nodes).map(node).chain(bound).chain(waiting).collect();
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

#[derive(Default)]
struct Columns {
    bits: Vec<u64>,
    scores: Vec<i64>,
}

impl Columns {
    fn found(&self) -> Found {
        let fits = self.bits.iter().map(|word| word.count_ones() as usize);
        (fits.sum(), self.scores.iter().sum())
    }
}

/// The core's own scheduler.
pub struct ByCore {
    scheduler: Scheduler,
    pods: Vec<PodId>,
    columns: Columns,
}

impl ByCore {
    pub fn new(list: &Value, pods: usize) -> Self {
        let items = list["items"].as_array().expect("a list has items");
        let object = |item: &Value| {
            if item["kind"] == "Node" {
                let node: Node = serde_json::from_value(item.clone()).expect("a node");
                Object::Node(Box::new(node))
            } else {
                let pod: Pod = serde_json::from_value(item.clone()).expect("a pod");
                Object::Pod(Box::new(pod))
            }
        };
        let objects: Vec<Object> = items.iter().map(object).collect();
        let options = Options {
            fidelity: Fidelity::Best,
            ..Options::default()
        };
        let capacities = Capacities::for_objects(objects.iter(), std::iter::empty());
        let config = KubeSchedulerConfiguration::default();
        let mut scheduler = Scheduler::new(&config, options, capacities).expect("it fits");
        for object in &objects {
            scheduler.apply(Change::Added, object).expect("it fits");
        }
        let pod = |at| scheduler.find_pod("default", &format!("p{at}"));
        let pods = (0..pods).map(|at| pod(at).expect("it is there")).collect();
        let columns = Columns::default();
        Self {
            scheduler,
            pods,
            columns,
        }
    }

    fn evaluate(&mut self, pod: PodId) {
        let decision = self.scheduler.evaluate(pod);
        let rows = self.scheduler.node_rows();
        let Columns { bits, scores } = &mut self.columns;
        bits.clear();
        bits.resize(rows.div_ceil(64), 0);
        scores.clear();
        scores.resize(rows, 0);
        for (node, total) in self.scheduler.feasible(&decision) {
            bits[node.index() / 64] |= 1 << (node.index() % 64);
            scores[node.index()] = total;
        }
    }
}

impl Turn for ByCore {
    fn turn(&mut self, count: usize) -> (Duration, Found) {
        let began = Instant::now();
        for at in 0..count {
            self.evaluate(self.pods[at % self.pods.len()]);
        }
        (began.elapsed(), self.columns.found())
    }
}

/// A handle.
pub struct ByAbi {
    handle: *mut berth_scheduler_t,
    pods: Vec<u32>,
    columns: Columns,
}

impl ByAbi {
    pub fn new(list: &Value, pods: usize) -> Self {
        let json = list.to_string();
        let mut handle = null_mut();
        // SAFETY: all zeros is a value of every struct; the pointers are of values that outlive the
        // calls, and the text is as long as said.
        unsafe {
            let mut options: berth_options_t = std::mem::zeroed();
            options.size = size_of::<berth_options_t>();
            options.fidelity = BERTH_FIDELITY_BEST;
            let made = berth_scheduler_create(&raw const options, null(), 0, &raw mut handle);
            assert_eq!(made, OK);
            let loaded = berth_load_json(handle, json.as_ptr().cast(), json.len(), null_mut());
            assert_eq!(loaded, OK);
        }
        let pod = |at| {
            let (name, mut id) = (format!("p{at}"), 0);
            let text = name.as_ptr().cast();
            // SAFETY: the handle is alive, the text is as long as said, and so is where the id goes.
            let found = unsafe { berth_find_pod(handle, text, name.len(), &raw mut id) };
            assert_eq!(found, OK);
            id
        };
        let pods = (0..pods).map(pod).collect();
        let rows = json.matches("\"Node\"").count();
        let columns = Columns {
            bits: vec![0; rows.div_ceil(64)],
            scores: vec![0; rows],
        };
        Self {
            handle,
            pods,
            columns,
        }
    }
}

impl Turn for ByAbi {
    fn turn(&mut self, count: usize) -> (Duration, Found) {
        let Columns { bits, scores } = &mut self.columns;
        // SAFETY: all zeros is a value of every struct of the ABI.
        let mut counts: berth_counts_t = unsafe { std::mem::zeroed() };
        counts.size = size_of::<berth_counts_t>();
        let began = Instant::now();
        for at in 0..count {
            // SAFETY: the handle is alive, the arrays are as long as said, the struct has its size.
            let result = unsafe {
                berth_evaluate(
                    self.handle,
                    self.pods[at % self.pods.len()],
                    bits.as_mut_ptr(),
                    bits.len(),
                    scores.as_mut_ptr(),
                    scores.len(),
                    &raw mut counts,
                )
            };
            assert_eq!(result, OK);
        }
        (began.elapsed(), self.columns.found())
    }
}

impl Drop for ByAbi {
    fn drop(&mut self) {
        // SAFETY: a handle of `new`, which is not used again.
        assert_eq!(unsafe { berth_scheduler_destroy(self.handle) }, OK);
    }
}
