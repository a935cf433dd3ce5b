//! Rules of node selectors. Mirrors `component-helpers/scheduling/corev1/nodeaffinity` and
//! `NewRequirement` of `apimachinery/pkg/labels`.

use super::findings::Findings;
use super::names::{label_key_problems, label_value_problems};
use crate::object::config::{NodeAffinity, NodeSelectorTerm, Requirement};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

pub(super) fn validate(affinity: &NodeAffinity, path: &str, findings: &mut Findings) {
    if let Some(selector) = &affinity.required {
        for (index, term) in selector.node_selector_terms.iter().enumerate() {
            let path = format!(
                "{path}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[{index}]"
            );
            validate_term(term, &path, findings);
        }
    }
    let preferred = affinity.preferred.iter().flatten().enumerate();
    for (index, term) in preferred.filter(|(_, term)| term.weight != 0) {
        let path = format!("{path}.preferredDuringSchedulingIgnoredDuringExecution[{index}]");
        validate_term(&term.preference, &path, findings);
    }
}

fn validate_term(term: &NodeSelectorTerm, path: &str, findings: &mut Findings) {
    for (index, requirement) in term.match_expressions.iter().enumerate() {
        let path = format!("{path}.matchExpressions[{index}]");
        validate_label_requirement(requirement, &path, findings);
    }
    for (index, requirement) in term.match_fields.iter().enumerate() {
        let path = format!("{path}.matchFields[{index}]");
        match requirement.operator.as_str() {
            "In" | "NotIn" if requirement.values.len() == 1 => {}
            "In" | "NotIn" => findings.invalid(
                format!("{path}.values"),
                go_texts(&requirement.values),
                "must have one element",
            ),
            operator => findings.unsupported(
                format!("{path}.operator"),
                format!("{operator:?}"),
                &["In", "NotIn"],
            ),
        }
    }
}

fn validate_label_requirement(requirement: &Requirement, path: &str, findings: &mut Findings) {
    let Requirement {
        key,
        operator,
        values,
    } = requirement;
    if !matches!(
        operator.as_str(),
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt"
    ) {
        findings.unsupported(
            format!("{path}.operator"),
            format!("{operator:?}"),
            &["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"],
        );
        return;
    }
    let problems = label_key_problems(key);
    if !problems.is_empty() {
        let field = format!("{path}.key");
        findings.invalid(field, format!("{key:?}"), problems.join("; "));
    }
    let wrong_count =
        match operator.as_str() {
            "In" | "NotIn" => values
                .is_empty()
                .then_some("for 'in', 'notin' operators, values set can't be empty"),
            "Gt" | "Lt" => (values.len() != 1)
                .then_some("for 'Gt', 'Lt' operators, exactly one value is required"),
            _ => (!values.is_empty())
                .then_some("values set must be empty for exists and does not exist"),
        };
    if let Some(detail) = wrong_count {
        findings.invalid(format!("{path}.values"), go_texts(values), detail);
    }
    if matches!(operator.as_str(), "Gt" | "Lt") {
        for (index, value) in values.iter().enumerate() {
            if value.parse::<i64>().is_err() {
                findings.invalid(
                    format!("{path}.values[{index}]"),
                    format!("{value:?}"),
                    "for 'Gt', 'Lt' operators, the value must be an integer",
                );
            }
        }
    }
    for (index, value) in values.iter().enumerate() {
        let problems = label_value_problems(value);
        if !problems.is_empty() {
            let field = format!("{path}.values[{index}][{key}]");
            findings.invalid(field, format!("{value:?}"), problems.join("; "));
        }
    }
}

/// A list of texts as Go prints it; one without elements came without the field.
fn go_texts(texts: &[String]) -> String {
    if texts.is_empty() {
        return String::from("null");
    }
    let texts: Vec<String> = texts.iter().map(|text| format!("{text:?}")).collect();
    format!("[{}]", texts.join(","))
}
