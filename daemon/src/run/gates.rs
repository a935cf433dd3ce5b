//! Feature gates.
//!
//! `gates.tsv` has a row for each gate that kube-scheduler 1.37.2 knows: name, stage, default, whether
//! that is locked, and whether the scheduler reads it. It is made by `tests/kube/gates`.

use std::collections::BTreeMap;

const TABLE: &str = include_str!("gates.tsv");

/// A gate of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    pub name: &'static str,
    /// `ALPHA`, `BETA`, `GA` or `DEPRECATED`.
    pub stage: &'static str,
    pub default: bool,
    pub is_locked: bool,
    /// Whether kube-scheduler decides by it.
    pub is_read: bool,
}

/// What was set on the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gates {
    set: BTreeMap<&'static str, bool>,
}

/// All gates, by name.
pub fn table() -> impl Iterator<Item = Gate> {
    TABLE.lines().filter_map(|line| {
        let mut fields = line.split('\t');
        Some(Gate {
            name: fields.next()?,
            stage: fields.next()?,
            default: fields.next()? == "true",
            is_locked: fields.next()? == "true",
            is_read: fields.next()? == "true",
        })
    })
}

/// Gates that change nothing here whether they are on or off.
const EITHER: [&str; 3] = [
    "ComponentFlagz",
    "ComponentStatusz",
    "OpportunisticBatching",
];

impl Gates {
    /// Reads `NAME=BOOL` pairs, as `--feature-gates` has them.
    ///
    /// # Errors
    /// What is no such pair, names no gate, or sets one to what it cannot be here.
    pub fn parse(pairs: &[String]) -> Result<Self, String> {
        let mut gates = Self::default();
        for pair in pairs.iter().map(|pair| pair.trim()) {
            if pair.is_empty() {
                continue;
            }
            let wrong = |why: String| format!("--feature-gates={pair}: {why}");
            let (name, value) = pair
                .split_once('=')
                .ok_or_else(|| wrong("expected NAME=true or NAME=false".to_owned()))?;
            let name = name.trim().trim_start_matches("kube:");
            let value = match value.trim() {
                "1" | "t" | "T" | "true" | "TRUE" | "True" => true,
                "0" | "f" | "F" | "false" | "FALSE" | "False" => false,
                other => return Err(wrong(format!("{other} is neither true nor false"))),
            };
            if name == "AllAlpha" || name == "AllBeta" {
                gates.set_all(name, value).map_err(wrong)?;
                continue;
            }
            let gate = table()
                .find(|gate| gate.name == name)
                .ok_or_else(|| wrong(format!("unrecognized feature gate: {name}")))?;
            gate.check(value).map_err(wrong)?;
            gates.set.insert(gate.name, value);
        }
        Ok(gates)
    }

    /// `AllAlpha` and `AllBeta` are taken where they change nothing that is read here.
    fn set_all(&mut self, name: &str, value: bool) -> Result<(), String> {
        let stage = name.trim_start_matches("All").to_uppercase();
        for gate in table().filter(|gate| gate.stage == stage) {
            gate.check(value)?;
            self.set.insert(gate.name, value);
        }
        Ok(())
    }

    /// Whether a gate is on.
    pub fn is_on(&self, name: &str) -> bool {
        let by_default = || table().any(|gate| gate.name == name && gate.default);
        self.set.get(name).copied().unwrap_or_else(by_default)
    }
}

impl Gate {
    fn check(self, value: bool) -> Result<(), String> {
        let Self { name, default, .. } = self;
        if self.is_locked && value != default {
            return Err(format!(
                "cannot set feature gate {name} to {value}, feature is locked to {default}"
            ));
        }
        if self.is_read && value != default && !EITHER.contains(&name) {
            let now = if default { "on" } else { "off" };
            return Err(format!("Berth has {name} only {now}; leave it out"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Gates, table};

    fn parse(pairs: &[&str]) -> Result<Gates, String> {
        let pairs: Vec<String> = pairs.iter().map(|pair| (*pair).to_owned()).collect();
        Gates::parse(&pairs)
    }

    #[test]
    fn the_table_has_what_the_scheduler_reads() {
        assert!(table().count() > 150);
        let read = table().filter(|gate| gate.is_read).count();
        assert!(read > 30, "{read}");
        let gates = Gates::default();
        assert!(gates.is_on("SchedulerAsyncPreemption"));
        assert!(!gates.is_on("GenericWorkload"));
    }

    #[test]
    fn gates_of_others_are_taken_and_own_ones_only_as_they_are() {
        assert!(
            parse(&[
                "KubeletInUserNamespace=true",
                "SchedulerPopFromBackoffQ=true"
            ])
            .is_ok()
        );
        let off = parse(&["OpportunisticBatching=false"]).expect("either way");
        assert!(!off.is_on("OpportunisticBatching"));
        for (pair, told) in [
            ("NoSuchGate=true", "unrecognized feature gate: NoSuchGate"),
            ("SchedulerQueueingHints=true", "unrecognized feature gate"),
            ("NodeDeclaredFeatures=false", "locked to true"),
            ("GenericWorkload=true", "only off"),
            ("GenericWorkload", "expected NAME=true"),
            ("GenericWorkload=2", "neither true nor false"),
            ("AllAlpha=true", "only off"),
        ] {
            let error = parse(&[pair]).expect_err(pair);
            assert!(error.contains(told), "{pair}: {error}");
        }
    }
}
