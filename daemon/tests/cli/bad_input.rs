//! Bad input: what is told, and that nothing is placed.

use crate::run::{berth, simulate_text};

/// Row, file name, its text, what is told.
type Row<'a> = (&'a str, &'a str, &'a [u8], &'a str);

/// Each of them alone ends the command with 2 and these words.
const ROWS: [Row<'_>; 39] = [
    ("B52", "empty.yaml", b"", "no objects in "),
    ("B52", "comments.yaml", b"# one\n# two\n", "no objects in "),
    ("B52", "marker.yaml", b"---\n---\n", "no objects in "),
    (
        "B53",
        "cut.json",
        b"{\"apiVersion\":\"v1\",\n\"kind\":\"Pod\"",
        "cut.json:2 (document 1): column 12: EOF",
    ),
    (
        "B53",
        "comma.json",
        b"{\"apiVersion\":\"v1\",\n\"kind\":\"Pod\",\n}",
        "comma.json:3 (document 1): ",
    ),
    (
        "B53",
        "tab.yaml",
        b"apiVersion: v1\nmetadata:\n\tname: a\n",
        "tab.yaml:3 (document 1): column 2: tab",
    ),
    ("B53", "utf16.yaml", b"\xff\xfea\x00", "utf16.yaml: text is UTF-16"),
    ("B53", "nul.yaml", b"a: b\nc: \x00\n", "nul.yaml:2: NUL"),
    ("B53", "latin1.yaml", b"a: b\nc: \xe4\n", "latin1.yaml:2: text is not UTF-8"),
    (
        "B54",
        "bomb.yaml",
        b"a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n\
          c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n\
          e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n\
          g: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f,*f]\nh: &h [*g,*g,*g,*g,*g,*g,*g,*g,*g,*g]\n",
        "anchors expand to more than is read",
    ),
    (
        "B55",
        "duplicate.yaml",
        b"apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {x: a, x: b}}\n",
        "duplicate.yaml:3 (document 1): column 36: duplicate mapping key `x`",
    ),
    (
        "B55",
        "duplicate.json",
        b"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\n\
          \"labels\":{\"x\":\"a\",\n\"x\":\"b\"}}}",
        "duplicate.json:3 (document 1): Pod a: duplicate key \"x\"",
    ),
    (
        "B56",
        "typo.yaml",
        b"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers: [{name: c}]\n\
          \x20 tolerations:\n  - key: a\n    opreator: Exists\n",
        "typo.yaml:8 (document 1): Pod a: spec.tolerations[0].opreator: unknown field, expected `key`, `operator`",
    ),
    (
        "B54",
        "boolean.yaml",
        b"apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  labels:\n    x: yes\n",
        "boolean.yaml:6 (document 1): Pod a: metadata.labels.x: ",
    ),
    (
        "B57",
        "kind.yaml",
        b"apiVersion: v1\nmetadata: {name: a}\n",
        "kind.yaml:1 (document 1): a: kind: is missing",
    ),
    (
        "B57",
        "version.yaml",
        b"kind: Pod\nmetadata: {name: a, namespace: b}\n",
        "version.yaml:1 (document 1): Pod b/a: apiVersion: is missing",
    ),
    (
        "B57",
        "beta.yaml",
        b"apiVersion: apps/v1beta1\nkind: Deployment\n",
        "beta.yaml:1 (document 1): Deployment: apiVersion: \"apps/v1beta1\"",
    ),
    (
        "B54",
        "binary.yaml",
        b"apiVersion: v1\nkind: Node\nmetadata:\n  name: a\n  labels: {x: !!binary \"?\"}\n",
        "binary.yaml:5 (document 1): column ",
    ),
    (
        "B54",
        "latin1.yaml",
        b"apiVersion: v1\nkind: Node\nmetadata:\n  name: a\n  labels: {x: !!binary 5A==}\n",
        "latin1.yaml:5 (document 1): column ",
    ),
    (
        "B57",
        "foreign.yaml",
        b"apiVersion: v1\nkind: PodList\nitems:\n- kind: Node\n  metadata: {name: a}\n",
        "foreign.yaml:4 (document 1, item 1): Node a: kind: \"Node\" in a list of Pod",
    ),
    (
        "B57",
        "foreign.json",
        b"{\"apiVersion\":\"v1\",\"kind\":\"PodList\",\"items\":[\n{\"apiVersion\":\"v2\"}]}",
        "foreign.json:2 (document 1, item 1): Pod: apiVersion: \"v2\" in a list of v1",
    ),
    (
        "B57",
        "shape.json",
        b"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\n\"spec\":[]}",
        "shape.json:2 (document 1): Pod: spec: invalid type: list, expected a map",
    ),
    ("B57", "text.yaml", b"just text\n", "text.yaml:1 (document 1): expected an object"),
    ("B57", "list.yaml", b"- a\n- b\n", "list.yaml:1 (document 1): expected an object"),
    (
        "B57",
        "number.json",
        b"{\"apiVersion\":\"v1\",\n\"kind\":7}\n{\"kind\":\"Pod\"}",
        "number.json:2 (document 1): column 8: invalid type",
    ),
    (
        "B57",
        "number.json",
        b"{\"apiVersion\":\"v1\",\n\"kind\":7}\n{\"kind\":\"Pod\"}",
        "number.json:3 (document 2): Pod: apiVersion: is missing",
    ),
    (
        "B57",
        "item.json",
        b"{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n7]}",
        "item.json:2 (document 1, item 1): expected an object",
    ),
    (
        "B11",
        "quantity.json",
        b"{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[\n\
          {\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\"namespace\":\"web\"},\n\
          \"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\n\
          \"cpu\":\"2 cores\"}}}]}}]}",
        "quantity.json:4 (document 1, item 1): Pod web/a: \
         spec.containers[0].resources.requests.cpu: \"2 cores\"",
    ),
    (
        "B11",
        "quantity.yaml",
        b"apiVersion: v1\nkind: PodList\nitems:\n- metadata: {name: a, namespace: web}\n\
          \x20 spec:\n    containers:\n    - name: c\n      resources:\n        limits:\n\
          \x20         example.com/gpu: two\n",
        "quantity.yaml:10 (document 1, item 1): Pod web/a: \
         spec.containers[0].resources.limits[example.com/gpu]: \"two\"",
    ),
    (
        "B45",
        "twice.yaml",
        b"apiVersion: v1\nkind: Node\nmetadata: {name: a}\n---\n\
          apiVersion: v1\nkind: Node\nmetadata: {name: a}\n",
        "twice.yaml:5 (document 2): Node a: metadata.name: ",
    ),
    (
        "B50",
        "name.yaml",
        b"apiVersion: v1\nkind: Node\nmetadata: {name: \"a\\e[31m\"}\n",
        "name.yaml:1 (document 1): Node a\\u{1b}[31m: metadata.name: ",
    ),
    (
        "B62",
        "secret.yaml",
        b"apiVersion: v1\nkind: Secret\nstringData:\n  token: planted\n   more: planted\n",
        "secret.yaml:5 (document 1): ",
    ),
    (
        "B54",
        "number.yaml",
        b"apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {x: 0755}}\n",
        "number.yaml:3 (document 1): Pod a: metadata.labels.x: ",
    ),
    (
        "B56",
        "affinity.yaml",
        b"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers: [{name: c}]\n\
          \x20 affinity:\n    nodeAfinity: {}\n",
        "affinity.yaml:7 (document 1): Pod a: spec.affinity.nodeAfinity: unknown field",
    ),
    (
        "B56",
        "resources.json",
        b"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"},\"spec\":{\n\
          \"containers\":[{\"name\":\"c\",\"resources\":{\n\"request\":{\"cpu\":1}}}]}}",
        "resources.json:3 (document 1): Pod a: spec.containers[0].resources.request: unknown field",
    ),
    (
        "B59",
        "negative.yaml",
        b"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  replicas: -1\n\
          \x20 selector: {matchLabels: {a: b}}\n  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c}]}}\n",
        "Deployment default/a: spec.replicas: -1 must be 0 or more",
    ),
    (
        "B59",
        "beyond.yaml",
        b"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  replicas: 2147483648\n",
        "beyond.yaml:5 (document 1): Deployment a: spec.replicas: invalid value: integer `2147483648`",
    ),
    (
        "B59",
        "billion.yaml",
        b"apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec:\n  parallelism: 1000000000\n\
          \x20 completions: 1000000000\n  template: {spec: {restartPolicy: Never, containers: [{name: c}]}}\n",
        "Job default/a: spec: makes 1000000000 pods, 1000000000 in all; at most 300000 are made",
    ),
    (
        "B59",
        "template.yaml",
        b"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: a}\nspec: {replicas: 1}\n",
        "StatefulSet default/a: spec.template: is missing",
    ),
];

