//! One attempt, from pre-filter to the choice. Mirrors `pkg/scheduler/schedule_one.go`, the runs of
//! plugins in `framework/runtime/framework.go` and the message in `framework/types.go`.

mod score;

use crate::requests::{self, Amounts};
use crate::select::{self, Ties};
use crate::{
    Cluster, NodeState, Refusal, inter_pod_affinity, node_affinity, node_declared_features,
    node_name, node_ports, node_resources_fit, node_unschedulable, node_volume_limits,
    pod_topology_spread, taint_toleration, volume_binding, volume_restrictions, volume_zone,
};
use berth_core::object::{ContainerPort, Pod};
use berth_core::plugins::{Plugin, Point};
use berth_core::profile::Profile;
use berth_core::{BoundClaim, DecisionRecord, NodeScore, PodResult};
use std::collections::{BTreeMap, BTreeSet};

/// Choices beside the profile.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    pub search: Search,
    pub ties: Ties,
}

/// How many nodes are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Search {
    /// As many as upstream looks at.
    #[default]
    Sampled,
    All,
}

/// What the pre-filters found out.
#[derive(Default)]
struct Facts {
    skipped: BTreeSet<Plugin>,
    /// The only nodes to look at, and the plugins that say so.
    names: Option<BTreeSet<String>>,
    narrowing: BTreeSet<&'static str>,
    ports: Option<Vec<ContainerPort>>,
    request: Option<Amounts>,
    spreading: Option<pod_topology_spread::Hard>,
    affinity: Option<inter_pod_affinity::Required>,
    features: Option<Vec<&'static str>>,
    disks: Option<volume_restrictions::Conflicts>,
    claims: Option<volume_binding::Claims>,
    zones: Option<Vec<volume_zone::Topology>>,
}

/// How an attempt ends before its search.
enum Stop {
    /// No node will do, as this plugin says for this reason.
    Refused(Plugin, String),
    /// The attempt failed.
    Failed(String),
}

/// Nodes that passed, in search order, and why the others did not.
struct Found {
    feasible: Vec<usize>,
    refused: BTreeMap<String, (Plugin, Refusal)>,
}

impl Cluster {
    /// Decides where the pod goes; places nothing. Only `start` moves, and the search order is
    /// brought up to date.
    pub fn decide(&mut self, pod: &Pod, profile: &Profile, options: Options) -> DecisionRecord {
        let mut record = DecisionRecord {
            pod: format!("{}/{}", pod.metadata.namespace, pod.metadata.name),
            uid: pod.metadata.uid.clone(),
            profile: pod.spec.scheduler_name.clone(),
            attempt: 1,
            ..DecisionRecord::default()
        };
        self.refresh();
        if let Err(error) = self.attempt(pod, profile, options, &mut record) {
            record.result = PodResult::Error;
            record.error = Some(error);
        }
        record
    }

    fn attempt(
        &mut self,
        pod: &Pod,
        profile: &Profile,
        options: Options,
        record: &mut DecisionRecord,
    ) -> Result<(), String> {
        if self.nodes.is_empty() {
            return Err("no nodes available to schedule pods".to_owned());
        }
        let facts = match self.pre_filter(pod, profile) {
            Ok(facts) => facts,
            Err(Stop::Failed(error)) => return Err(error),
            Err(Stop::Refused(_, reason)) => {
                record.feasible = Some(0);
                record.evaluated = Some(0);
                record.message = Some(format!("{} {reason}.", self.none_available()));
                return Ok(());
            }
        };
        let found = self.find(pod, profile, options, &facts)?;
        record.feasible = Some(found.feasible.len() as u32);
        record.evaluated = Some((found.feasible.len() + found.refused.len()) as u32);
        self.describe_refusals(&facts, &found, record);

        let nodes: Vec<&NodeState> = found.feasible.iter().map(|&i| &self.nodes[i]).collect();
        match nodes.as_slice() {
            [] => record.message = Some(self.fit_error(&facts, &found)),
            [only] => self.place(profile, &facts, record, only)?,
            _ => {
                let scores = self.score(pod, profile, &facts, &nodes)?;
                let totals: Vec<(&str, i64)> = scores
                    .iter()
                    .map(|score| (score.node.as_str(), score.total))
                    .collect();
                let chosen = nodes[select::select(&totals, options.ties)];
                self.place(profile, &facts, record, chosen)?;
                describe_scores(record, scores);
            }
        }
        Ok(())
    }

