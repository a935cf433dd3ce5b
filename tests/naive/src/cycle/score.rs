//! Scores of the nodes that passed. Mirrors `RunPreScorePlugins` and `RunScorePlugins`.

use super::{Facts, not_run, running};
use crate::{
    Cluster, NodeState, image_locality, inter_pod_affinity, node_affinity,
    node_resources_balanced_allocation, node_resources_fit, pod_topology_spread, taint_toleration,
    volume_binding,
};
use berth_core::NodeScore;
use berth_core::object::Pod;
use berth_core::plugins::{Plugin, Point};
use berth_core::profile::Profile;
use std::collections::{BTreeMap, BTreeSet};

/// What the pre-scores found out.
#[derive(Default)]
struct ScoreFacts {
    skipped: BTreeSet<Plugin>,
    spreading: Option<pod_topology_spread::Soft>,
    affinity: Option<inter_pod_affinity::Preferred>,
    tainted: bool,
}

impl Cluster {
    /// Mirrors `prioritizeNodes` and `RunScorePlugins`.
    pub(super) fn score(
        &self,
        pod: &Pod,
        profile: &Profile,
        found: &Facts,
        nodes: &[&NodeState],
    ) -> Result<Vec<NodeScore>, String> {
        let plugins = profile.plugins(Point::Score);
        let total = i64::from(plugins.is_empty());
        let mut scores: Vec<NodeScore> = nodes
            .iter()
            .map(|node| NodeScore {
                node: node.name().to_owned(),
                total,
                plugins: BTreeMap::new(),
            })
            .collect();
        if plugins.is_empty() {
            return Ok(scores);
        }
        let facts = self.pre_score(pod, profile, nodes)?;
        for plugin in plugins.iter().copied() {
            if facts.skipped.contains(&plugin) {
                continue;
            }
            let normalized = match plugin {
                Plugin::VolumeBinding => self.score_volumes(profile, found, nodes)?,
                _ => self.normalized(plugin, pod, profile, &facts, nodes)?,
            };
            for (score, value) in scores.iter_mut().zip(normalized) {
                if !(0..=100).contains(&value) {
                    return Err(format!(
                        "applying score defaultWeights on Score plugins: plugin {:?} returns an \
                         invalid score {value}, it should in the range of [0, 100] after \
                         normalizing",
                        plugin.name()
                    ));
                }
                let weighted = profile.weight(plugin) * value;
                score.total += weighted;
                score.plugins.insert(plugin.name().into(), weighted);
            }
        }
        Ok(scores)
    }

    /// Mirrors `RunPreScorePlugins`.
    fn pre_score(
        &self,
        pod: &Pod,
        profile: &Profile,
        nodes: &[&NodeState],
    ) -> Result<ScoreFacts, String> {
        let args = &profile.args;
        let mut facts = ScoreFacts::default();
        for plugin in profile.plugins(Point::PreScore).iter().copied() {
            let failed = |error: String| running("PreScore", plugin, &error);
            let runs = match plugin {
                Plugin::TaintToleration => {
                    facts.tainted = true;
                    true
                }
                Plugin::NodeAffinity => {
                    node_affinity::pre_score(pod, args.added_affinity.as_ref()).map_err(failed)?
                }
                Plugin::PodTopologySpread => {
                    let soft = pod_topology_spread::pre_score(self, pod, args, nodes);
                    facts.spreading = soft.map_err(failed)?;
                    facts.spreading.is_some()
                }
                Plugin::InterPodAffinity => {
                    let preferred = inter_pod_affinity::pre_score(self, pod, args);
                    facts.affinity = preferred.map_err(failed)?;
                    facts.affinity.is_some()
                }
                Plugin::NodeResourcesBalancedAllocation => {
                    node_resources_balanced_allocation::pre_score(pod, &args.balanced_resources)
                }
                _ => true,
            };
            if !runs {
                facts.skipped.insert(plugin);
            }
        }
        Ok(facts)
    }

    /// VolumeBinding's scores; 0 where its filter did not run.
    fn score_volumes(
        &self,
        profile: &Profile,
        facts: &Facts,
        nodes: &[&NodeState],
    ) -> Result<Vec<i64>, String> {
        let shape = &profile.args.volume_shape;
        let filters = profile
            .plugins(Point::Filter)
            .contains(&Plugin::VolumeBinding);
        let Some(claims) = facts.claims.as_ref().filter(|_| filters) else {
            return Ok(vec![0; nodes.len()]);
        };
        let mut scores = Vec::new();
        for node in nodes {
            let plan = volume_binding::filter(self, claims, node)?;
            scores.push(plan.map_or(0, |plan| volume_binding::score(&plan, shape)));
        }
        Ok(scores)
    }

    /// One plugin's scores, before its weight. Devices score 0 here.
    fn normalized(
        &self,
        plugin: Plugin,
        pod: &Pod,
        profile: &Profile,
        facts: &ScoreFacts,
        nodes: &[&NodeState],
    ) -> Result<Vec<i64>, String> {
        let args = &profile.args;
        let failed = |error: String| {
            format!(
                "running Score plugins: plugin {:?} failed with: {error}",
                plugin.name()
            )
        };
        let missing = || failed(not_run("PreScore", plugin));
        let each = |score: &dyn Fn(&NodeState) -> i64| -> Vec<i64> {
            nodes.iter().map(|node| score(node)).collect()
        };
        let mut scores;
        match plugin {
            Plugin::TaintToleration => {
                if !facts.tainted {
                    return Err(missing());
                }
                scores = each(&|node| taint_toleration::score(pod, node));
                taint_toleration::normalize(&mut scores);
            }
            Plugin::NodeAffinity => {
                let added = args.added_affinity.as_ref();
                // The terms were checked, unless the plugin's pre-score is disabled.
                node_affinity::pre_score(pod, added).map_err(failed)?;
                scores = each(&|node| node_affinity::score(pod, added, node));
                node_affinity::normalize(&mut scores);
            }
            Plugin::NodeResourcesFit => {
                let all = nodes
                    .iter()
                    .map(|node| node_resources_fit::score(pod, args, node));
                scores = all.collect::<Result<_, _>>().map_err(failed)?;
            }
            Plugin::PodTopologySpread => {
                let soft = facts.spreading.as_ref().ok_or_else(missing)?;
                scores = each(&|node| pod_topology_spread::score(soft, pod, node));
                pod_topology_spread::normalize(soft, nodes, &mut scores);
            }
            Plugin::InterPodAffinity => {
                let preferred = facts.affinity.as_ref().ok_or_else(missing)?;
                scores = each(&|node| inter_pod_affinity::score(preferred, node));
                inter_pod_affinity::normalize(&mut scores);
            }
            Plugin::NodeResourcesBalancedAllocation => {
                let resources = &args.balanced_resources;
                let all = nodes
                    .iter()
                    .map(|node| node_resources_balanced_allocation::score(pod, resources, node));
                scores = all.collect::<Result<_, _>>().map_err(failed)?;
            }
            Plugin::ImageLocality => {
                scores = each(&|node| image_locality::score(pod, node, self.nodes.len()));
            }
            _ => scores = each(&|_| 0),
        }
        Ok(scores)
    }
}
