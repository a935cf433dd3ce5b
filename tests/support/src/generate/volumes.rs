//! Volumes for a random cluster that is written as a line: classes, volumes, claims and what CSI
//! drivers tell, and pods that use them.
//!
//! What upstream decides by chance is kept out: all volumes differ in size, and a node has room of a
//! class by one capacity object at most.

use serde_json::{Value, json};

/// Numbers drawn from a seed.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % bound.max(1)
    }

    fn once_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    fn of<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len() as u64) as usize]
    }
}

/// A node, as volumes see it.
struct Place {
    name: String,
    labels: Value,
}

const ZONE: &str = "topology.kubernetes.io/zone";
const BETA_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
const REGION: &str = "topology.kubernetes.io/region";
const HOST: &str = "kubernetes.io/hostname";

/// Classes: name, provisioner, whether its volumes wait for their pod.
const CLASSES: [(&str, &str, bool); 6] = [
    ("wait", "csi.example.com", true),
    ("counted", "counted.example.com", true),
    ("must", "must.example.com", true),
    ("local", "kubernetes.io/no-provisioner", true),
    ("now", "csi.example.com", false),
    ("old", "kubernetes.io/gce-pd", true),
];

const MODES: [&str; 4] = [
    "ReadWriteOnce",
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOncePod",
];

/// Adds volumes to a line; the same for the same seed.
pub fn add_volumes(line: &mut Value, seed: u64) {
    let mut draw = Draw(seed);
    let nodes = line["input"]["nodes"].as_array().cloned();
    let places: Vec<Place> = nodes
        .unwrap_or_default()
        .iter()
        .map(|node| Place {
            name: text(&node["metadata"]["name"]),
            labels: node["metadata"]["labels"].clone(),
        })
        .collect();
    if places.is_empty() {
        return;
    }
    let mut storage = Storage {
        draw: &mut draw,
        places: &places,
        volumes: Vec::new(),
        claims: Vec::new(),
    };
    for list in ["boundPods", "podsInOrder"] {
        let pods = line["input"].get_mut(list).and_then(Value::as_array_mut);
        for pod in pods.into_iter().flatten() {
            storage.give(pod, list == "boundPods");
        }
    }
    for at in 0..storage.draw.below(12) {
        let volume = storage.free_volume(at);
        storage.volumes.push(volume);
    }
    let (volumes, claims) = (storage.volumes, storage.claims);
    let input = &mut line["input"];
    input["csiNodes"] = csi_nodes(&mut draw, &places);
    input["csiStorageCapacities"] = capacities(&mut draw, &places);
    input["volumeAttachments"] = attachments(&mut draw, &places, &volumes);
    input["storageClasses"] = classes(&mut draw, &places);
    input["csiDrivers"] = json!([
        {"metadata": {"name": "csi.example.com"}, "spec": {}},
        {"metadata": {"name": "counted.example.com"}, "spec": {"storageCapacity": true}},
        {"metadata": {"name": "must.example.com"}, "spec": {"preventPodSchedulingIfMissing": true}},
    ]);
    input["persistentVolumes"] = json!(volumes);
    input["persistentVolumeClaims"] = json!(claims);
}

/// Volumes and claims in the making.
struct Storage<'a> {
    draw: &'a mut Draw,
    places: &'a [Place],
    volumes: Vec<Value>,
    claims: Vec<Value>,
}

