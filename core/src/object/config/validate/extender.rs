//! Rules of extenders.

use super::findings::Findings;
use super::names::label_key_problems;
use crate::object::config::Extender;
use crate::object::label::is_extended_resource;
use alloc::collections::BTreeSet;
use alloc::format;

pub(super) fn validate(extenders: &[Extender], findings: &mut Findings) {
    let mut managed = BTreeSet::new();
    for (index, extender) in extenders.iter().enumerate() {
        let path = format!("extenders[{index}]");
        if !is_http_url(&extender.url_prefix) {
            // Differs from kube-scheduler: it finds out with the first pod.
            findings.invalid(
                format!("{path}.urlPrefix"),
                format!("{:?}", extender.url_prefix),
                "must be an http or https URL with a host",
            );
        }
        if !extender.prioritize_verb.is_empty() && extender.weight <= 0 {
            findings.invalid(
                format!("{path}.weight"),
                extender.weight,
                "must have a positive weight applied to it",
            );
        }
        for (index, resource) in extender.managed_resources.iter().enumerate() {
            let field = format!("{path}.managedResources[{index}].name");
            let quoted = format!("{:?}", resource.name);
            let problems = label_key_problems(&resource.name);
            if problems.is_empty() && !is_extended_resource(&resource.name) {
                let detail = "is an invalid extended resource name";
                findings.invalid(field.clone(), &quoted, detail);
            }
            for problem in problems {
                findings.invalid(field.clone(), &quoted, problem);
            }
            if !managed.insert(&resource.name) {
                let detail = "duplicate extender managed resource name";
                findings.invalid(field, &quoted, detail);
            }
        }
    }
    let binders = extenders
        .iter()
        .filter(|extender| !extender.bind_verb.is_empty())
        .count();
    if binders > 1 {
        findings.invalid(
            "extenders",
            format!("\"found {binders} extenders implementing bind\""),
            "only one extender can implement bind",
        );
    }
}

fn is_http_url(url: &str) -> bool {
    let rest = url
        .strip_prefix("http://")
        .or_else(|| url.strip_prefix("https://"));
    rest.is_some_and(|rest| {
        let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
        !host.is_empty()
            && !url
                .chars()
                .any(|letter| letter.is_whitespace() || letter.is_control())
    })
}
