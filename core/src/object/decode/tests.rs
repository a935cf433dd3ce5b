use super::*;
use alloc::format;
use alloc::string::ToString;

fn read(text: &str) -> Decoded {
    serde_json::from_str(text).unwrap()
}

/// The names of the objects read, in order; anything else is shown as it is.
fn names(decoded: Decoded) -> Vec<String> {
    match decoded {
        Decoded::Object(object) => alloc::vec![object.metadata().name.clone()],
        Decoded::List(items) => items.into_iter().flat_map(names).collect(),
        other => alloc::vec![format!("{other:?}")],
    }
}

fn refused(decoded: Decoded) -> Refused {
    match decoded {
        Decoded::Refused(refused) => refused,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn the_order_of_fields_does_not_matter() {
    let texts = [
        r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"nodeName": "n"}}"#,
        r#"{"metadata": {"name": "a"}, "kind": "Pod", "spec": {"nodeName": "n"}, "apiVersion": "v1"}"#,
    ];
    for text in texts {
        let Decoded::Object(object) = read(text) else {
            panic!("no object: {text}");
        };
        let Object::Pod(pod) = *object else {
            panic!("no pod: {text}");
        };
        assert_eq!((&*pod.metadata.name, &*pod.spec.node_name), ("a", "n"));
    }
}

#[test]
fn every_kind_is_read_as_itself() {
    for kind in &KINDS {
        let (name, api_version) = (kind.name, kind.api_version);
        let text = format!(
            r#"{{"apiVersion": "{api_version}", "kind": "{name}", "metadata": {{"name": "x"}}}}"#
        );
        let Decoded::Object(object) = read(&text) else {
            panic!("{name} is not read");
        };
        assert_eq!(object.kind(), name);
    }
}

