//! The table, and the page around it.

use crate::figures::Figures;
use crate::kube::{Check, SETTINGS};
use crate::workload::{SEED, Workload};
use berth_core::Fidelity;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::Command;

/// The rounds of a workload.
#[derive(Default)]
pub struct Measured {
    best: Vec<Figures>,
    exact: Vec<Figures>,
    pub kube: [Vec<Figures>; 3],
}

impl Measured {
    /// A round of Berth's.
    pub fn berth(&mut self, fidelity: Fidelity, figures: Figures) {
        match fidelity {
            Fidelity::Best => self.best.push(figures),
            Fidelity::Exact => self.exact.push(figures),
        }
    }
}

/// A workload with what came out.
pub struct Row {
    /// In the table of targets; perhaps none.
    target: String,
    name: String,
    size: String,
    must: BTreeMap<String, f64>,
    goal: BTreeMap<String, f64>,
    best: Figures,
    exact: Figures,
    kube: [Option<Figures>; 3],
    checks: [Check; 2],
}

impl Row {
    /// Medians of the rounds.
    pub fn new(workload: &Workload, runs: Measured, checks: [Check; 2]) -> Self {
        let count = |count: usize| match count {
            count if count >= 1_000 => format!("{}k", count as f64 / 1e3),
            count => count.to_string(),
        };
        Self {
            target: workload.row.clone().unwrap_or_default(),
            name: workload.name.clone(),
            size: format!(
                "{} / {} / {}",
                count(workload.node_count()),
                count(workload.existing_count()),
                count(workload.measured.count),
            ),
            must: workload.must.clone(),
            goal: workload.goal.clone(),
            best: median(&runs.best).unwrap_or_default(),
            exact: median(&runs.exact).unwrap_or_default(),
            kube: runs.kube.map(|rounds| median(&rounds)),
            checks,
        }
    }

    fn short_name(&self) -> &str {
        if self.target.is_empty() {
            &self.name
        } else {
            &self.target
        }
    }

    /// Whether upstream agrees with every placement that it judged, and it judged some.
    pub fn agrees(&self) -> bool {
        let mut checks = self.checks.iter();
        checks.all(|check| check.differ == 0 && check.judged > 0)
    }
}

