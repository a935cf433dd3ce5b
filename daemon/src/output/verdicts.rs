//! The result of `berth explain`, in every form.

use super::placements::{csv_row, reason, yaml};
use super::table::{Columns, paragraph};
use super::{Output, camel};
use crate::args::Form;
use crate::escape::escape;
use berth_core::{DecisionRecord, NodeScore, PodResult};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, Write};

/// Rows of each table unless it is wide.
const ROWS_SHOWN_MAX: usize = 40;
/// Nodes that are named in a sentence.
const NAMES_SHOWN_MAX: usize = 5;
/// Columns of a page, unless it is wide, when stdout is no terminal.
const PAGE_WIDTH: usize = 80;

/// A pod's verdicts: the full record, the cluster's size, the node that the pod is bound to.
pub struct Verdicts<'a> {
    pub record: &'a DecisionRecord,
    pub nodes: usize,
    pub bound: Option<&'a str>,
}

impl Verdicts<'_> {
    /// Writes the verdicts in the given form.
    pub fn write(&self, form: Form) -> io::Result<()> {
        let mut output = Output::stdout();
        match form {
            Form::Table => self.write_tables(&mut output, ROWS_SHOWN_MAX)?,
            Form::Wide => self.write_tables(&mut output, usize::MAX)?,
            Form::Json => {
                serde_json::to_writer_pretty(&mut output, self.record)?;
                writeln!(output)?;
            }
            Form::Jsonl => {
                serde_json::to_writer(&mut output, self.record)?;
                writeln!(output)?;
            }
            Form::Yaml => output.write_all(yaml(self.record)?.as_bytes())?,
            Form::Csv => self.write_csv(&mut output)?,
            Form::Name => {
                if let Some(node) = &self.record.node {
                    writeln!(output, "{}", escape(node))?;
                }
            }
        }
        output.flush()
    }

    /// Feasible nodes, best first, the chosen one before those that tie with it.
    fn ranked(&self) -> Vec<&NodeScore> {
        let mut ranked: Vec<_> = self.record.scores.iter().flatten().collect();
        ranked.sort_by_key(|score| {
            let is_chosen = Some(&score.node) == self.record.node.as_ref();
            (-i128::from(score.total), !is_chosen)
        });
        ranked
    }

    fn write_csv(&self, output: &mut Output) -> io::Result<()> {
        writeln!(output, "node,result,total,message")?;
        let ranked = self.ranked();
        for score in &ranked {
            let total = score.total.to_string();
            writeln!(
                output,
                "{}",
                csv_row(&[&score.node, "feasible", &total, ""])
            )?;
        }
        if let (true, Some(node)) = (ranked.is_empty(), &self.record.node) {
            writeln!(output, "{}", csv_row(&[node, "feasible", "", ""]))?;
        }
        for (node, refusal) in self.record.rejected.iter().flatten() {
            let message = refusal_text(refusal);
            writeln!(output, "{}", csv_row(&[node, "refused", "", &message]))?;
        }
        Ok(())
    }

    fn write_tables(&self, output: &mut Output, rows_max: usize) -> io::Result<()> {
        let ranked = self.ranked();
        for sentence in self.sentences(&ranked) {
            paragraph(output, &sentence)?;
        }
        if !ranked.is_empty() {
            writeln!(output)?;
            self.write_scores(output, &ranked, rows_max)?;
        }
        if let Some(rejected) = self.record.rejected.as_ref().filter(|map| !map.is_empty()) {
            writeln!(output)?;
            let mut columns =
                Columns::new(output.width(), ["REFUSED BY NODE", "PLUGIN", "REASONS"]);
            for (node, refusal) in rejected.iter().take(rows_max) {
                let (plugin, reasons) =
                    refusal.split_first().map_or(("", &[][..]), |(p, r)| (p, r));
                columns.row([self.marked(node), plugin.to_owned(), reasons.join(", ")]);
            }
            columns.write(output)?;
            write_more(output, rejected.len(), rows_max)?;
        }
        Ok(())
    }

    fn sentences(&self, ranked: &[&NodeScore]) -> Vec<String> {
        let DecisionRecord { pod, result, .. } = self.record;
        let nodes = self.nodes;
        let why = reason(self.record).map(Cow::into_owned);
        if !matches!(result, PodResult::Scheduled | PodResult::Unschedulable) {
            let why = why.unwrap_or_default();
            return vec![format!("{pod} was not judged: {why}.")];
        }
        let feasible = self.record.feasible.unwrap_or(0);
        let mut sentences = vec![format!("{pod} fits on {feasible} of {nodes} nodes.")];
        sentences.extend(why);
        sentences.extend(self.victory(ranked));
        if let Some(bound) = self.bound {
            sentences.push(format!(
                "It is bound to {bound}, and was judged as if it were not."
            ));
        }
        let evaluated = self.record.evaluated.map_or(nodes, |count| count as usize);
        if let unseen @ 1.. = nodes.saturating_sub(evaluated) {
            sentences.push(format!("{unseen} nodes were not looked at."));
        }
        sentences
    }

    /// Who won, over whom, by how much and through which plugins.
    fn victory(&self, ranked: &[&NodeScore]) -> Option<String> {
        let node = self.record.node.as_deref()?;
        let (Some(first), Some(second)) = (ranked.first(), ranked.get(1)) else {
            return Some(format!("{node} is chosen, as the only one."));
        };
        let margin = first.total.saturating_sub(second.total);
        if margin == 0 {
            let ties: Vec<_> = self.record.ties.iter().flatten().collect();
            let mut text = format!(
                "{node} is chosen of {} nodes that tie at {}: ",
                ties.len(),
                first.total
            );
            let names: Vec<_> = ties
                .iter()
                .take(NAMES_SHOWN_MAX)
                .map(|name| name.as_str())
                .collect();
            text.push_str(&names.join(", "));
            if let more @ 1.. = ties.len().saturating_sub(NAMES_SHOWN_MAX) {
                // Writing to a String does not fail.
                let _ = write!(text, " and {more} more");
            }
            text.push('.');
            return Some(text);
        }
        let parts: Vec<_> = plugins([*first, *second])
            .into_iter()
            .map(|plugin| (plugin, score(first, plugin) - score(second, plugin)))
            .filter(|(_, difference)| *difference != 0)
            .map(|(plugin, difference)| format!("{plugin} {difference:+}"))
            .collect();
        Some(format!(
            "{node} is chosen with {}, {margin} more than {}: {}.",
            first.total,
            second.node,
            parts.join(", ")
        ))
    }

    /// Totals and the plugins that tell nodes apart; in the wide form all plugins.
    fn write_scores(
        &self,
        output: &mut Output,
        ranked: &[&NodeScore],
        rows_max: usize,
    ) -> io::Result<()> {
        let is_equal = |plugin: &&str| {
            let mut scores = ranked.iter().map(|node| score(node, plugin));
            let first = scores.next();
            scores.all(|score| Some(score) == first)
        };
        let all = plugins(ranked.iter().copied());
        let (equal, telling): (Vec<_>, Vec<_>) = all
            .into_iter()
            .partition(|plugin| rows_max < usize::MAX && is_equal(plugin));
        if let Some(node) = ranked.first().filter(|_| !equal.is_empty()) {
            let parts: Vec<_> = equal
                .iter()
                .map(|plugin| format!("{plugin} {}", score(node, plugin)))
                .collect();
            paragraph(output, &format!("Equal on each: {}.", parts.join(", ")))?;
            writeln!(output)?;
        }
        let mut rows = vec![];
        let mut rank = 0;
        let mut before = None;
        for (index, node) in ranked.iter().enumerate().take(rows_max) {
            if before != Some(node.total) {
                rank = index + 1;
                before = Some(node.total);
            }
            let scores = telling.iter().map(|plugin| score(node, plugin).to_string());
            let first = [
                rank.to_string(),
                self.marked(&node.node),
                node.total.to_string(),
            ];
            rows.push(first.into_iter().chain(scores).collect::<Vec<_>>());
        }
        let headers = ["RANK", "NODE", "TOTAL"].into_iter().chain(telling);
        let page = if rows_max < usize::MAX {
            PAGE_WIDTH
        } else {
            usize::MAX
        };
        let width = output.width().map_or(page, usize::from);
        let headers = camel::fit(headers.collect(), &rows, width);
        let mut columns = Columns::new(output.width(), headers);
        let column_count = rows.first().map_or(0, Vec::len);
        for row in rows {
            columns.row(row);
        }
        for column in (0..column_count).filter(|column| *column != 1) {
            columns.align_right(column);
        }
        columns.write(output)?;
        write_more(output, ranked.len(), rows_max)
    }

    /// A node's name, marked if the pod is bound to it.
    fn marked(&self, node: &str) -> String {
        if self.bound == Some(node) {
            format!("{node} (bound)")
        } else {
            node.to_owned()
        }
    }
}

/// `NodeResourcesFit: Insufficient cpu, Insufficient memory`.
fn refusal_text(refusal: &[String]) -> String {
    refusal
        .split_first()
        .map_or_else(String::new, |(plugin, reasons)| {
            format!("{plugin}: {}", reasons.join(", "))
        })
}

fn plugins<'a>(nodes: impl IntoIterator<Item = &'a NodeScore>) -> BTreeSet<&'a str> {
    let nodes = nodes.into_iter();
    nodes
        .flat_map(|node| node.plugins.keys().map(AsRef::as_ref))
        .collect()
}

fn score(node: &NodeScore, plugin: &str) -> i64 {
    node.plugins.get(plugin).copied().unwrap_or(0)
}

fn write_more(output: &mut Output, count: usize, shown: usize) -> io::Result<()> {
    if let more @ 1.. = count.saturating_sub(shown) {
        writeln!(output, "... and {more} more; -o wide shows all")?;
    }
    Ok(())
}
