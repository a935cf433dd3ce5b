//! What happens on the server without the scheduler: users, nodes, controllers, other schedulers.

use super::Simulation;
use crate::action::Verb;
use crate::expected::key_of;
use crate::fault::Fault;
use crate::random::Random;
use crate::server::{Key, pod_id};
use berth_core::Quantity;
use berth_core::object::{
    ContainerStatus, LabelSelector, Namespace, Node, Object, ObjectMeta, Pod, PodDisruptionBudget,
    PodStatus, Service, Taint, Toleration, Workload,
};
use berth_test_support::generate::node::{EFFECTS, TAINTS};
use berth_test_support::generate::placement::node_name;
use berth_test_support::generate::pod::SCHEDULERS;
use berth_test_support::generate::pool::{NAMESPACES, labels};

impl Simulation {
    pub(super) fn happen(&mut self, verb: Verb, random: &mut Random) {
        match verb {
            Verb::CreatePod => self.create_pod(random),
            Verb::DeletePod => {
                if let Some((key, uid)) = self.any_pod(random, |_| true) {
                    let graceful = self.setup.graceful;
                    self.server.evict(&key, &uid, graceful);
                }
            }
            Verb::UpdatePod => self.update_pod(random),
            Verb::RecreatePod => self.recreate_pod(random),
            Verb::CreateNode => self.create_node(random),
            Verb::UpdateNode => self.update_node(random),
            Verb::DeleteNode => self.delete_node(random),
            Verb::ReturnNode => self.return_node(random),
            Verb::ForeignBind => self.foreign_bind(random),
            Verb::Kubelet => self.kubelet(random),
            Verb::Other => self.change_other(random),
            Verb::Storage => self.change_storage(random),
            Verb::Control => self.control(random),
            Verb::Burst => self.burst(random),
            _ => {}
        }
    }

    fn burst(&mut self, random: &mut Random) {
        if !self.may(Fault::Burst) {
            return;
        }
        self.counts.count(Fault::Burst);
        let kinds = [
            Verb::Storage,
            Verb::CreatePod,
            Verb::CreatePod,
            Verb::CreatePod,
            Verb::UpdateNode,
            Verb::DeletePod,
            Verb::Kubelet,
            Verb::UpdatePod,
            Verb::CreateNode,
        ];
        for _ in 0..40 {
            let verb = random.choose(&kinds);
            self.happen(verb, random);
        }
    }

    fn any_pod(&self, random: &mut Random, wanted: impl Fn(&Pod) -> bool) -> Option<(Key, String)> {
        let pods: Vec<&Pod> = self.server.pods().filter(|pod| wanted(pod)).collect();
        let pod = random.pick(&pods)?;
        Some((key_of(pod), pod.metadata.uid.clone()))
    }

    pub(super) fn any_node(&self, random: &mut Random) -> Option<Node> {
        let nodes: Vec<&Node> = self.server.nodes().collect();
        random.pick(&nodes).map(|node| (*node).clone())
    }

    fn create_pod(&mut self, random: &mut Random) {
        if self.server.pods().count() >= self.setup.most.1 {
            return;
        }
        let name = format!("p{}", self.pods_ever);
        self.pods_ever += 1;
        let pod = self.new_pod(&name, random);
        let plain = crate::storage::claims_of(&pod).filter(|(_, is_own)| !is_own);
        let names = plain.map(|(name, _)| name).collect();
        self.claim_for(&pod.metadata.namespace, names, random);
        self.server.put(Object::Pod(Box::new(pod)));
    }

    fn new_pod(&mut self, name: &str, random: &mut Random) -> Pod {
        let at = random.below(self.setup.pods.len());
        let mut pod = self.setup.pods[at].pod(name);
        // What a node reports of a pod that it runs.
        pod.status = PodStatus::default();
        self.uids += 1;
        pod.metadata.uid = format!("u{}", self.uids);
        pod.spec.priority = Some(random.choose(&self.setup.priorities));
        if random.one_in(10) {
            pod.spec.preemption_policy = "Never".into();
        }
        if let Some(storage) = &self.setup.storage {
            storage.give(&mut pod, random);
        }
        if self.setup.starts {
            let second = random.below(3);
            pod.status.start_time = Some(format!("2023-11-14T22:13:2{second}Z"));
        }
        pod
    }