impl Storage<'_> {
    /// Gives a pod volumes, now and then.
    fn give(&mut self, pod: &mut Value, is_bound: bool) {
        if self.draw.once_in(3) {
            return;
        }
        let mut volumes = pod["spec"]["volumes"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        for at in 0..=self.draw.below(2) {
            let name = format!("own-{at}");
            let volume = match self.draw.below(12) {
                0 | 3 => self.disk(),
                1 if !is_bound => self.ephemeral(pod, &name),
                2 if !self.claims.is_empty() => self.shared(pod),
                _ => {
                    let claim = format!("{}-{at}", text(&pod["metadata"]["name"]));
                    let namespace = text(&pod["metadata"]["namespace"]);
                    self.claim(&namespace, &claim, is_bound, &json!([]));
                    json!({"persistentVolumeClaim": {"claimName": claim}})
                }
            };
            let mut volume = volume;
            volume["name"] = json!(name);
            volumes.push(volume);
        }
        pod["spec"]["volumes"] = json!(volumes);
    }

    /// A claim of the pod's namespace that another pod uses, or one that is not there.
    fn shared(&mut self, pod: &Value) -> Value {
        let namespace = &pod["metadata"]["namespace"];
        let own = self.claims.iter().map(|claim| &claim["metadata"]);
        let own: Vec<String> = own
            .filter(|metadata| metadata["namespace"] == *namespace)
            .map(|metadata| text(&metadata["name"]))
            .collect();
        let name = if own.is_empty() || self.draw.once_in(8) {
            "missing".to_owned()
        } else {
            self.draw.of(&own).clone()
        };
        json!({"persistentVolumeClaim": {"claimName": name}})
    }

    fn disk(&mut self) -> Value {
        let read_only = self.draw.once_in(2);
        let id = format!("d{}", self.draw.below(3));
        match self.draw.below(9) {
            0 => json!({"awsElasticBlockStore": {"volumeID": id, "readOnly": read_only}}),
            1 => json!({"gcePersistentDisk": {"pdName": id, "readOnly": read_only}}),
            2 => {
                json!({"iscsi": {"targetPortal": "10.0.0.1", "lun": 0, "iqn": format!("iqn.2000-01.com.example:{id}"), "readOnly": read_only}})
            }
            3 => {
                json!({"rbd": {"monitors": [id, "m"], "image": "i", "pool": "p", "readOnly": read_only}})
            }
            4 => json!({"cinder": {"volumeID": id, "readOnly": read_only}}),
            5 => {
                json!({"azureDisk": {"diskName": id, "diskURI": format!("/subscriptions/{id}"), "kind": "Managed"}})
            }
            6 => json!({"portworxVolume": {"volumeID": id, "readOnly": read_only}}),
            7 => json!({"csi": {"driver": "csi.example.com"}}),
            _ => json!({"hostPath": {"path": "/tmp"}}),
        }
    }

    fn ephemeral(&mut self, pod: &Value, volume: &str) -> Value {
        let (name, namespace) = (
            text(&pod["metadata"]["name"]),
            text(&pod["metadata"]["namespace"]),
        );
        let uid = match text(&pod["metadata"]["uid"]) {
            uid if uid.is_empty() => format!("{namespace}-{name}"),
            uid => uid,
        };
        let owner = if self.draw.once_in(6) {
            "other".to_owned()
        } else {
            uid
        };
        let owners = json!([{"apiVersion": "v1", "kind": "Pod", "name": name, "uid": owner, "controller": true}]);
        if !self.draw.once_in(6) {
            self.claim(&namespace, &format!("{name}-{volume}"), false, &owners);
        }
        json!({"ephemeral": {"volumeClaimTemplate": {"spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
        }}}})
    }

    /// A claim in one of the states that it may be in; of a pod that runs, a bound one.
    fn claim(&mut self, namespace: &str, name: &str, is_bound: bool, owners: &Value) {
        let (class, _, waits) = *self.draw.of(&CLASSES);
        let uid = format!("claim-{namespace}-{name}");
        let mode = self.mode();
        let size = 1 + self.draw.below(20);
        let mut claim = json!({
            "metadata": {"name": name, "namespace": namespace, "uid": uid, "ownerReferences": owners},
            "spec": {
                "accessModes": [mode], "storageClassName": class,
                "resources": {"requests": {"storage": format!("{size}Gi")}},
            },
            "status": {"phase": "Pending"},
        });
        let state = if is_bound {
            0
        } else {
            self.draw.below(if waits { 10 } else { 4 })
        };
        match state {
            0..=2 => {
                let volume = format!("pv-{namespace}-{name}");
                claim["spec"]["volumeName"] = json!(volume);
                claim["metadata"]["annotations"] =
                    json!({"pv.kubernetes.io/bind-completed": "yes"});
                claim["status"]["phase"] = json!("Bound");
                if !self.draw.once_in(12) {
                    let mut own = self.volume(&volume, class, size);
                    own["spec"]["claimRef"] = json!({"kind": "PersistentVolumeClaim",
                        "namespace": namespace, "name": name, "uid": uid});
                    own["status"]["phase"] = json!("Bound");
                    self.volumes.push(own);
                }
            }
            3 => match self.draw.below(4) {
                0 => {
                    claim["spec"]["volumeName"] = json!("gone");
                    claim["status"]["phase"] = json!("Lost");
                }
                1 => {
                    claim["metadata"]["deletionTimestamp"] = json!("2000-01-01T00:00:00Z");
                    claim["metadata"]["finalizers"] = json!(["kubernetes.io/pvc-protection"]);
                }
                2 => claim["spec"]["storageClassName"] = json!("unknown"),
                _ => {
                    // Kept for the claim by hand.
                    let mut own =
                        self.volume(&format!("kept-{namespace}-{name}"), class, 30 + size);
                    own["spec"]["claimRef"] = json!({"namespace": namespace, "name": name});
                    self.volumes.push(own);
                }
            },
            4 => {
                let node = self.draw.of(self.places).name.clone();
                claim["metadata"]["annotations"] =
                    json!({"volume.kubernetes.io/selected-node": node});
            }
            5 => claim["spec"]["selector"] = json!({"matchLabels": {"tier": "fast"}}),
            6 if self.draw.once_in(2) => claim["spec"]["volumeMode"] = json!("Block"),
            6 => claim["spec"]["volumeAttributesClassName"] = json!("gold"),
            _ => {}
        }
        if self.draw.once_in(10) {
            claim["metadata"]["annotations"]["volume.beta.kubernetes.io/storage-class"] =
                json!("local");
        }
        self.claims.push(claim);
    }

    fn mode(&mut self) -> &'static str {
        if self.draw.once_in(3) {
            self.draw.of::<&str>(&MODES)
        } else {
            "ReadWriteOnce"
        }
    }

    /// A volume that nobody has yet.
    fn free_volume(&mut self, at: u64) -> Value {
        let class = if self.draw.once_in(3) {
            self.draw.of(&CLASSES).0
        } else {
            "local"
        };
        let size = 1 + self.draw.below(24);
        let mut volume = self.volume(&format!("free-{at}"), class, size);
        match self.draw.below(8) {
            0 => volume["status"]["phase"] = json!("Released"),
            1 => volume["spec"]["volumeMode"] = json!("Block"),
            2 => volume["spec"]["volumeAttributesClassName"] = json!("gold"),
            3 => {
                volume["metadata"]["deletionTimestamp"] = json!("2000-01-01T00:00:00Z");
                volume["metadata"]["finalizers"] = json!(["kubernetes.io/pv-protection"]);
            }
            _ => {}
        }
        if self.draw.once_in(2) {
            volume["metadata"]["labels"]["tier"] = json!("fast");
        }
        volume
    }

    fn volume(&mut self, name: &str, class: &str, size: u64) -> Value {
        // Some bytes more, by which all volumes differ.
        let bytes = (size << 30) + self.volumes.len() as u64 + 1;
        let mode = self.mode();
        let mut volume = json!({
            "metadata": {"name": name, "uid": name, "labels": {}},
            "spec": {
                "capacity": {"storage": bytes.to_string()}, "accessModes": [mode],
                "storageClassName": class,
            },
            "status": {"phase": "Available"},
        });
        let handle = format!("h{}", self.draw.below(40));
        let source = match self.draw.below(9) {
            0 => json!({"gcePersistentDisk": {"pdName": handle}}),
            1 => json!({"awsElasticBlockStore": {"volumeID": format!("aws://z/vol-{handle}")}}),
            2 => json!({"local": {"path": "/mnt"}}),
            3 => json!({"cinder": {"volumeID": handle}}),
            _ => {
                let drivers = ["csi.example.com", "counted.example.com", "must.example.com"];
                json!({"csi": {"driver": self.draw.of(&drivers), "volumeHandle": handle}})
            }
        };
        for (field, value) in source.as_object().expect("a map") {
            volume["spec"][field] = value.clone();
        }
        let place = self.draw.of(self.places);
        if self.draw.once_in(3) {
            let key = *self.draw.of(&[ZONE, BETA_ZONE, REGION]);
            let label = if key == REGION { REGION } else { ZONE };
            let zone = text(&place.labels[label]);
            let other = text(&self.draw.of(self.places).labels[label]);
            if !zone.is_empty() {
                let zones = if other.is_empty() || self.draw.once_in(2) {
                    zone
                } else {
                    format!("{zone}__{other}")
                };
                volume["metadata"]["labels"][key] = json!(zones);
            }
        }
        if self.draw.once_in(2) {
            let key = *self.draw.of(&[HOST, ZONE, BETA_ZONE, "kubernetes.io/os"]);
            let value = text(&place.labels[if key == BETA_ZONE { ZONE } else { key }]);
            let other = text(&self.draw.of(self.places).labels[key]);
            let operator = if self.draw.once_in(5) { "NotIn" } else { "In" };
            let values: Vec<String> = [value, other]
                .into_iter()
                .filter(|own| !own.is_empty())
                .collect();
            if !values.is_empty() {
                volume["spec"]["nodeAffinity"] = json!({"required": {"nodeSelectorTerms": [
                    {"matchExpressions": [{"key": key, "operator": operator, "values": values}]},
                ]}});
            }
        }
        volume
    }
}