#[test]
fn b57_lists_are_read_whatever_says_the_kind_of_their_items() {
    let pod = r#""metadata": {"name": "a"}"#;
    let texts = [
        format!(
            r#"{{"apiVersion": "v1", "items": [{{"apiVersion": "v1", "kind": "Pod", {pod}}}], "kind": "List"}}"#
        ),
        format!(r#"{{"apiVersion": "v1", "kind": "PodList", "items": [{{{pod}}}]}}"#),
        format!(r#"{{"apiVersion": "v1", "items": [{{{pod}}}], "kind": "PodList"}}"#),
        format!(
            r#"{{"apiVersion": "v1", "kind": "List", "items": [{{"apiVersion": "v1", "kind": "PodList", "items": [{{{pod}}}]}}]}}"#
        ),
    ];
    for text in texts {
        assert_eq!(names(read(&text)), ["a"], "{text}");
        let value = serde_json::from_str(&text).unwrap();
        assert_eq!(names(Decoded::from_value(value)), ["a"], "{text}");
    }
    let empty = read(r#"{"apiVersion": "v1", "kind": "List", "items": null}"#);
    assert_eq!(empty, Decoded::List(Vec::new()));
    assert_eq!(read("null"), Decoded::Empty);
}

#[test]
fn b57_an_item_is_of_its_list_s_kind() {
    let fine = r#"{"kind": "Pod", "metadata": {"name": "a"}}"#;
    let fine_too = r#"{"apiVersion": "v1", "metadata": {"name": "a"}, "kind": null}"#;
    let wrong = [
        r#"{"kind": "Node", "metadata": {"name": "a"}}"#,
        r#"{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}"#,
        r#"{"apiVersion": "v2", "metadata": {"name": "a"}}"#,
        r#"{"apiVersion": "x.io/v1", "kind": "Own", "metadata": {"name": "a"}}"#,
        r#"{"kind": 7, "metadata": {"name": "a"}}"#,
    ];
    // Whether the list's kind comes before its items or behind them.
    let lists = |item: &str| {
        [
            format!(r#"{{"apiVersion": "v1", "kind": "PodList", "items": [{item}]}}"#),
            format!(r#"{{"apiVersion": "v1", "items": [{item}], "kind": "PodList"}}"#),
        ]
    };
    for text in [fine, fine_too].into_iter().flat_map(lists) {
        assert_eq!(names(read(&text)), ["a"], "{text}");
    }
    for text in wrong.into_iter().flat_map(lists) {
        assert!(serde_json::from_str::<Decoded>(&text).is_err(), "{text}");
        let value = serde_json::from_str(&text).unwrap();
        let Decoded::List(items) = Decoded::from_value(value) else {
            panic!("no list: {text}");
        };
        assert!(matches!(items[..], [Decoded::Refused(_)]), "{items:?}");
    }
}

#[test]
fn b57_a_missing_or_old_api_version_names_the_right_one() {
    let old = refused(read(
        r#"{"apiVersion": "apps/v1beta1", "kind": "Deployment", "metadata": {"name": "web"}}"#,
    ));
    assert_eq!(old.object, "Deployment web");
    assert_eq!(old.field, "apiVersion");
    assert!(old.problem.ends_with("write apps/v1"), "{}", old.problem);
    let missing = refused(read(r#"{"kind": "Job", "metadata": {"name": "a"}}"#));
    assert_eq!(missing.field, "apiVersion");
    assert!(missing.problem.ends_with("batch/v1"), "{}", missing.problem);
    let kind = refused(read(r#"{"apiVersion": "v1", "metadata": {"name": "a"}}"#));
    assert_eq!(kind.field, "kind");
    let item = read(r#"{"apiVersion": "v1", "kind": "List", "items": [{"metadata": {}}]}"#);
    assert!(matches!(item, Decoded::List(items) if matches!(items[..], [Decoded::Refused(_)])));
}

#[test]
fn b58_a_known_name_in_a_foreign_group_is_foreign() {
    for api_version in ["batch.volcano.sh/v1alpha1", "serving.knative.dev/v1"] {
        assert_eq!(identify(api_version, "Job"), Identity::Foreign);
    }
    for api_version in ["extensions/v1beta1", "v1", "storage.k8s.io/v1"] {
        assert_eq!(
            identify(api_version, "Job"),
            Identity::WrongVersion("batch/v1")
        );
    }
    let text = r#"{"apiVersion": "v1", "kind": "Secret", "data": {"a": [1]}}"#;
    let foreign = read(text);
    let (api_version, kind) = ("v1".to_string(), "Secret".to_string());
    assert_eq!(foreign, Decoded::Foreign { api_version, kind });
}

#[test]
fn b56_a_misspelt_field_is_named() {
    let blocks = [
        r#""tolerations": [{"kye": "a"}]"#,
        r#""affinity": {"nodeAfinity": {}}"#,
        r#""containers": [{"resources": {"request": {}}}]"#,
        r#""topologySpreadConstraints": [{"maxskew": 1}]"#,
    ];
    for block in blocks {
        let text = format!(r#"{{"apiVersion": "v1", "kind": "Pod", "spec": {{{block}}}}}"#);
        let error = serde_json::from_str::<Decoded>(&text).unwrap_err();
        assert!(error.to_string().starts_with("unknown field"), "{error}");
    }
    let fine = r#"{"tolerations": [{"key": "a", "tolerationSeconds": 5}],
        "containers": [{"env": [], "resources": {"claims": []}, "ports": [{"name": "a"}]}]}"#;
    serde_json::from_str::<crate::object::PodSpec>(fine).unwrap();
}

#[test]
fn one_unreadable_object_does_not_hide_the_others() {
    let text = r#"{"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "web"},
         "spec": {"containers": [{}, {"ports": [{"hostPort": "x"}]}]}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b", "labels": {"c": 1}}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "c"}}]}"#;
    assert!(serde_json::from_str::<Decoded>(text).is_err());
    let Decoded::List(items) = Decoded::from_value(serde_json::from_str(text).unwrap()) else {
        panic!("no list");
    };
    let [first, second, third] = <[Decoded; 3]>::try_from(items).unwrap();
    let first = refused(first);
    assert_eq!(first.object, "Pod web/a");
    assert_eq!(first.field, "spec.containers[1].ports[0].hostPort");
    assert_eq!(refused(second).field, "metadata.labels.c");
    assert_eq!(names(third), ["c"]);
}

/// Derived visitors would take the elements for the fields in their order.
#[test]
fn a_list_does_not_pass_for_a_map() {
    for (kind, text) in [
        ("Node", "[]"),
        ("Pod", r#"{"spec": []}"#),
        ("Pod", r#"{"metadata": ["a"]}"#),
        ("Pod", r#"{"spec": {"containers": [["c"]]}}"#),
        (
            "Pod",
            r#"{"spec": {"tolerations": [["a", "Exists", "", ""]]}}"#,
        ),
        ("Pod", r#"{"spec": {"affinity": [{"required": null}]}}"#),
        ("Node", r#"{"status": {"images": [[["a:1"], 5]]}}"#),
        ("Deployment", r#"{"spec": {"template": {"spec": []}}}"#),
        ("Service", r#"{"spec": []}"#),
    ] {
        let stream = decode(kind, &mut serde_json::Deserializer::from_str(text));
        let stream = stream.unwrap_err().to_string();
        assert!(
            stream.starts_with("invalid type: sequence"),
            "{text}: {stream}"
        );
        let tree = decode(kind, serde_json::from_str::<Value>(text).unwrap());
        let tree = tree.unwrap_err().problem;
        assert!(tree.starts_with("invalid type: list"), "{text}: {tree}");
    }
}
