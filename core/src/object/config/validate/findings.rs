//! Collects errors in the forms of `apimachinery/pkg/util/validation/field`.

use crate::object::config::ConfigError;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Display;

/// Errors so far. Values are given as they are printed: texts quoted.
#[derive(Default)]
pub(super) struct Findings(Vec<ConfigError>);

impl Findings {
    pub(super) fn into_errors(self) -> Vec<ConfigError> {
        self.0
    }

    pub(super) fn invalid(
        &mut self,
        field: impl Into<String>,
        value: impl Display,
        detail: impl Display,
    ) {
        self.push(field, format!("Invalid value: {value}: {detail}"));
    }

    pub(super) fn unsupported(
        &mut self,
        field: impl Into<String>,
        value: impl Display,
        supported: &[&str],
    ) {
        let supported: Vec<String> = supported.iter().map(|text| format!("{text:?}")).collect();
        let supported = supported.join(", ");
        let problem = format!("Unsupported value: {value}: supported values: {supported}");
        self.push(field, problem);
    }

    pub(super) fn duplicate(&mut self, field: impl Into<String>, value: impl Display) {
        self.push(field, format!("Duplicate value: {value}"));
    }

    /// An empty detail is left out.
    pub(super) fn required(&mut self, field: impl Into<String>, detail: &str) {
        let colon = if detail.is_empty() { "" } else { ": " };
        self.push(field, format!("Required value{colon}{detail}"));
    }

    pub(super) fn forbidden(&mut self, field: impl Into<String>, detail: &str) {
        self.push(field, format!("Forbidden: {detail}"));
    }

    fn push(&mut self, field: impl Into<String>, problem: String) {
        self.0.push(ConfigError {
            field: field.into(),
            problem,
        });
    }
}
