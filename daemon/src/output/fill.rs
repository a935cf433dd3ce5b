//! The tables of `berth simulate`: what is pending and why, and how full the nodes are.

use super::placements::{reason, result_name};
use super::table::Columns;
use super::{NodeRow, Output, Summary, amount, course};
use crate::escape::escape;
use berth_core::{BoundClaim, DecisionRecord};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

/// Rows of the node table unless it is wide: with the groups, about a screen or two.
const NODES_SHOWN_MAX: usize = 30;
/// Groups of pending pods unless they are wide.
const GROUPS_SHOWN_MAX: usize = 10;
/// Columns that a group's example pods may take.
const EXAMPLES_WIDTH_MAX: usize = 50;

/// What the tables need of the decisions.
#[derive(Default)]
pub struct Tables {
    /// Pending pods by reason.
    groups: BTreeMap<String, Group>,
    /// Every pod, for the wide form: name, result, node, feasible and evaluated, claims.
    pods: Vec<[String; 5]>,
}

#[derive(Default)]
struct Group {
    count: usize,
    /// The first pods' names, as many as fit.
    examples: Vec<String>,
    examples_width: usize,
}

impl Tables {
    /// Takes one decision, in the input's order.
    pub fn add(&mut self, record: DecisionRecord, wide: bool) {
        if let Some(reason) = reason(&record) {
            let group = self.groups.entry(reason.into_owned()).or_default();
            let width = record.pod.len() + 2;
            let is_full = group.examples.len() < group.count;
            if group.count == 0 || (!is_full && group.examples_width + width <= EXAMPLES_WIDTH_MAX)
            {
                group.examples.push(record.pod.clone());
                group.examples_width += width;
            }
            group.count += 1;
        }
        if wide {
            let looked_at = match (record.feasible, record.evaluated) {
                (Some(feasible), Some(evaluated)) => format!("{feasible}/{evaluated}"),
                _ => "-".to_owned(),
            };
            let claims = claims(&record.volumes);
            let node = record.node.unwrap_or_else(|| "-".to_owned());
            let result = result_name(record.result).to_owned();
            self.pods
                .push([record.pod, result, node, looked_at, claims]);
        }
    }

    /// A sentence or two, the pending pods by reason, every pod if wide, the nodes.
    pub fn write(
        self,
        output: &mut Output,
        summary: &Summary,
        nodes: Vec<NodeRow>,
        wide: bool,
    ) -> io::Result<()> {
        write!(
            output,
            "{} of {} pods placed on {} nodes; {} pending",
            summary.scheduled,
            summary.pods,
            summary.nodes,
            summary.pending()
        )?;
        if summary.victims > 0 {
            write!(output, "; {} pods evicted for others", summary.victims)?;
        }
        writeln!(output)?;
        if summary.claims_bound > 0 {
            writeln!(
                output,
                "{} claims bound, {} of them to volumes that were provisioned",
                summary.claims_bound, summary.claims_provisioned
            )?;
        }
        if let Some(course) = &summary.course {
            course::write(output, course, wide)?;
        }
        if !self.groups.is_empty() {
            writeln!(output)?;
            write_groups(output, self.groups, wide)?;
        }
        if !self.pods.is_empty() {
            writeln!(output)?;
            let headers = ["POD", "RESULT", "NODE", "FEASIBLE", "CLAIMS"];
            // The last column stands there for pods that have some.
            let shown = headers.len() - usize::from(summary.claims_bound == 0);
            let mut columns = Columns::new(output.width(), headers.into_iter().take(shown));
            for pod in &self.pods {
                columns.row(pod.iter().take(shown));
            }
            columns.write(output)?;
        }
        if !nodes.is_empty() {
            writeln!(output)?;
            write_nodes(output, nodes, wide)?;
        }
        Ok(())
    }
}

/// `data on v1, logs on dyn-shop-logs (provisioned)`: the claims are in the pod's namespace.
fn claims(bound: &[BoundClaim]) -> String {
    let texts = bound.iter().map(|own| {
        let (_, claim) = own.claim.split_once('/').unwrap_or_default();
        let volume = own.volume.as_deref().unwrap_or("a new volume");
        let how = if own.provisioned {
            " (provisioned)"
        } else {
            ""
        };
        format!("{claim} on {volume}{how}")
    });
    let texts: Vec<_> = texts.collect();
    if texts.is_empty() {
        return "-".to_owned();
    }
    texts.join(", ")
}