fn classes(draw: &mut Draw, places: &[Place]) -> Value {
    let class = |(name, provisioner, waits): &(&str, &str, bool)| {
        let mode = if *waits {
            "WaitForFirstConsumer"
        } else {
            "Immediate"
        };
        let mut class = json!({"metadata": {"name": name}, "provisioner": provisioner, "volumeBindingMode": mode});
        if draw.once_in(3) {
            let zones: Vec<String> = places.iter().map(|own| text(&own.labels[ZONE])).collect();
            let zone = draw.of(&zones).clone();
            if !zone.is_empty() {
                class["allowedTopologies"] =
                    json!([{"matchLabelExpressions": [{"key": ZONE, "values": [zone]}]}]);
            }
        }
        class
    };
    CLASSES.iter().map(class).collect()
}

fn csi_nodes(draw: &mut Draw, places: &[Place]) -> Value {
    let mut nodes = Vec::new();
    for place in places {
        if draw.once_in(6) {
            continue;
        }
        let mut drivers = Vec::new();
        let names = [
            "csi.example.com",
            "counted.example.com",
            "must.example.com",
            "pd.csi.storage.gke.io",
            "ebs.csi.aws.com",
        ];
        for name in names {
            if draw.once_in(4) {
                continue;
            }
            let mut driver = json!({"name": name, "nodeID": place.name, "topologyKeys": []});
            if draw.once_in(2) {
                driver["allocatable"] = json!({"count": draw.below(4)});
            }
            drivers.push(driver);
        }
        let mut node = json!({"metadata": {"name": place.name}, "spec": {"drivers": drivers}});
        if draw.once_in(2) {
            let plugins = "kubernetes.io/gce-pd,kubernetes.io/aws-ebs,kubernetes.io/cinder";
            node["metadata"]["annotations"] =
                json!({"storage.alpha.kubernetes.io/migrated-plugins": plugins});
        }
        nodes.push(node);
    }
    json!(nodes)
}

