//! What the compared verdicts were about: a comparison of nothing would hold as well.

use berth_test_support::golden::Verdict;
use std::collections::BTreeMap;
use std::fmt::{self, Display};

/// Counts over all clusters.
#[derive(Debug, Default)]
pub struct Seen {
    pub clusters: usize,
    /// Clusters that also went through the intake as they were written.
    pub written: usize,
    pub verdicts: usize,
    placed: usize,
    gated: usize,
    failed: usize,
    /// Refused nodes by plugin and reason; a node may have several.
    refusals: BTreeMap<String, usize>,
    /// Verdicts in which a plugin gave nodes different scores.
    scores: BTreeMap<String, usize>,
    /// Objects that an API server would refuse, by what is wrong with them.
    left_out: BTreeMap<String, usize>,
}

/// Plugins that must have refused a node, and such that must have told nodes apart, in any few
/// hundred clusters.
const REFUSE: [&str; 13] = [
    "NodeUnschedulable",
    "TaintToleration",
    "NodeAffinity",
    "NodePorts",
    "NodeResourcesFit",
    "VolumeRestrictions",
    "NodeVolumeLimits",
    "VolumeBinding",
    "VolumeZone",
    "PodTopologySpread",
    "InterPodAffinity",
    "NodeDeclaredFeatures",
    "PreFilter",
];
const SCORE: [&str; 8] = [
    "TaintToleration",
    "NodeAffinity",
    "NodeResourcesFit",
    "VolumeBinding",
    "PodTopologySpread",
    "InterPodAffinity",
    "NodeResourcesBalancedAllocation",
    "ImageLocality",
];

impl Seen {
    /// Counts a verdict.
    pub fn count(&mut self, verdict: &Verdict) {
        self.verdicts += 1;
        self.placed += usize::from(verdict.chosen.is_some());
        self.gated += usize::from(verdict.gated);
        self.failed += usize::from(verdict.error.is_some());
        for refusal in verdict.rejected.values() {
            let plugin = &refusal[0];
            for reason in &refusal[1..] {
                let key = format!("{plugin}: {reason}");
                *self.refusals.entry(key).or_default() += 1;
            }
        }
        let mut ranges: BTreeMap<&String, (i64, i64)> = BTreeMap::new();
        for (plugin, score) in verdict.scores.iter().flatten().flat_map(|own| &own.plugins) {
            let (low, high) = ranges.entry(plugin).or_insert((*score, *score));
            (*low, *high) = ((*low).min(*score), (*high).max(*score));
        }
        for (plugin, _) in ranges.into_iter().filter(|(_, (low, high))| low < high) {
            *self.scores.entry(plugin.clone()).or_default() += 1;
        }
    }

    /// Counts an object that upstream's API server would not let pass.
    pub fn leave_out(&mut self, why: &str) {
        let digits = |letter: char| letter.is_ascii_digit();
        let (field, problem) = why.split_once(": ").unwrap_or((why, ""));
        let problem = problem.rsplit(": ").next().unwrap_or(problem);
        let key = format!("{}: {problem}", field.replace(digits, ""));
        *self.left_out.entry(key).or_default() += 1;
    }

    /// Fails unless every plugin had its say; to be asked of a few hundred clusters or more.
    pub fn assert_every_plugin_had_its_say(&self) {
        for plugin in REFUSE {
            let refused = self.refusals.keys().any(|own| own.starts_with(plugin));
            assert!(refused, "{plugin} refused no node\n{self}");
        }
        for plugin in SCORE {
            let told = self.scores.contains_key(plugin);
            assert!(told, "{plugin} told no nodes apart\n{self}");
        }
        assert!(self.written * 3 > self.clusters, "few were written\n{self}");
        let left_out: usize = self.left_out.values().sum();
        assert!(
            left_out * 20 < self.verdicts,
            "too many objects are invalid\n{self}"
        );
    }
}

impl Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            clusters,
            written,
            verdicts,
            placed,
            gated,
            failed,
            ..
        } = self;
        writeln!(
            f,
            "{clusters} clusters, {written} also through the intake, {verdicts} verdicts: {placed} placed, {gated} gated, {failed} failed"
        )?;
        let tables = [
            ("reasons of refused nodes", &self.refusals),
            (
                "verdicts in which scores differ between nodes",
                &self.scores,
            ),
            ("objects left out, as an API server would", &self.left_out),
        ];
        for (title, counts) in tables {
            writeln!(f, "{title}:")?;
            for (what, count) in counts {
                writeln!(f, "  {count} {what}")?;
            }
        }
        Ok(())
    }
}