    fn recreate_pod(&mut self, random: &mut Random) {
        if !self.may(Fault::Recreated) {
            return;
        }
        let waits = random.one_in(2);
        let wanted = |pod: &Pod| !waits || pod.spec.node_name.is_empty();
        let Some((key, _)) = self.any_pod(random, wanted) else {
            return;
        };
        self.counts.count(Fault::Recreated);
        let mut pod = self.new_pod(&key.1, random);
        pod.metadata.namespace.clone_from(&key.0);
        self.server.delete(&pod_id(&key));
        self.server.put(Object::Pod(Box::new(pod)));
    }

    /// What may change of a pod that is there: labels, tolerations, gates, and what is taken back.
    fn update_pod(&mut self, random: &mut Random) {
        let Some((key, uid)) = self.any_pod(random, |pod| !pod.status.is_finished()) else {
            return;
        };
        let kind = random.below(6);
        let pair = (3, u8::from(random.one_in(2)));
        self.server.change_pod(&key, &uid, |pod| match kind {
            0 | 1 => pod.metadata.labels = labels(&[pair]),
            2 => pod.metadata.labels.clear(),
            3 => pod.spec.tolerations.push(Toleration {
                operator: "Exists".into(),
                ..Toleration::default()
            }),
            4 => pod.spec.scheduling_gates.clear(),
            _ => {
                for container in &mut pod.spec.containers {
                    if let Some(requests) = &mut container.resources.requests {
                        requests.retain(|name, _| name != "cpu");
                    }
                }
            }
        });
    }

    fn node(&mut self, name: &str, random: &mut Random) -> Node {
        let at = random.below(self.setup.nodes.len());
        self.setup.nodes[at].node(name)
    }

    fn create_node(&mut self, random: &mut Random) {
        if self.server.nodes().count() >= self.setup.most.0 {
            return;
        }
        let number = u8::try_from(self.nodes_ever % 200).expect("below 200");
        self.nodes_ever += 1;
        let name = node_name(number);
        if !self.server.has_node(&name) {
            let node = self.node(&name, random);
            self.server.put(Object::Node(Box::new(node)));
        }
    }

    fn update_node(&mut self, random: &mut Random) {
        let Some(mut node) = self.any_node(random) else {
            return;
        };
        let name = node.metadata.name.clone();
        match random.below(4) {
            0 => node.spec.unschedulable = random.one_in(4),
            1 if node.spec.taints.is_empty() && random.one_in(3) => node.spec.taints.push(Taint {
                key: TAINTS[0].into(),
                effect: EFFECTS[0].into(),
                ..Taint::default()
            }),
            1 => node.spec.taints.clear(),
            2 => shrink(&mut node),
            _ => node = self.node(&name, random),
        }
        self.server.put(Object::Node(Box::new(node)));
    }

    fn delete_node(&mut self, random: &mut Random) {
        if !self.may(Fault::NodeVanished) {
            return;
        }
        let Some(node) = self.any_node(random) else {
            return;
        };
        self.counts.count(Fault::NodeVanished);
        let name = node.metadata.name;
        self.server.delete(&("Node", String::new(), name.clone()));
        // Its pods go with it, or later.
        if random.one_in(2) {
            let pods = self.server.pods();
            let there = pods.filter(|pod| pod.spec.node_name == name);
            let ids: Vec<_> = there.map(|pod| pod_id(&key_of(pod))).collect();
            for id in ids {
                self.server.delete(&id);
            }
        }
        self.gone_nodes.push(name);
    }

    fn return_node(&mut self, random: &mut Random) {
        if !self.may(Fault::NodeReturned) || self.gone_nodes.is_empty() {
            return;
        }
        let at = random.below(self.gone_nodes.len());
        let name = self.gone_nodes.remove(at);
        if self.server.has_node(&name) || self.server.nodes().count() >= self.setup.most.0 {
            return;
        }
        self.counts.count(Fault::NodeReturned);
        let mut node = self.node(&name, random);
        if random.one_in(2) {
            shrink(&mut node);
        }
        self.server.put(Object::Node(Box::new(node)));
    }

