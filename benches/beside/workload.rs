//! The workloads of `benches/kube/workloads.yaml`, and the script of each: objects and attempts, a line
//! each, which both sides follow.

use berth_test_support::sample::merge;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The data.
const FILE: &str = include_str!("../kube/workloads.yaml");
/// Measured pods that come first and do not count: a tenth, so many at most.
const WARM_UP_MAX: usize = 200;
/// Of everything drawn; printed on the page.
pub const SEED: u64 = 20_261_130;

/// The whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workloads {
    templates: BTreeMap<String, Value>,
    pub workloads: Vec<Workload>,
}

/// One entry; the file says what its fields are.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    pub name: String,
    pub row: Option<String>,
    #[serde(default)]
    pub must: BTreeMap<String, f64>,
    #[serde(default)]
    pub goal: BTreeMap<String, f64>,
    pub nodes: Vec<Group>,
    #[serde(default)]
    objects: Vec<Group>,
    #[serde(default)]
    existing: Vec<Group>,
    #[serde(default)]
    waiting: Vec<Group>,
    pub measured: Group,
    churn: Option<Churn>,
    #[serde(default)]
    confirm: bool,
    pub config: Option<String>,
    #[serde(default)]
    defaults: bool,
    #[serde(default)]
    pub preempts: bool,
}

/// So many objects of a template.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    pub template: String,
    pub count: usize,
    #[serde(default)]
    zones: Vec<String>,
    /// `{100}` in it is dealt out from 0 to 99.
    namespace: Option<String>,
    shapes: Option<usize>,
}

/// What happens besides.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Churn {
    every: usize,
    #[serde(default)]
    add: Vec<String>,
    #[serde(default)]
    recreate: Vec<String>,
    #[serde(default)]
    delete: usize,
    #[serde(default)]
    touch: usize,
}

impl Workloads {
    /// Reads the data.
    pub fn read() -> Self {
        serde_saphyr::from_str(FILE).unwrap_or_else(|error| panic!("workloads.yaml: {error}"))
    }

    /// Those of these names or rows; without any, the rows of Tier A; `every` asks for all.
    pub fn named(&self, names: &[String]) -> Vec<&Workload> {
        let chosen = self.workloads.iter().filter(|workload| {
            let row = workload.row.as_deref().unwrap_or_default();
            let is_named = |name: &String| {
                name == "every"
                    || workload.name.split('/').any(|part| part == name)
                    || workload.name == *name
                    || row == name
                    || row.split('.').next() == Some(name)
            };
            match names {
                [] => workload.row.is_some(),
                names => names.iter().any(is_named),
            }
        });
        let chosen: Vec<&Workload> = chosen.collect();
        assert!(!chosen.is_empty(), "workloads.yaml has no {names:?}");
        chosen
    }

    fn template(&self, name: &str) -> Value {
        let own = self.templates.get(name);
        let own = own.unwrap_or_else(|| panic!("workloads.yaml has no template {name}"));
        let mut own = own.clone();
        let Some(like) = own.as_object_mut().and_then(|own| own.remove("like")) else {
            return own;
        };
        let mut whole = self.template(like.as_str().expect("`like` is a name"));
        merge(&mut whole, own);
        whole
    }
}

impl Workload {
    /// With all counts divided, but none to less than one.
    pub fn divided(&self, by: usize) -> Self {
        let mut own = self.clone();
        let groups = own
            .nodes
            .iter_mut()
            .chain(&mut own.existing)
            .chain(&mut own.waiting)
            .chain([&mut own.measured]);
        for group in groups {
            group.count = (group.count / by).max(1);
        }
        own
    }

    /// With about so many nodes, and so many measured pods at most; something happens between them.
    pub fn small(&self, nodes: usize, pods: usize) -> Self {
        let by_nodes = self.node_count() / nodes;
        let by_pods = self.measured.count / pods;
        let by = if by_nodes == 0 { by_pods } else { by_nodes };
        let mut own = self.divided(by.max(1));
        own.measured.count = own.measured.count.min(pods);
        if let Some(churn) = &mut own.churn {
            churn.every = pods / 4;
            churn.delete = churn.delete.min(2);
        }
        own
    }

    /// Nodes.
    pub fn node_count(&self) -> usize {
        self.nodes.iter().map(|group| group.count).sum()
    }

