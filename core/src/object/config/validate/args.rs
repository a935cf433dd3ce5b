//! Rules of plugin args. Mirrors `validation/validation_pluginargs.go`.

use super::findings::Findings;
use super::names::label_key_problems;
use super::node_affinity;
use crate::object::config::{
    DefaultPreemptionArgs, DynamicResourcesArgs, NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs, PluginArgs, PodTopologySpreadArgs, ScoringStrategyConfig, ShapePoint,
    TopologySpreadConstraint, VolumeBindingArgs,
};
use alloc::collections::BTreeSet;
use alloc::format;

impl PluginArgs {
    pub(super) fn validate(&self, path: &str, findings: &mut Findings) {
        match self {
            Self::DefaultPreemption(args) => args.validate(path, findings),
            Self::DynamicResources(args) => args.validate(path, findings),
            Self::InterPodAffinity(args) => {
                if let Some(weight) = args.hard_pod_affinity_weight
                    && !(0..=100).contains(&weight)
                {
                    let field = format!("{path}.hardPodAffinityWeight");
                    findings.invalid(field, weight, "not in valid range [0, 100]");
                }
            }
            Self::NodeAffinity(args) => {
                if let Some(affinity) = &args.added_affinity {
                    node_affinity::validate(affinity, &format!("{path}.addedAffinity"), findings);
                }
            }
            Self::NodeResourcesBalancedAllocation(args) => args.validate(path, findings),
            Self::NodeResourcesFit(args) => args.validate(path, findings),
            Self::PodTopologySpread(args) => args.validate(path, findings),
            Self::VolumeBinding(args) => args.validate(path, findings),
            Self::Undecoded(_) => {}
        }
    }
}

impl DefaultPreemptionArgs {
    fn validate(&self, path: &str, findings: &mut Findings) {
        let percentage = self.min_candidate_nodes_percentage.unwrap_or_default();
        let percentage_path = format!("{path}.minCandidateNodesPercentage");
        let absolute = self.min_candidate_nodes_absolute.unwrap_or_default();
        let absolute_path = format!("{path}.minCandidateNodesAbsolute");
        if !(0..=100).contains(&percentage) {
            let detail = "not in valid range [0, 100]";
            findings.invalid(percentage_path.clone(), percentage, detail);
        }
        if absolute < 0 {
            findings.invalid(
                absolute_path.clone(),
                absolute,
                "not in valid range [0, inf)",
            );
        }
        if percentage == 0 && absolute == 0 {
            findings.invalid(
                percentage_path,
                percentage,
                "cannot be zero at the same time as minCandidateNodesAbsolute",
            );
            findings.invalid(
                absolute_path,
                absolute,
                "cannot be zero at the same time as minCandidateNodesPercentage",
            );
        }
    }
}

impl DynamicResourcesArgs {
    fn validate(&self, path: &str, findings: &mut Findings) {
        if let Some(timeout) = self.filter_timeout
            && timeout.nanos() < 0
        {
            let field = format!("{path}.filterTimeout");
            findings.invalid(field, format!("\"{timeout}\""), "must be zero or positive");
        }
        if let Some(timeout) = self.binding_timeout
            && timeout.nanos() < 1_000_000_000
        {
            let field = format!("{path}.bindingTimeout");
            findings.invalid(field, format!("\"{timeout}\""), "must be at least 1 second");
        }
    }
}

impl NodeResourcesBalancedAllocationArgs {
    fn validate(&self, path: &str, findings: &mut Findings) {
        let mut names = BTreeSet::new();
        for (index, resource) in self.resources.iter().enumerate() {
            let path = format!("{path}.resources[{index}]");
            if !names.insert(&resource.name) {
                findings.duplicate(format!("{path}.name"), format!("{:?}", resource.name));
            }
            if resource.weight != 1 {
                findings.invalid(format!("{path}.weight"), resource.weight, "must be 1");
            }
        }
    }
}

impl NodeResourcesFitArgs {
    fn validate(&self, path: &str, findings: &mut Findings) {
        for (index, name) in self.ignored_resources.iter().enumerate() {
            validate_label_name(name, &format!("{path}.ignoredResources[{index}]"), findings);
        }
        for (index, group) in self.ignored_resource_groups.iter().enumerate() {
            let field = format!("{path}.ignoredResourceGroups[{index}]");
            if group.contains('/') {
                findings.invalid(
                    field.clone(),
                    format!("{group:?}"),
                    "resource group name can't contain '/'",
                );
            }
            validate_label_name(group, &field, findings);
        }
        let path = format!("{path}.scoringStrategy");
        match &self.scoring_strategy {
            Some(strategy) => strategy.validate(&path, findings),
            None => findings.required(path, "ScoringStrategy field is required"),
        }
    }
}