    /// Another scheduler binds whatever waits, or brings a pod of its own.
    fn foreign_bind(&mut self, random: &mut Random) {
        if !self.may(Fault::ForeignBind) {
            return;
        }
        let node = match self.any_node(random) {
            Some(node) if !random.one_in(12) => node.metadata.name,
            _ => "nowhere".into(),
        };
        if random.one_in(2) {
            let waits = |pod: &Pod| pod.spec.node_name.is_empty() && !pod.status.is_finished();
            let Some((key, uid)) = self.any_pod(random, waits) else {
                return;
            };
            if self.server.bind(&key, &uid, &node) {
                self.counts.count(Fault::ForeignBind);
            }
            return;
        }
        if self.server.pods().count() >= self.setup.most.1 {
            return;
        }
        self.counts.count(Fault::ForeignBind);
        let name = format!("p{}", self.pods_ever);
        self.pods_ever += 1;
        let mut pod = self.new_pod(&name, random);
        pod.spec.scheduler_name = SCHEDULERS[2].into();
        pod.spec.node_name = node;
        self.server.put(Object::Pod(Box::new(pod)));
    }

    /// A pod that is on a node, or was, comes to its end.
    fn kubelet(&mut self, random: &mut Random) {
        if random.one_in(5) {
            self.report_resize(random);
            return;
        }
        let wanted =
            |pod: &Pod| !pod.spec.node_name.is_empty() || pod.metadata.deletion_timestamp.is_some();
        let Some((key, uid)) = self.any_pod(random, wanted) else {
            return;
        };
        let Some(pod) = self.server.pod(&key) else {
            return;
        };
        let is_lost = !self.server.has_node(&pod.spec.node_name);
        let is_going = pod.metadata.deletion_timestamp.is_some();
        if is_going || is_lost || pod.status.is_finished() {
            self.server.delete(&pod_id(&key));
            return;
        }
        if self.strikes(random, Fault::KubeletRejected) {
            self.server.change_pod(&key, &uid, |pod| {
                pod.status.phase = "Failed".into();
            });
        } else if random.one_in(2) {
            self.server.change_pod(&key, &uid, |pod| {
                pod.status.phase = "Succeeded".into();
            });
        }
    }

    /// A node says what of a resize of a pod it has allocated.
    fn report_resize(&mut self, random: &mut Random) {
        let runs = |pod: &Pod| !pod.spec.node_name.is_empty() && !pod.status.is_finished();
        let Some((key, uid)) = self.any_pod(random, runs) else {
            return;
        };
        let amount = random.choose(&[1, 2]);
        self.server.change_pod(&key, &uid, |pod| {
            let container = pod.spec.containers.first().map(|own| own.name.clone());
            let allocated = [("cpu".to_owned(), Quantity::from_integer(amount))].into();
            pod.status.container_statuses = vec![ContainerStatus {
                name: container.unwrap_or_default(),
                allocated_resources: Some(allocated),
                resources: None,
            }];
        });
    }

    fn change_other(&mut self, random: &mut Random) {
        let number = random.below(2);
        let namespace = random.choose(&NAMESPACES[..2]);
        let meta = |name: String| ObjectMeta {
            name,
            namespace: namespace.into(),
            ..ObjectMeta::default()
        };
        let pairs = labels(&[(3, u8::from(random.one_in(2)))]);
        let selector = Some(LabelSelector {
            match_labels: pairs.clone(),
            ..LabelSelector::default()
        });
        let object = match random.below(6) {
            0 => {
                let mut object = Namespace::default();
                object.metadata.name = namespace.into();
                object.metadata.labels = pairs;
                Object::Namespace(object)
            }
            1 => {
                let mut object = Service {
                    metadata: meta(format!("service{number}")),
                    ..Service::default()
                };
                object.spec.selector = Some(pairs);
                Object::Service(object)
            }
            2 => {
                let mut object = Workload {
                    metadata: meta(format!("owner{number}")),
                    ..Workload::default()
                };
                object.spec.selector = selector;
                Object::ReplicaSet(object)
            }
            _ => {
                let mut object = PodDisruptionBudget {
                    metadata: meta(format!("budget{number}")),
                    ..PodDisruptionBudget::default()
                };
                object.spec.selector = selector;
                object.status.disruptions_allowed = random.choose(&[0, 0, 1, 2]);
                Object::PodDisruptionBudget(object)
            }
        };
        if random.one_in(3) {
            self.server.delete(&crate::server::id_of(&object));
        } else {
            self.server.put(object);
        }
    }
}

/// Leaves a node one core and one pod.
fn shrink(node: &mut Node) {
    if let Some(amounts) = &mut node.status.allocatable {
        for name in ["cpu", "pods"] {
            amounts.insert(name.into(), Quantity::from_integer(1));
        }
    }
}