/// One object for each node that has a host name of its own.
fn capacities(draw: &mut Draw, places: &[Place]) -> Value {
    let hosts: Vec<String> = places.iter().map(|own| text(&own.labels[HOST])).collect();
    let mut capacities = Vec::new();
    for host in hosts.iter().filter(|host| !host.is_empty()) {
        let is_one = hosts.iter().filter(|own| *own == host).count() == 1;
        if !is_one || draw.once_in(4) {
            continue;
        }
        let mut capacity = json!({
            "metadata": {"name": format!("room-{host}"), "namespace": "default"},
            "storageClassName": "counted",
            "nodeTopology": {"matchLabels": {HOST: host}},
            "capacity": format!("{}Gi", draw.below(40)),
        });
        if draw.once_in(4) {
            capacity["maximumVolumeSize"] = json!(format!("{}Gi", draw.below(20)));
        }
        capacities.push(capacity);
    }
    json!(capacities)
}

fn attachments(draw: &mut Draw, places: &[Place], volumes: &[Value]) -> Value {
    let mut attachments = Vec::new();
    for (at, volume) in volumes.iter().enumerate() {
        let driver = &volume["spec"]["csi"]["driver"];
        if !driver.is_string() || !draw.once_in(3) {
            continue;
        }
        attachments.push(json!({
            "metadata": {"name": format!("at-{at}")},
            "spec": {
                "attacher": driver, "nodeName": draw.of(places).name,
                "source": {"persistentVolumeName": volume["metadata"]["name"]},
            },
        }));
    }
    json!(attachments)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
