//! Counts what is equal, and keeps the first of what is not.

use std::fmt::Write;

/// Differences that are shown before the rest is only counted.
const SHOWN: usize = 20;

/// The comparisons of one set.
#[derive(Debug)]
pub struct Tally<'a> {
    set: &'a str,
    equal: usize,
    different: usize,
    report: String,
}

impl<'a> Tally<'a> {
    /// Nothing compared yet.
    pub fn of(set: &'a str) -> Self {
        Self {
            set,
            equal: 0,
            different: 0,
            report: String::new(),
        }
    }

    /// Counts one comparison; `differences` is empty when all was equal.
    pub fn count(&mut self, scenario: &str, pod: &str, differences: &str) {
        if differences.is_empty() {
            self.equal += 1;
            return;
        }
        self.different += 1;
        if self.different <= SHOWN {
            write!(self.report, "{scenario} {pod}\n{differences}").expect("write to text");
        }
    }

    /// Prints the count; panics unless `whole` comparisons were made and all were equal.
    pub fn finish(self, whole: usize) {
        let compared = self.equal + self.different;
        println!("{}: {} of {compared} verdicts equal", self.set, self.equal);
        assert!(
            self.different == 0,
            "{}: {} of {compared} verdicts differ\n{}",
            self.set,
            self.different,
            self.report
        );
        assert_eq!(compared, whole, "the set {} is not whole", self.set);
    }
}