/// Of each figure its own median.
fn median(rounds: &[Figures]) -> Option<Figures> {
    let last = rounds.last()?.clone();
    let of = |value: fn(&Figures) -> f64| {
        let mut values: Vec<f64> = rounds.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    Some(Figures {
        wall: of(|own| own.wall),
        cpu: of(|own| own.cpu),
        mean: of(|own| own.mean),
        queueing: of(|own| own.queueing),
        changes: of(|own| own.changes),
        p50: of(|own| own.p50),
        p99: of(|own| own.p99),
        allocations: of(|own| own.allocations),
        bytes: of(|own| own.bytes),
        peak: of(|own| own.peak as f64) as u64,
        ..last
    })
}

/// Seconds of a processor an attempt.
fn cpu(figures: Option<&Figures>) -> f64 {
    figures.map_or(f64::NAN, |own| own.cpu / own.attempts as f64)
}

/// All tables of these rows.
pub fn lines(rows: &[Row]) -> String {
    let mut text = String::from(
        "## Microseconds an attempt, and ratios\n\n\
         Mean from the queue to the assumed pod, adding it to the queue included.\n\n\
         | row | workload | nodes / existing / measured | kube default | all nodes | tuned | best | exact \
         | best : default | best : all | best : tuned | exact : default | CPU, best : default | must | goal |\n\
         |---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let kube = |at: usize| row.kube[at].as_ref().map_or(f64::NAN, |own| own.mean);
        let targets = |targets: &BTreeMap<String, f64>| {
            let targets = targets
                .iter()
                .map(|(setting, ratio)| match setting.as_str() {
                    "default" => format!("{ratio}x"),
                    other => format!("{ratio}x {other}"),
                });
            targets.collect::<Vec<_>>().join(", ")
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            row.target,
            row.name,
            row.size,
            short(kube(0)),
            short(kube(1)),
            short(kube(2)),
            short(row.best.mean),
            short(row.exact.mean),
            ratio(kube(0) / row.best.mean),
            ratio(kube(1) / row.best.mean),
            ratio(kube(2) / row.best.mean),
            ratio(kube(0) / row.exact.mean),
            ratio(cpu(row.kube[0].as_ref()) / cpu(Some(&row.best))),
            targets(&row.must),
            targets(&row.goal),
        );
    }
    details(rows, &mut text);
    judgement(rows, &mut text);
    text
}

fn details(rows: &[Row], text: &mut String) {
    text.push_str(
        "\n## Each side\n\nAn attempt, in microseconds; allocations and bytes an attempt; peak is the \
         process with all objects of the script.\n\n\
         | row | side | attempts | placed | mean | queue | changes | p50 | p99 | CPU s | wall s | allocations \
         | bytes | peak MiB | states MiB |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let berth = [("best", Some(&row.best)), ("exact", Some(&row.exact))];
        let kube = SETTINGS
            .into_iter()
            .zip(row.kube.iter().map(Option::as_ref));
        for (side, figures) in berth.into_iter().chain(kube) {
            let Some(own) = figures else {
                continue;
            };
            let mib = |bytes: u64| short(bytes as f64 / f64::from(1 << 20));
            let name = row.short_name();
            let _ = writeln!(
                text,
                "| {name} | {side} | {} | {} | {} | {} | {} | {} | {} | {:.3} | {:.3} | {} | {} | {} | {} |",
                own.attempts,
                own.placed,
                short(own.mean),
                short(own.queueing),
                short(own.changes),
                short(own.p50),
                short(own.p99),
                own.cpu,
                own.wall,
                short(own.allocations),
                short(own.bytes),
                mib(own.peak),
                if own.stated == 0 {
                    String::new()
                } else {
                    mib(own.stated)
                },
            );
        }
    }
}

fn judgement(rows: &[Row], text: &mut String) {
    text.push_str(
        "\n## Upstream's judgement on the placements\n\n\
         `best`: upstream's filters pass the node, and its total is the highest of all nodes. `exact`: \
         kube-scheduler with `parallelism: 1` takes this node. Both: who fits nowhere is told the same, \
         and a preemption costs no more and has upstream's victims.\n\n\
         | row | fidelity | attempts | judged | differ |\n|---|---|---|---|---|\n",
    );
    for row in rows {
        for (fidelity, check) in ["best", "exact"].into_iter().zip(&row.checks) {
            let name = row.short_name();
            let _ = writeln!(
                text,
                "| {name} | {fidelity} | {} | {} (1 of {}) | {} |",
                check.attempts, check.judged, check.every, check.differ
            );
        }
    }
    for row in rows {
        for difference in row.checks.iter().flat_map(|check| &check.differences) {
            let _ = writeln!(text, "\n- {}: {difference}", row.name);
        }
    }
}

fn short(number: f64) -> String {
    match number {
        number if number.is_nan() => "-".into(),
        0.0 => "0".into(),
        number if number < 10.0 => format!("{number:.2}"),
        number if number < 100.0 => format!("{number:.1}"),
        number => format!("{number:.0}"),
    }
}

fn ratio(number: f64) -> String {
    match number {
        number if !number.is_finite() => "-".into(),
        number => format!("{}x", short(number)),
    }
}

/// What a reader needs to judge the figures.
pub fn conditions(asked: &str) -> String {
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let named = cpus.lines().find(|line| line.starts_with("model name"));
    let model = named.and_then(|line| line.split(": ").nth(1));
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let governor = std::fs::read_to_string("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    let governor = governor.map_or_else(|_| "unknown".into(), |own| own.trim().to_owned());
    format!(
        "# Berth beside kube-scheduler\n\n\
         | | |\n|---|---|\n\
         | date | {} |\n\
         | machine | {cores} cores of {}, governor {governor} |\n\
         | versions | kube-scheduler 1.37.2 with {}; Berth {} with {}, release profile |\n\
         | run | {asked}; medians |\n\
         | seed | {SEED} |\n\
         | settings | default; `percentageOfNodesToScore: 100`; GOGC=400 without default spread \
         constraints, so that batching is of use |\n\
         | command | `cargo bench --bench beside` |\n",
        today(),
        model.unwrap_or("an unknown processor"),
        version("go", &["env", "GOVERSION"]),
        version("git", &["rev-parse", "--short", "HEAD"]),
        version("rustc", &["--version"]),
    )
}

/// Today, by the machine's clock.
pub fn today() -> String {
    version("date", &["+%Y-%m-%d"])
}

fn version(program: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = command.output().map(|output| output.stdout);
    let text = String::from_utf8(output.unwrap_or_default()).unwrap_or_default();
    text.trim().to_owned()
}