    /// Mirrors `RunPreFilterPlugins`. None of the plugins here refuses a pod in a way that
    /// preemption could mend, so the first refusal ends it.
    fn pre_filter(&self, pod: &Pod, profile: &Profile) -> Result<Facts, Stop> {
        let args = &profile.args;
        let mut facts = Facts::default();
        for plugin in profile.plugins(Point::PreFilter).iter().copied() {
            let mut names = None;
            let mut skips = false;
            let refused = |reason| Stop::Refused(plugin, reason);
            match plugin {
                Plugin::NodeName => names = node_name::pre_filter(pod),
                Plugin::NodeAffinity => {
                    match node_affinity::pre_filter(pod, args.added_affinity.as_ref()) {
                        node_affinity::PreFilter::Skip => skips = true,
                        node_affinity::PreFilter::Nodes(some) => names = some,
                        node_affinity::PreFilter::Conflict => {
                            let reason = node_affinity::CONFLICT.to_owned();
                            return Err(Stop::Refused(plugin, reason));
                        }
                    }
                }
                Plugin::NodePorts => {
                    facts.ports = node_ports::pre_filter(pod);
                    skips = facts.ports.is_none();
                }
                Plugin::NodeResourcesFit => facts.request = Some(requests::filtered(pod)),
                Plugin::PodTopologySpread => {
                    facts.spreading = pod_topology_spread::pre_filter(self, pod, args)
                        .map_err(|error| Stop::Failed(running("PreFilter", plugin, &error)))?;
                    skips = facts.spreading.is_none();
                }
                Plugin::InterPodAffinity => match inter_pod_affinity::pre_filter(self, pod) {
                    Ok(required) => {
                        skips = required.is_none();
                        facts.affinity = required;
                    }
                    Err(refusal) => {
                        return Err(Stop::Refused(plugin, refusal.reasons.join(", ")));
                    }
                },
                Plugin::NodeDeclaredFeatures => {
                    facts.features = node_declared_features::pre_filter(pod);
                    skips = facts.features.is_none();
                }
                Plugin::VolumeRestrictions => {
                    facts.disks = volume_restrictions::pre_filter(self, pod).map_err(refused)?;
                    skips = facts.disks.is_none();
                }
                Plugin::NodeVolumeLimits => skips = !node_volume_limits::pre_filter(pod),
                Plugin::VolumeBinding => {
                    facts.claims =
                        volume_binding::pre_filter(self, pod).map_err(|stop| match stop {
                            volume_binding::Stop::Refused(reason) => Stop::Refused(plugin, reason),
                            volume_binding::Stop::Failed(error) => {
                                Stop::Failed(running("PreFilter", plugin, &error))
                            }
                        })?;
                    skips = facts.claims.is_none();
                }
                Plugin::VolumeZone => {
                    facts.zones = volume_zone::pre_filter(self, pod).map_err(refused)?;
                    skips = facts.zones.is_none();
                }
                _ => {}
            }
            if skips {
                facts.skipped.insert(plugin);
            }
            if let Some(names) = names {
                facts.narrowing.insert(plugin.name());
                let both = match &facts.names {
                    Some(before) => before.intersection(&names).cloned().collect(),
                    None => names,
                };
                if both.is_empty() {
                    let reason = nothing_left(&facts.narrowing);
                    return Err(Stop::Refused(Plugin::NodeAffinity, reason));
                }
                facts.names = Some(both);
            }
        }
        Ok(facts)
    }

    /// Mirrors `findNodesThatPassFilters`: the search ends when one node more than wanted is met,
    /// and that one is neither kept nor counted.
    fn find(
        &mut self,
        pod: &Pod,
        profile: &Profile,
        options: Options,
        facts: &Facts,
    ) -> Result<Found, String> {
        let all = self.search_order();
        let list: Vec<usize> = all
            .iter()
            .copied()
            .filter(|&index| {
                let name = self.nodes[index].name();
                facts
                    .names
                    .as_ref()
                    .is_none_or(|names| names.contains(name))
            })
            .collect();
        let wanted = match options.search {
            Search::All => list.len(),
            Search::Sampled => wanted(list.len(), profile),
        };
        let mut found = Found {
            feasible: Vec::new(),
            refused: BTreeMap::new(),
        };
        let mut failure = Ok(());
        for i in 0..list.len() {
            let index = list[(self.start + i) % list.len()];
            let node = &self.nodes[index];
            match self.filter(pod, profile, facts, node) {
                Ok(Ok(())) if found.feasible.len() == wanted => break,
                Ok(Ok(())) => found.feasible.push(index),
                Ok(Err(refusal)) => {
                    found.refused.insert(node.name().to_owned(), refusal);
                }
                Err(error) => {
                    failure = Err(error);
                    break;
                }
            }
        }
        let looked_at = found.feasible.len() + found.refused.len();
        self.start = (self.start + looked_at) % all.len();
        failure.map(|()| found)
    }