    /// Pods that are bound before.
    pub fn existing_count(&self) -> usize {
        self.existing.iter().map(|group| group.count).sum()
    }

    /// The configuration without its apiVersion and kind.
    pub fn config(&self) -> Value {
        match self.config.as_deref() {
            None => json!({}),
            Some("no-defaults") => {
                let args = json!({"defaultingType": "List", "defaultConstraints": []});
                let own = json!([{"name": "PodTopologySpread", "args": args}]);
                json!({"profiles": [{"schedulerName": "default-scheduler", "pluginConfig": own}]})
            }
            Some(other) => panic!("{}: there is no configuration {other}", self.name),
        }
    }

    /// Writes the script.
    pub fn write(&self, workloads: &Workloads, to: &mut impl Write) -> io::Result<()> {
        let mut script = Script {
            workloads,
            to,
            templates: BTreeMap::new(),
            numbers: BTreeMap::new(),
            names: Vec::new(),
            alive: Vec::new(),
            recreated: Vec::new(),
            random: SEED,
        };
        let head = json!({
            "workload": self.name,
            "config": self.config(),
            "keepsDefaults": self.defaults,
            "confirm": self.confirm,
        });
        writeln!(script.to, "{head}")?;
        script.fill(self)?;
        for group in &self.waiting {
            for at in 0..group.count {
                script.pod(group, at, None)?;
            }
            script.turns(group.count)?;
        }
        let warm = (self.measured.count / 10).min(WARM_UP_MAX);
        for at in 0..warm {
            script.pod(&self.measured, at, None)?;
        }
        script.turns(warm)?;
        writeln!(script.to, "{}", json!({"measure": true}))?;
        let every = self.churn.as_ref().map_or(usize::MAX, |churn| churn.every);
        let mut done = warm;
        while done < self.measured.count {
            let next = done.saturating_add(every).min(self.measured.count);
            for at in done..next {
                script.pod(&self.measured, at, None)?;
            }
            script.turns(next - done)?;
            done = next;
            if let Some(churn) = &self.churn {
                script.churn(churn, done)?;
            }
        }
        Ok(())
    }
}

/// A script as it is written.
struct Script<'a, W> {
    workloads: &'a Workloads,
    to: &'a mut W,
    templates: BTreeMap<String, Value>,
    /// Objects so far, by template.
    numbers: BTreeMap<String, usize>,
    /// Nodes as they were written last.
    names: Vec<Value>,
    /// Pods that may be deleted.
    alive: Vec<Value>,
    /// What is made anew at the next churn.
    recreated: Vec<Value>,
    random: u64,
}

