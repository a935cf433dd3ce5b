//! What an event costs while many pods wait, and what a fork costs.
//!
//! `cargo bench --bench waiting` prints figures, of which only those of one run compare; without
//! `--bench`, as `cargo test` runs it, a small queue is filled and what the events wake is checked.

use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::object::{Container, Node, Object, Pod, ResourceList};
use berth_core::{Capacities, Change, Options, Quantity, Scheduler};
use std::time::{Duration, Instant};

const NODES: u32 = 1_000;
/// Events that help no pod, of each kind.
const EVENTS: u32 = 20_000;
const SECOND: u64 = 1_000_000_000;

fn main() {
    if std::env::args().any(|argument| argument == "--bench") {
        println!("{NODES} nodes, full; {EVENTS} events of each kind; us an event");
        println!("waiting  pod changed  pod came  node changed  ns a woken pod  fork+rollback ms");
        for waiting in [1_000, 10_000, 100_000] {
            let mut queue = Waiting::new(waiting);
            let pod = queue.time(EVENTS, Waiting::bound_pod_changes);
            let came = queue.time(EVENTS, Waiting::pod_comes);
            let node = queue.time(EVENTS, Waiting::node_changes);
            let woken = (0..3).map(|number| queue.all_wake(number));
            let woken = woken.sum::<Duration>().as_secs_f64() * 1e9 / 3.0 / f64::from(waiting);
            let fork = queue.time(5, |queue, _| {
                queue.scheduler.fork().expect("a fork");
                assert!(queue.scheduler.rollback());
            });
            println!(
                "{waiting:7}  {pod:11.2}  {came:8.2}  {node:12.2}  {woken:14.0}  {:16.2}",
                fork / 1000.0
            );
        }
        return;
    }
    let mut queue = Waiting::new(300);
    for number in 0..50 {
        queue.bound_pod_changes(number);
        queue.pod_comes(number);
        queue.node_changes(number);
        assert_eq!(queue.scheduler.queue_counts().unschedulable, 300);
    }
    queue.all_wake(0);
    assert_eq!(queue.scheduler.queue_counts().unschedulable, 300);
    println!("waiting: 300 pods wait, and wake for what may help them alone");
}

/// Full nodes, pods that find no room, and small ones that come and go.
struct Waiting {
    scheduler: Scheduler,
    now: u64,
}

impl Waiting {
    fn new(waiting: u32) -> Self {
        let config = KubeSchedulerConfiguration::default();
        let capacities = Capacities::for_size(NODES + 8, waiting + 2 * NODES + EVENTS);
        let options = Options {
            preemption: Some(false),
            ..Options::default()
        };
        let scheduler = Scheduler::new(&config, options, capacities).expect("a scheduler");
        let mut queue = Self {
            scheduler,
            now: 1_000 * SECOND,
        };
        queue.scheduler.advance(queue.now);
        for number in 0..NODES {
            queue.apply(Change::Added, &node(number, 0));
            let node = format!("node-{number}");
            queue.apply(
                Change::Added,
                &pod(&format!("full-{number}"), "3900m", &node),
            );
            queue.apply(
                Change::Added,
                &pod(&format!("small-{number}"), "100m", &node),
            );
        }
        for number in 0..waiting {
            queue.apply(Change::Added, &pod(&format!("waits-{number}"), "2", ""));
        }
        queue.settle();
        let waits = queue.scheduler.queue_counts().unschedulable;
        assert_eq!(waits, waiting);
        queue
    }

    /// Mean microseconds of a call.
    fn time(&mut self, count: u32, act: impl Fn(&mut Self, u32)) -> f64 {
        let before = Instant::now();
        (0..count).for_each(|number| act(self, number));
        let each: Duration = before.elapsed() / count;
        each.as_secs_f64() * 1e6
    }

    fn apply(&mut self, change: Change, object: &Object) {
        let applied = self.scheduler.apply(change, object);
        applied.unwrap_or_else(|error| panic!("{error}"));
    }

    fn settle(&mut self) {
        while self.scheduler.has_ready() {
            self.now += 1_000;
            self.scheduler.schedule_one(self.now);
        }
    }

    /// A label that no pod selects.
    fn bound_pod_changes(&mut self, number: u32) {
        let node = format!("node-{}", number % NODES);
        let mut small = pod(&format!("small-{}", number % NODES), "100m", &node);
        if let Object::Pod(small) = &mut small {
            let labels = &mut small.metadata.labels;
            labels.insert("version".to_owned(), (number % 7).to_string());
        }
        self.apply(Change::Modified, &small);
    }

    /// A pod that nobody waits for comes onto a node.
    fn pod_comes(&mut self, number: u32) {
        let node = format!("node-{}", number % NODES);
        self.apply(Change::Added, &pod(&format!("more-{number}"), "0", &node));
    }

    /// A label that no pod reads.
    fn node_changes(&mut self, number: u32) {
        self.apply(Change::Modified, &node(number % NODES, number));
    }

    /// Any pod that leaves wakes those that lack room, as in kube-scheduler: how long that takes, before
    /// they fail again.
    fn all_wake(&mut self, number: u32) -> Duration {
        let node = format!("node-{}", number % NODES);
        let small = pod(&format!("small-{}", number % NODES), "100m", &node);
        let before = Instant::now();
        let applied = self.scheduler.apply(Change::Deleted, &small);
        let taken = before.elapsed();
        applied.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(self.scheduler.queue_counts().unschedulable, 0);
        self.apply(Change::Added, &small);
        self.now += 20 * SECOND;
        self.scheduler.advance(self.now);
        self.settle();
        taken
    }
}

fn node(number: u32, label: u32) -> Object {
    let mut node = Node::default();
    node.metadata.name = format!("node-{number}");
    let labels = &mut node.metadata.labels;
    labels.insert("version".to_owned(), (label % 7).to_string());
    let amounts = [("cpu", "4"), ("memory", "8Gi"), ("pods", "10000")];
    let amounts: ResourceList = amounts
        .map(|(name, amount)| (name.to_owned(), Quantity::parse(amount).expect("an amount")))
        .into();
    node.status.allocatable = Some(amounts.clone());
    node.status.capacity = amounts;
    Object::Node(Box::new(node))
}

fn pod(name: &str, cpu: &str, node: &str) -> Object {
    let mut pod = Pod::default();
    name.clone_into(&mut pod.metadata.name);
    "default".clone_into(&mut pod.metadata.namespace);
    name.clone_into(&mut pod.metadata.uid);
    node.clone_into(&mut pod.spec.node_name);
    "default-scheduler".clone_into(&mut pod.spec.scheduler_name);
    let mut container = Container::default();
    let cpu = Quantity::parse(cpu).expect("an amount");
    container.resources.requests = Some([("cpu".to_owned(), cpu)].into());
    pod.spec.containers.push(container);
    Object::Pod(Box::new(pod))
}