/// Largest group first.
fn write_groups(
    output: &mut Output,
    groups: BTreeMap<String, Group>,
    wide: bool,
) -> io::Result<()> {
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, group)| Reverse(group.count));
    let mut columns = Columns::new(output.width(), ["PENDING", "REASON"]);
    let shown = if wide { groups.len() } else { GROUPS_SHOWN_MAX };
    for (reason, group) in groups.iter().take(shown) {
        let mut examples = escape(&group.examples.join(", ")).into_owned();
        if let more @ 1.. = group.count - group.examples.len() {
            examples = format!("{examples} and {more} more");
        }
        columns.row([
            group.count.to_string(),
            format!("{}\n{examples}", escape(reason)),
        ]);
    }
    columns.align_right(0);
    columns.write(output)?;
    let rest = groups.get(shown..).unwrap_or_default();
    if let more @ 1.. = rest.len() {
        let pods: usize = rest.iter().map(|(_, group)| group.count).sum();
        writeln!(
            output,
            "... and {more} more reasons of {pods} pods; -o wide shows all"
        )?;
    }
    Ok(())
}

/// Fullest node first.
fn write_nodes(output: &mut Output, mut nodes: Vec<NodeRow>, wide: bool) -> io::Result<()> {
    let resources = shown_resources(&nodes, wide);
    nodes.sort_by_cached_key(|node| (Reverse(fill(node)), node.name.clone()));
    let shown = if wide { nodes.len() } else { NODES_SHOWN_MAX };
    let headers = ["NODE", "PODS", "CPU", "MEMORY"].map(str::to_owned);
    let more = resources.iter().skip(2).map(|name| header(name));
    let mut columns = Columns::new(output.width(), headers.into_iter().chain(more));
    for node in nodes.iter().take(shown) {
        let name = if node.unschedulable {
            format!("{} (cordoned)", node.name)
        } else {
            node.name.clone()
        };
        let pods = format!("{}/{}", node.pods, node.pods_allocatable);
        let cells = resources.iter().map(|resource| cell(node, resource));
        columns.row([name, pods].into_iter().chain(cells));
    }
    for column in 0..resources.len() {
        columns.align_right(column + 2);
    }
    columns.write(output)?;
    if let more @ 1.. = nodes.len().saturating_sub(shown) {
        writeln!(output, "... and {more} more nodes; -o wide shows all")?;
    }
    Ok(())
}

/// cpu, memory, and what some node has of the rest: in the narrow form only what is requested,
/// in the wide one all.
fn shown_resources(nodes: &[NodeRow], wide: bool) -> Vec<String> {
    let mut others = BTreeSet::new();
    for resource in nodes.iter().flat_map(|node| &node.resources) {
        let is_basic = resource.name == "cpu" || resource.name == "memory";
        let is_shown = resource.requested > 0 || (wide && resource.allocatable > 0);
        if !is_basic && is_shown {
            others.insert(resource.name.clone());
        }
    }
    let basic = ["cpu", "memory"].map(str::to_owned);
    basic.into_iter().chain(others).collect()
}

/// A resource's name without its domain: `nvidia.com/gpu` is GPU.
fn header(resource: &str) -> String {
    let name = resource.rsplit('/').next().unwrap_or(resource);
    name.to_uppercase()
}

/// `3900m/4 97%`.
fn cell(node: &NodeRow, resource: &str) -> String {
    let Some(row) = node.resource(resource) else {
        return "-".to_owned();
    };
    let requested = amount::rounded(resource, row.requested);
    let allocatable = amount::rounded(resource, i128::from(row.allocatable));
    match amount::percent(row.requested, row.allocatable) {
        Some(percent) => format!("{requested}/{allocatable} {percent}%"),
        None => format!("{requested}/{allocatable}"),
    }
}

/// The fullest of a node's resources, in thousandths; what it has none of is full when asked for.
fn fill(node: &NodeRow) -> i128 {
    let pods = (i128::from(node.pods), node.pods_allocatable);
    let resources = node
        .resources
        .iter()
        .map(|resource| (resource.requested, resource.allocatable));
    resources
        .chain([pods])
        .map(|(requested, allocatable)| match (requested, allocatable) {
            (..=0, _) => 0,
            (_, ..=0) => 1000,
            _ => requested.saturating_mul(1000) / i128::from(allocatable),
        })
        .max()
        .unwrap_or(0)
}