    /// Nodes that pass all filters, by name; with `only`, of that node alone. The search order, and
    /// what an attempt does first, play no part.
    ///
    /// # Errors
    /// What keeps the filters from running.
    pub fn fitting(
        &self,
        pod: &Pod,
        profile: &Profile,
        only: Option<&str>,
    ) -> Result<Vec<String>, String> {
        let facts = match self.pre_filter(pod, profile) {
            Ok(facts) => facts,
            Err(Stop::Failed(error)) => return Err(error),
            Err(Stop::Refused(..)) => return Ok(Vec::new()),
        };
        let mut names = Vec::new();
        for node in &self.nodes {
            let name = node.name();
            let is_asked = only.is_none_or(|only| only == name)
                && facts.names.as_ref().is_none_or(|all| all.contains(name));
            if is_asked && self.filter(pod, profile, &facts, node)?.is_ok() {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    /// Notes the choice, and what it means for the pod's claims.
    fn place(
        &self,
        profile: &Profile,
        facts: &Facts,
        record: &mut DecisionRecord,
        node: &NodeState,
    ) -> Result<(), String> {
        record.result = PodResult::Scheduled;
        record.node = Some(node.name().to_owned());
        record.volumes = self.bound_claims(profile, facts, node)?;
        Ok(())
    }

    fn bound_claims(
        &self,
        profile: &Profile,
        facts: &Facts,
        node: &NodeState,
    ) -> Result<Vec<BoundClaim>, String> {
        let filters = profile.plugins(Point::Filter);
        let claims = facts.claims.as_ref();
        let claims = claims.filter(|_| filters.contains(&Plugin::VolumeBinding));
        let plan = claims.map(|claims| volume_binding::filter(self, claims, node));
        let plan = plan.transpose()?.and_then(Result::ok);
        Ok(plan.map_or_else(Vec::new, |plan| plan.bound_claims()))
    }

    /// What the pod's claims get if it is placed on the node, in the order of the calls.
    ///
    /// # Errors
    /// What keeps the filters from running.
    pub fn claims_on(
        &self,
        pod: &Pod,
        profile: &Profile,
        node: &str,
    ) -> Result<Vec<BoundClaim>, String> {
        let facts = match self.pre_filter(pod, profile) {
            Ok(facts) => facts,
            Err(Stop::Failed(error)) => return Err(error),
            Err(Stop::Refused(..)) => return Ok(Vec::new()),
        };
        let mut nodes = self.nodes.iter();
        match nodes.find(|state| state.name() == node) {
            Some(state) => self.bound_claims(profile, &facts, state),
            None => Ok(Vec::new()),
        }
    }

    /// The plugin that lets no node be looked at.
    pub fn pre_filter_rejector(&self, pod: &Pod, profile: &Profile) -> Option<Plugin> {
        match self.pre_filter(pod, profile) {
            Err(Stop::Refused(plugin, _)) => Some(plugin),
            _ => None,
        }
    }

    /// Mirrors `FitError.Error`: each reason with the number of nodes that gave it.
    fn fit_error(&self, facts: &Facts, found: &Found) -> String {
        let mut histogram: BTreeMap<&str, usize> = BTreeMap::new();
        for (_, refusal) in found.refused.values() {
            for reason in &refusal.reasons {
                *histogram.entry(reason).or_default() += 1;
            }
        }
        let generic = outside(&facts.narrowing);
        let absent = self.nodes.len() - found.refused.len();
        if facts.names.is_some() && absent > 0 {
            *histogram.entry(&generic).or_default() += absent;
        }
        let mut lines: Vec<String> = histogram
            .iter()
            .map(|(reason, count)| format!("{count} {reason}"))
            .collect();
        lines.sort();
        if lines.is_empty() {
            self.none_available()
        } else {
            format!("{} {}.", self.none_available(), lines.join(", "))
        }
    }

    fn none_available(&self) -> String {
        format!("0/{} nodes are available:", self.nodes.len())
    }

    fn describe_refusals(&self, facts: &Facts, found: &Found, record: &mut DecisionRecord) {
        let mut rejected = BTreeMap::new();
        for node in &self.nodes {
            let name = node.name().to_owned();
            let outside_names = facts
                .names
                .as_ref()
                .is_some_and(|names| !names.contains(&name));
            if outside_names {
                let reasons = vec!["PreFilter".to_owned(), outside(&facts.narrowing)];
                rejected.insert(name.clone(), reasons);
                record.unresolvable.push(name);
            } else if let Some((plugin, refusal)) = found.refused.get(&name) {
                let mut reasons = vec![plugin.name().to_owned()];
                reasons.extend(refusal.reasons.iter().cloned());
                rejected.insert(name.clone(), reasons);
                if refusal.unresolvable {
                    record.unresolvable.push(name);
                }
            }
        }
        record.unresolvable.sort();
        record.rejected = (!rejected.is_empty()).then_some(rejected);
    }
}

impl Cluster {
    /// The plugins in order; the first refusal counts. Mirrors `RunFilterPlugins`.
    fn filter(
        &self,
        pod: &Pod,
        profile: &Profile,
        facts: &Facts,
        node: &NodeState,
    ) -> Result<Result<(), (Plugin, Refusal)>, String> {
        let args = &profile.args;
        for plugin in profile.plugins(Point::Filter).iter().copied() {
            if facts.skipped.contains(&plugin) {
                continue;
            }
            let missing = || {
                format!(
                    "running {:?} filter plugin: {}",
                    plugin.name(),
                    not_run("PreFilter", plugin)
                )
            };
            let failed =
                |error: String| format!("running {:?} filter plugin: {error}", plugin.name());
            let verdict = match plugin {
                Plugin::NodeName => node_name::filter(pod, node),
                Plugin::NodeUnschedulable => node_unschedulable::filter(pod, node),
                Plugin::TaintToleration => taint_toleration::filter(pod, node),
                Plugin::NodeAffinity => {
                    node_affinity::filter(pod, args.added_affinity.as_ref(), node)
                }
                Plugin::NodePorts => {
                    node_ports::filter(facts.ports.as_ref().ok_or_else(missing)?, node)
                }
                Plugin::NodeResourcesFit => {
                    let request = facts.request.as_ref().ok_or_else(missing)?;
                    node_resources_fit::filter(request, args, node)
                }
                Plugin::PodTopologySpread => {
                    let hard = facts.spreading.as_ref().ok_or_else(missing)?;
                    pod_topology_spread::filter(hard, pod, node)
                }
                Plugin::InterPodAffinity => {
                    let required = facts.affinity.as_ref().ok_or_else(missing)?;
                    inter_pod_affinity::filter(required, pod, node)
                }
                Plugin::NodeDeclaredFeatures => {
                    let features = facts.features.as_ref().ok_or_else(missing)?;
                    node_declared_features::filter(features, node)
                }
                Plugin::VolumeRestrictions => {
                    let disks = facts.disks.as_ref().ok_or_else(missing)?;
                    volume_restrictions::filter(disks, pod, node)
                }
                Plugin::NodeVolumeLimits => {
                    node_volume_limits::filter(self, pod, node).map_err(failed)?
                }
                Plugin::VolumeBinding => {
                    let claims = facts.claims.as_ref().ok_or_else(missing)?;
                    let plan = volume_binding::filter(self, claims, node);
                    plan.map_err(failed)?.map(|_| ())
                }
                Plugin::VolumeZone => {
                    volume_zone::filter(facts.zones.as_ref().ok_or_else(missing)?, node)
                }
                _ => Ok(()),
            };
            if let Err(refusal) = verdict {
                return Ok(Err((plugin, refusal)));
            }
        }
        Ok(Ok(()))
    }
}

/// How many feasible nodes end the search. Mirrors `numFeasibleNodesToFind`.
fn wanted(nodes: usize, profile: &Profile) -> usize {
    if profile.plugins(Point::Score).is_empty() {
        return 1;
    }
    if nodes < 100 {
        return nodes;
    }
    let percent = match usize::try_from(profile.percentage_of_nodes_to_score) {
        Ok(0) | Err(_) => 50_usize.saturating_sub(nodes / 125).max(5),
        Ok(percent) => percent,
    };
    (nodes * percent / 100).max(100)
}

fn describe_scores(record: &mut DecisionRecord, mut scores: Vec<NodeScore>) {
    scores.sort_by(|one, other| one.node.cmp(&other.node));
    let best = scores.iter().map(|score| score.total).max();
    let ties = scores
        .iter()
        .filter(|score| Some(score.total) == best)
        .map(|score| score.node.clone());
    record.ties = Some(ties.collect());
    record.scores = Some(scores);
}

/// The reason of a node that a pre-filter left out.
fn outside(narrowing: &BTreeSet<&str>) -> String {
    format!("node(s) didn't satisfy plugin(s) [{}]", names(narrowing))
}

fn nothing_left(narrowing: &BTreeSet<&str>) -> String {
    let names = names(narrowing);
    if narrowing.len() == 1 {
        format!("node(s) didn't satisfy plugin {names}")
    } else {
        format!("node(s) didn't satisfy plugin(s) [{names}] simultaneously")
    }
}

fn names(plugins: &BTreeSet<&str>) -> String {
    plugins.iter().copied().collect::<Vec<_>>().join(" ")
}

fn running(point: &str, plugin: Plugin, error: &str) -> String {
    format!("running {point} plugin {:?}: {error}", plugin.name())
}

fn not_run(point: &str, plugin: Plugin) -> String {
    format!(
        "reading {:?} from cycleState: not found",
        format!("{point}{}", plugin.name())
    )
}