/// The rows of a number.
fn check(row: &str) {
    let mut count = 0;
    for (_, name, text, told) in ROWS.iter().filter(|(own, ..)| *own == row) {
        count += 1;
        let run = simulate_text(name, text, &[]);
        assert_eq!(run.code, 2, "{name}: {}", run.stderr);
        assert_eq!(run.stdout, "", "{name}");
        assert!(run.stderr.contains(told), "{name}: {}", run.stderr);
        assert!(!run.stderr.contains("planted"), "{name}: {}", run.stderr);
        assert!(!run.stderr.contains('\u{1b}'), "{name}: {}", run.stderr);
    }
    assert!(count > 0, "{row} has no rows");
}

macro_rules! rows {
    ($($test:ident $row:literal;)+) => {
        $(#[test] fn $test() { check($row); })+

        #[test]
        fn every_row_has_a_test() {
            for (row, name, ..) in ROWS {
                assert!([$($row),+].contains(&row), "{row}: {name}");
            }
        }
    };
}

rows! {
    b11_quantities_are_told_with_their_line "B11";
    b45_one_name_twice "B45";
    b50_terminal_escapes_are_escaped "B50";
    b52_files_without_objects "B52";
    b53_texts_that_are_no_json_or_yaml "B53";
    b54_anchors_and_scalars_of_yaml "B54";
    b55_keys_that_stand_twice "B55";
    b56_misspelt_fields "B56";
    b57_documents_that_are_no_objects "B57";
    b59_workloads_that_make_no_sense "B59";
    b62_a_secret_is_never_echoed "B62";
}

#[test]
fn b52_b53_b54_b57_odd_but_right_input_is_taken() {
    for (name, text, nodes) in [
        (
            "list.json",
            "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[]}",
            0,
        ),
        ("null.yaml", "apiVersion: v1\nkind: List\nitems: null\n", 0),
        (
            "bom.json",
            "\u{feff}{\"apiVersion\":\"v1\",\"kind\":\"Node\",\r\n\"metadata\":{\"name\":\"a\"}}\r\n",
            1,
        ),
        (
            "bom.yaml",
            "\u{feff}apiVersion: v1\r\nkind: Node\r\nmetadata:\r\n  name: a\r\n",
            1,
        ),
        (
            "two.json",
            "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"a\"}} {\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"b\"}}",
            2,
        ),
        (
            "marked.json",
            "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"a\"}}\n---\n{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"b\"}}",
            2,
        ),
        (
            "nested.yaml",
            "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: List\n  items:\n  - {apiVersion: v1, kind: Node, metadata: {name: a}}\n",
            1,
        ),
        (
            "typed.json",
            "{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"items\":[{\"metadata\":{\"name\":\"a\"}}]}",
            1,
        ),
        (
            "directive.yaml",
            "%YAML 1.1\n---\n{apiVersion: v1, kind: Node, metadata: {name: a}}\n...\n",
            1,
        ),
        (
            "merge.yaml",
            "apiVersion: v1\nkind: Node\nmetadata: {name: a, labels: {<<: {x: a}, y: b}}\n",
            1,
        ),
        // A text that is given as base64, as to kubectl.
        (
            "binary.yaml",
            "apiVersion: v1\nkind: Node\nmetadata: {name: !!binary YQ==, labels: {x: !!binary Yg==}}\n",
            1,
        ),
        (
            "hash.yaml",
            "apiVersion: v1\nkind: Node\nmetadata: {name: a, labels: {hash: 2e848593}}\n",
            1,
        ),
        (
            "other.yaml",
            "{apiVersion: v1, kind: Node, metadata: {name: a}}\n---\n{apiVersion: v1, kind: Secret}\n---\n{apiVersion: x.io/v1, kind: Own}\n",
            1,
        ),
    ] {
        let run = simulate_text(name, text, &[]);
        assert_eq!(run.code, 0, "{name}: {}", run.stderr);
        let told = format!("0 of 0 pods placed on {nodes} nodes; 0 pending\n");
        assert!(run.stdout.starts_with(&told), "{name}: {}", run.stdout);
    }
}

#[test]
fn b58_kinds_that_are_not_read_are_counted() {
    let text = "{apiVersion: v1, kind: Secret}\n---\n{apiVersion: v1, kind: Secret}\n---\n\
                {apiVersion: x.io/v1, kind: Pod}\n---\n{apiVersion: v1, kind: List}\n";
    let run = simulate_text("other.yaml", text, &[]);
    assert_eq!(
        run.stderr,
        "note: objects that scheduling does not read: Pod 1, Secret 2\n"
    );
}

/// A node, a bad pod, a pod that fits.
const HALF_BAD: &str = "
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: 1, memory: 1Gi, pods: 10}}
---
apiVersion: v1
kind: Pod
metadata: {name: bad}
spec: {containers: [{name: c, resources: {requests: {cpu: some}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: good}
spec: {containers: [{name: c}]}
";

#[test]
fn bad_objects_can_be_left_out_aloud() {
    let run = simulate_text("half.yaml", HALF_BAD, &["--skip-invalid", "-o", "csv"]);
    assert_eq!(
        run.stdout,
        "pod,result,node,message\ndefault/good,scheduled,n1,\n"
    );
    assert!(
        run.stderr
            .starts_with("left out: half.yaml:10 (document 2): Pod bad: "),
        "{}",
        run.stderr
    );
    assert_eq!(run.code, 0);
}

#[test]
fn leaving_out_everything_that_could_be_placed_ends_with_2() {
    let node_is_full = HALF_BAD.replace("pods: 10", "pods: 0");
    let all_are_bad = HALF_BAD.replace("[{name: c}]", "[]");
    for text in [node_is_full, all_are_bad] {
        let run = simulate_text("half.yaml", text, &["--skip-invalid"]);
        assert_eq!(run.code, 2, "{}", run.stdout);
    }
}

#[test]
fn b61_one_bad_object_does_not_hide_the_next_and_a_thousand_are_counted() {
    let documents: Vec<_> = (0..1000)
        .map(|n| format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: p{n}}}\n"))
        .collect();
    let run = simulate_text("bad.yaml", documents.join("---\n"), &[]);
    assert_eq!(run.code, 2);
    let lines: Vec<_> = run.stderr.lines().collect();
    assert_eq!(lines.len(), 21, "{}", run.stderr);
    assert!(
        lines[19].contains("p19: spec.containers: "),
        "{}",
        lines[19]
    );
    assert_eq!(lines[20], "error: ... and 980 more");
}

#[test]
fn b54_deep_nesting_is_refused_or_skipped_but_never_a_crash() {
    let depth = 100_000;
    let flow = format!("a: {}{}", "[".repeat(depth), "]".repeat(depth));
    let block: Vec<_> = (0..2_000).map(|n| " ".repeat(n) + "a:").collect();
    let block = block.join("\n");
    let json = format!(
        "{{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{}1{}}}",
        "{\"a\":".repeat(depth),
        "}".repeat(depth)
    );
    for (name, text) in [
        ("flow.yaml", flow),
        ("block.yaml", block),
        ("deep.json", json),
    ] {
        let run = simulate_text(name, text, &[]);
        assert_eq!(run.code, 2, "{name}: {}", run.stderr);
        assert!(
            run.stderr.starts_with(&format!("error: {name}:")),
            "{}",
            run.stderr
        );
    }
}

#[test]
fn b60_what_cannot_be_read_is_named() {
    let run = berth(&[
        "simulate",
        "-f",
        "absent.yaml",
        "-f",
        "cluster.yaml",
        "-f",
        "gone/",
    ]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.contains("error: absent.yaml: "),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("error: gone/: "), "{}", run.stderr);
    let run = berth(&["simulate", "-f", "-", "-f", "-"]);
    assert!(
        run.stderr.contains("stdin can be read only once"),
        "{}",
        run.stderr
    );
    assert_eq!(run.code, 2);
}

#[test]
#[cfg(unix)]
fn b60_devices_links_and_folders_that_do_not_end_are_refused() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    std::fs::create_dir_all(path("cycle/below")).expect("folders are made");
    symlink("..", path("cycle/below/up")).expect("a link is made");
    symlink("nowhere", path("dangling.yaml")).expect("a link is made");
    let large = std::fs::File::create(path("large.yaml")).expect("a file is made");
    large.set_len(10 << 30).expect("a hole takes no room");
    std::fs::create_dir(path("nothing")).expect("a folder is made");
    for (file, told) in [
        (path("cycle"), "the folder contains itself"),
        (path("dangling.yaml"), "dangling.yaml: "),
        (path("large.yaml"), "more than 2048 MiB"),
        (path("nothing"), "no objects in "),
        ("/dev/zero".into(), "/dev/zero:1: NUL byte"),
    ] {
        let file = file.to_str().expect("the path is UTF-8");
        let run = berth(&["simulate", "-f", file]);
        assert_eq!(run.code, 2, "{file}");
        assert!(run.stderr.contains(told), "{file}: {}", run.stderr);
    }
}

/// Its reading fails, whoever asks.
#[test]
#[cfg(target_os = "linux")]
fn b60_a_file_that_cannot_be_read_is_named() {
    let run = berth(&["simulate", "-f", "/proc/self/mem"]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr.starts_with("error: /proc/self/mem: "),
        "{}",
        run.stderr
    );
    let run = berth(&["config", "check", "--config", "/proc/self/mem"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("/proc/self/mem: "), "{}", run.stderr);
}

#[test]
#[cfg(unix)]
fn b60_a_file_without_permission_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("closed.yaml");
    std::fs::write(&path, "a: b").expect("a file is written");
    let nobody = std::fs::Permissions::from_mode(0o000);
    std::fs::set_permissions(&path, nobody).expect("permissions are set");
    if std::fs::read(&path).is_ok() {
        // Of root nothing is kept.
        return;
    }
    let run = berth(&["simulate", "-f", path.to_str().expect("the path is UTF-8")]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("closed.yaml: "), "{}", run.stderr);
}

/// As `-f <(kubectl get ..)` makes one.
#[test]
#[cfg(unix)]
fn b60_a_pipe_is_read_when_it_is_named_and_refused_in_a_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("pipe.yaml");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.expect("mkfifo runs").success());

    let in_folder = folder.path().to_str().expect("the path is UTF-8");
    let run = berth(&["simulate", "-f", in_folder]);
    assert_eq!(run.code, 2);
    assert!(
        run.stderr
            .contains("pipe.yaml: is no file; name it with -f"),
        "{}",
        run.stderr
    );

    let file = path.to_str().expect("the path is UTF-8").to_owned();
    let writer = std::thread::spawn(move || std::fs::write(path, HALF_BAD));
    let run = berth(&["simulate", "-f", &file, "--skip-invalid", "-o", "csv"]);
    writer.join().expect("no panic").expect("the pipe is read");
    assert_eq!(
        run.stdout,
        "pod,result,node,message\ndefault/good,scheduled,n1,\n"
    );
}

#[test]
fn a_folder_is_read_in_the_order_of_its_names_without_hidden_and_foreign_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let node = |name: &str| format!("{{apiVersion: v1, kind: Node, metadata: {{name: {name}}}}}");
    for (file, text) in [
        ("b.yaml", node("second")),
        ("a.yml", node("first")),
        (
            "c/d.json",
            r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"third"}}"#.to_owned(),
        ),
        (".hidden.yaml", node("hidden")),
        ("notes.txt", "no YAML: [".to_owned()),
    ] {
        let path = folder.path().join(file);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("folders are made");
        std::fs::write(path, text).expect("a file is written");
    }
    let folder = folder.path().to_str().expect("the path is UTF-8");
    let run = berth(&["simulate", "-f", folder, "-o", "json"]);
    let document: serde_json::Value = serde_json::from_str(&run.stdout).expect("stdout is JSON");
    let nodes = document["nodes"].as_array().expect("nodes are a list");
    let names: Vec<_> = nodes.iter().map(|node| &node["name"]).collect();
    assert_eq!(names, ["first", "second", "third"]);
}