impl ScoringStrategyConfig {
    fn validate(&self, path: &str, findings: &mut Findings) {
        let supported = [
            "LeastAllocated",
            "MostAllocated",
            "RequestedToCapacityRatio",
        ];
        if !supported.contains(&self.kind.as_str()) {
            let kind = format!("{:?}", self.kind);
            findings.unsupported(format!("{path}.type"), kind, &supported);
        }
        for (index, resource) in self.resources.iter().enumerate() {
            if !(1..=100).contains(&resource.weight) {
                let name = &resource.name;
                findings.invalid(
                    format!("{path}.resources[{index}].weight"),
                    resource.weight,
                    format!("resource weight of {name} not in valid range (0, 100]"),
                );
            }
        }
        let is_ratio = self.kind == "RequestedToCapacityRatio";
        let path = format!("{path}.requestedToCapacityRatio");
        match &self.requested_to_capacity_ratio {
            Some(ratio) if is_ratio => {
                validate_shape(&ratio.shape, &format!("{path}.shape"), findings);
            }
            Some(_) => findings.forbidden(
                path,
                "must be nil when type is not RequestedToCapacityRatio",
            ),
            None if is_ratio => findings.required(
                path,
                "must be specified when type is RequestedToCapacityRatio",
            ),
            None => {}
        }
    }
}

impl PodTopologySpreadArgs {
    fn validate(&self, path: &str, findings: &mut Findings) {
        let type_path = format!("{path}.defaultingType");
        let quoted = format!("{:?}", self.defaulting_type);
        match self.defaulting_type.as_str() {
            "System" if !self.default_constraints.is_empty() => {
                findings.invalid(type_path, quoted, "when .defaultConstraints are not empty");
            }
            "System" | "List" => {}
            _ => findings.unsupported(type_path, quoted, &["System", "List"]),
        }
        for (index, constraint) in self.default_constraints.iter().enumerate() {
            let path = format!("{path}.defaultConstraints[{index}]");
            constraint.validate(&path, findings);
            let (key, action) = (&constraint.topology_key, &constraint.when_unsatisfiable);
            let repeated = self
                .default_constraints
                .iter()
                .take(index)
                .any(|other| other.topology_key == *key && other.when_unsatisfiable == *action);
            if repeated {
                findings.duplicate(path, format!("\"{{{key}, {action}}}\""));
            }
        }
    }
}

impl TopologySpreadConstraint {
    fn validate(&self, path: &str, findings: &mut Findings) {
        if self.max_skew <= 0 {
            let field = format!("{path}.maxSkew");
            findings.invalid(field, self.max_skew, "not in valid range (0, inf)");
        }
        let key_path = format!("{path}.topologyKey");
        if self.topology_key.is_empty() {
            findings.required(key_path, "can not be empty");
        } else {
            validate_label_name(&self.topology_key, &key_path, findings);
        }
        let action_path = format!("{path}.whenUnsatisfiable");
        match self.when_unsatisfiable.as_str() {
            "" => findings.required(action_path, "can not be empty"),
            "DoNotSchedule" | "ScheduleAnyway" => {}
            action => findings.unsupported(
                action_path,
                format!("{action:?}"),
                &["DoNotSchedule", "ScheduleAnyway"],
            ),
        }
        if self.label_selector.is_some() {
            findings.forbidden(
                format!("{path}.labelSelector"),
                "constraint must not define a selector, as they deduced for each pod",
            );
        }
    }
}

impl VolumeBindingArgs {
    fn validate(&self, path: &str, findings: &mut Findings) {
        if let Some(seconds) = self.bind_timeout_seconds
            && seconds < 0
        {
            findings.invalid(
                format!("{path}.bindTimeoutSeconds"),
                seconds,
                "invalid BindTimeoutSeconds, should not be a negative value",
            );
        }
        validate_shape(&self.shape, &format!("{path}.shape"), findings);
    }
}

fn validate_shape(shape: &[ShapePoint], path: &str, findings: &mut Findings) {
    if shape.is_empty() {
        findings.required(path, "at least one point must be specified");
        return;
    }
    let mut pairs = shape.iter().zip(shape.iter().enumerate().skip(1));
    let unsorted = pairs.find(|(one, (_, next))| one.utilization >= next.utilization);
    if let Some((_, (index, point))) = unsorted {
        findings.invalid(
            format!("{path}[{index}].utilization"),
            point.utilization,
            "values must be sorted in increasing order",
        );
    }
    for (index, point) in shape.iter().enumerate() {
        let fields = [
            ("utilization", point.utilization, 100),
            ("score", point.score, 10),
        ];
        for (name, value, max) in fields {
            if !(0..=max).contains(&value) {
                findings.invalid(
                    format!("{path}[{index}].{name}"),
                    value,
                    format!("not in valid range [0, {max}]"),
                );
            }
        }
    }
}

fn validate_label_name(name: &str, field: &str, findings: &mut Findings) {
    for problem in label_key_problems(name) {
        findings.invalid(field, format!("{name:?}"), problem);
    }
}