impl<W: Write> Script<'_, W> {
    fn fill(&mut self, workload: &Workload) -> io::Result<()> {
        for group in &workload.objects {
            for _ in 0..group.count {
                let mut objects = self.objects(&group.template);
                if let Some(namespace) = &group.namespace {
                    objects[0]["metadata"]["namespace"] = json!(namespace);
                }
                self.added(&objects)?;
            }
        }
        for group in &workload.nodes {
            for at in 0..group.count {
                let mut objects = self.objects(&group.template);
                let name = objects[0]["metadata"]["name"].clone();
                let labels = &mut objects[0]["metadata"]["labels"];
                labels["kubernetes.io/hostname"] = name;
                if !group.zones.is_empty() {
                    let zone = &group.zones[at % group.zones.len()];
                    labels["topology.kubernetes.io/zone"] = json!(zone);
                }
                self.names.push(objects[0].clone());
                self.added(&objects)?;
            }
        }
        for group in &workload.existing {
            for at in 0..group.count {
                let node = self.names[at % self.names.len()]["metadata"]["name"].clone();
                self.pod(group, at, Some(node))?;
            }
        }
        Ok(())
    }

    /// A pod, pending or bound.
    fn pod(&mut self, group: &Group, at: usize, node: Option<Value>) -> io::Result<()> {
        let mut objects = self.objects(&group.template);
        let pod = &mut objects[0];
        let namespace = group.namespace.as_deref().unwrap_or("default");
        let namespace = match namespace.split_once('{') {
            None => namespace.to_owned(),
            Some((start, many)) => {
                let many: usize = many.trim_end_matches('}').parse().expect("a number");
                format!("{start}{}", at % many)
            }
        };
        pod["metadata"]["namespace"] = json!(namespace);
        if let Some(node) = node {
            pod["spec"]["nodeName"] = node;
            // Each began a second after the last one: who goes first is no chance.
            let seconds = at % 60;
            let (minutes, hours, days) = (at / 60 % 60, at / 3_600 % 24, 1 + at / 86_400);
            let time = format!("2026-01-{days:02}T{hours:02}:{minutes:02}:{seconds:02}Z");
            pod["status"]["startTime"] = json!(time);
        }
        if let Some(shapes) = group.shapes {
            let shape = self.draw(shapes);
            let cpu = format!("{}m", 50 + shape % 16 * 25);
            let memory = format!("{}Mi", 64 + shape / 16 * 96);
            pod["metadata"]["labels"]["shape"] = json!(shape.to_string());
            let requests = json!({"cpu": cpu, "memory": memory});
            pod["spec"]["containers"][0]["resources"] = json!({"requests": requests});
        }
        let pod = &objects[0]["metadata"];
        let names = json!({"name": pod["name"], "namespace": pod["namespace"], "uid": pod["uid"]});
        self.alive.push(json!({"kind": "Pod", "metadata": names}));
        // Claims are there before their pod.
        objects.rotate_left(1);
        self.added(&objects)
    }

    fn churn(&mut self, churn: &Churn, done: usize) -> io::Result<()> {
        for object in std::mem::take(&mut self.recreated) {
            self.apply("Deleted", &object)?;
        }
        for template in &churn.recreate {
            let objects = self.objects(template);
            self.recreated.extend(objects.iter().cloned());
            self.added(&objects)?;
        }
        for template in &churn.add {
            let objects = self.objects(template);
            self.added(&objects)?;
            self.turns(1)?;
        }
        for _ in 0..churn.delete {
            let at = self.draw(self.alive.len());
            let pod = self.alive.swap_remove(at);
            self.apply("Deleted", &pod)?;
        }
        for _ in 0..churn.touch {
            let at = self.draw(self.names.len());
            self.names[at]["metadata"]["labels"]["touched"] = json!(done.to_string());
            let node = self.names[at].clone();
            self.apply("Modified", &node)?;
        }
        Ok(())
    }

    /// The next objects of a template, the main one first.
    fn objects(&mut self, template: &str) -> Vec<Value> {
        if !self.templates.contains_key(template) {
            let own = self.workloads.template(template);
            self.templates.insert(template.to_owned(), own);
        }
        let number = self.numbers.entry(template.to_owned()).or_default();
        let name = format!("{template}-{number}");
        *number += 1;
        let mut main = named(&self.templates[template], &name);
        let beside = main
            .as_object_mut()
            .and_then(|main| main.remove("beside"))
            .unwrap_or_default();
        main["metadata"]["name"] = json!(name);
        if main["kind"] == "Pod" {
            main["metadata"]["uid"] = json!(format!("uid-{name}"));
            main["metadata"]["namespace"] = json!("default");
            main["spec"]["schedulerName"] = json!("default-scheduler");
        } else if main["kind"] == "Service" {
            main["metadata"]["namespace"] = json!("default");
        }
        let mut objects = vec![main];
        objects.extend(beside.as_array().cloned().unwrap_or_default());
        objects
    }

    fn added(&mut self, objects: &[Value]) -> io::Result<()> {
        objects
            .iter()
            .try_for_each(|object| self.apply("Added", object))
    }

    fn apply(&mut self, change: &str, object: &Value) -> io::Result<()> {
        let line = json!({"apply": change, "kind": object["kind"], "object": object});
        writeln!(self.to, "{line}")
    }

    fn turns(&mut self, count: usize) -> io::Result<()> {
        if count == 0 {
            return Ok(());
        }
        writeln!(self.to, "{}", json!({"turns": count}))
    }

    /// A number below the limit; by Vigna's splitmix64.
    fn draw(&mut self, limit: usize) -> usize {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.random;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((bits ^ (bits >> 31)) % limit as u64) as usize
    }
}

/// The template with its name filled in.
fn named(value: &Value, name: &str) -> Value {
    match value {
        Value::String(text) if text.contains("{name}") => json!(text.replace("{name}", name)),
        Value::Array(values) => values.iter().map(|own| named(own, name)).collect(),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(key, own)| (key.clone(), named(own, name)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}
