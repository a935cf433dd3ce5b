//! The same cluster as a user has it, through what every face puts before the core: validation,
//! defaults and expansion are Berth's then, not upstream's.

use berth_core::Detail;
use berth_core::intake::Intake;
use berth_core::object::config::KubeSchedulerConfiguration;
use berth_core::object::decode::Decoded;
use berth_test_support::answer::Answer;
use berth_test_support::golden::{Scenario, full_name};
use berth_test_support::replay::VERDICTS;
use serde_json::json;

/// The cluster with its new pods as they were written. Those with a node or a status have been
/// through an API server and stand as it has them.
pub fn as_written(mut written: Scenario, admitted: &Scenario) -> Scenario {
    written
        .input
        .bound_pods
        .clone_from(&admitted.input.bound_pods);
    let pods = written.input.pods_in_order.iter_mut();
    for (pod, admitted) in pods.zip(&admitted.input.pods_in_order) {
        if !pod["status"].is_null() {
            pod.clone_from(admitted);
        }
    }
    written
}

/// Whether all namespaces and the claims of all ephemeral volumes are there: what is in another
/// namespace is refused by an API server, whereas Berth takes it as given, and Berth makes the claims.
pub fn is_whole(scenario: &Scenario) -> bool {
    let input = &scenario.input;
    let names: Vec<_> = input
        .namespaces
        .iter()
        .map(|own| &own["metadata"]["name"])
        .collect();
    let mut pods = input.bound_pods.iter().chain(&input.pods_in_order);
    let claims: Vec<_> = input
        .persistent_volume_claims
        .iter()
        .map(full_name)
        .collect();
    pods.all(|pod| {
        let volumes = pod["spec"]["volumes"].as_array();
        let mut volumes = volumes.into_iter().flatten();
        names.contains(&&pod["metadata"]["namespace"])
            && volumes.all(|volume| {
                let name = volume["name"].as_str().unwrap_or_default();
                volume["ephemeral"].is_null()
                    || claims.contains(&format!("{}-{name}", full_name(pod)))
            })
    })
}

/// In what the first pod that differs does, of objects that no API server has completed.
pub fn difference(scenario: &Scenario) -> Option<String> {
    let config: KubeSchedulerConfiguration = scenario
        .config
        .as_ref()
        .map(|config| serde_json::from_value(config.clone()).expect("a configuration"))
        .unwrap_or_default();
    let input = &scenario.input;
    let pending = input.pods_in_order.iter().map(|pod| ("Pod", pod));
    let items = input.cluster().chain(pending).map(|(kind, object)| {
        let mut object = object.clone();
        object["kind"] = json!(kind);
        object["apiVersion"] = match kind {
            "ReplicaSet" | "StatefulSet" => json!("apps/v1"),
            "StorageClass" | "CSINode" | "CSIDriver" | "CSIStorageCapacity"
            | "VolumeAttachment" => json!("storage.k8s.io/v1"),
            _ => json!("v1"),
        };
        object
    });
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items.collect::<Vec<_>>()});
    let document: Decoded = serde_json::from_value(list).expect("a list");
    let mut intake = Intake::new(config, VERDICTS, None).expect("a valid configuration");
    if let Err(refused) = intake.load(vec![document]) {
        return Some(format!(
            "the intake refuses what an API server lets pass: {refused:?}\n"
        ));
    }
    scenario.verdicts.iter().find_map(|verdict| {
        let (namespace, name) = verdict.pod.split_once('/').expect("NAMESPACE/NAME");
        let Some(pod) = intake.scheduler().find_pod(namespace, name) else {
            return Some(format!("{} is lost in the intake\n", verdict.pod));
        };
        let decision = intake.scheduler_mut().schedule(pod);
        let record = intake.scheduler().record(&decision, Detail::Full);
        intake.bind_volumes(pod).expect("room for a volume");
        let text = Answer::from_record(&record).differences(verdict);
        (!text.is_empty()).then(|| format!("{} through the intake\n{text}", verdict.pod))
    })
}
