//! What stops `berth run` at its start: one clear line, and kube-scheduler's exit code.
//!
//! No API server is needed: a start that is refused asks none.

use berth_test_support::command::berth;
use std::path::Path;
use std::process::Output;
use tempfile::TempDir;

fn run(args: &[&str]) -> (i32, String) {
    let mut command = berth();
    command.arg("run").args(args);
    command.env_remove("KUBERNETES_SERVICE_HOST");
    told(&command.output().expect("the command runs"))
}

fn told(output: &Output) -> (i32, String) {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code().unwrap_or(-1), text)
}

fn write(folder: &TempDir, name: &str, text: &str) -> String {
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("a file is written");
    path.display().to_string()
}

fn config(folder: &TempDir, name: &str, fields: &str) -> String {
    let head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
    write(folder, name, &format!("{head}{fields}"))
}

const KUBECONFIG: &str = "apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: \"http://127.0.0.1:1\"}}]
users: [{name: u, user: {}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
";

#[test]
fn bad_flags_end_with_code_1_and_name_the_flag() {
    for (flags, expected) in [
        (&["--no-such-flag"][..], "--no-such-flag"),
        (&["pod"], "pod"),
        (&["--secure-port=99999"], "99999"),
        (&["--leader-elect=maybe"], "expected true or false"),
        (&["--leader-elect-lease-duration=15"], "missing unit"),
        (
            &["--feature-gates=NoSuchGate=true"],
            "unrecognized feature gate",
        ),
        (&["--feature-gates=GenericWorkload=true"], "GenericWorkload"),
        (
            &["--feature-gates=NodeDeclaredFeatures=false"],
            "locked to true",
        ),
        (&["--vmodule=queue=5"], "--vmodule=queue=5"),
        (&["--emulated-version=1.35"], "--emulated-version=1.35"),
        (&["--logging-format=xml"], "expected text or json"),
        (&["--bind-address=here"], "--bind-address=here"),
        (&["--tls-cert-file=a.crt"], "go together"),
        (&["--master=10.0.0.1"], "--master=10.0.0.1"),
        (&["--kubeconfig=/no/such/file"], "/no/such/file"),
        (&[], "no --kubeconfig"),
    ] {
        let (code, told) = run(flags);
        assert_eq!(code, 1, "{flags:?}: {told}");
        assert!(told.contains(expected), "{flags:?}: {told}");
    }
}

#[test]
fn help_and_version_are_no_errors() {
    assert_eq!(run(&["--help"]).0, 0);
    assert_eq!(run(&["--version"]).0, 0);
}

#[test]
fn a_bad_configuration_ends_with_code_1_and_names_the_field() {
    let folder = TempDir::new().expect("a folder");
    for (name, fields, expected) in [
        ("a.yaml", "parallelism: 0\n", "parallelism"),
        ("b.yaml", "nonsense: 1\n", "nonsense"),
        (
            "c.yaml",
            "podInitialBackoffSeconds: 0\n",
            "podInitialBackoffSeconds",
        ),
        (
            "d.yaml",
            "leaderElection: {leaseDuration: 10s, renewDeadline: 10s}\n",
            "leaseDuration",
        ),
        (
            "e.yaml",
            "leaderElection: {resourceLock: configmaps}\n",
            "resourceLock",
        ),
        ("f.yaml", "profiles: [{}, {}]\n", "schedulerName"),
        (
            "g.yaml",
            "profiles: [{plugins: {filter: {enabled: [{name: NoSuch}]}}}]\n",
            "NoSuch",
        ),
        (
            "h.yaml",
            "extenders: [{urlPrefix: \"http://127.0.0.1:1\", prioritizeVerb: score}]\n",
            "extenders[0].weight",
        ),
    ] {
        let file = config(&folder, name, fields);
        let (code, told) = run(&["--config", &file]);
        assert_eq!(code, 1, "{fields}: {told}");
        assert!(told.contains(expected), "{fields}: {told}");
    }
    for (file, expected) in [
        ("/no/such/config.yaml", "/no/such/config.yaml"),
        (&folder.path().display().to_string(), "directory"),
    ] {
        let (code, told) = run(&["--config", file]);
        assert_eq!(code, 1, "{told}");
        assert!(told.contains(expected), "{told}");
    }
    // What validation lets through, and the election does not.
    let kubeconfig = write(&folder, "kubeconfig", KUBECONFIG);
    let flags = [
        "--kubeconfig",
        &kubeconfig,
        "--leader-elect-renew-deadline=2s",
        "--leader-elect-retry-period=2s",
    ];
    let (code, told) = run(&flags);
    assert_eq!(code, 1, "{told}");
    assert!(
        told.contains("renewDeadline must be greater than retryPeriod*JitterFactor"),
        "{told}"
    );
}

#[test]
fn extenders_whose_certificates_are_of_no_use_are_refused_and_unchecked_ones_told() {
    let folder = TempDir::new().expect("a folder");
    let kubeconfig = write(&folder, "kubeconfig", KUBECONFIG);
    let empty = write(&folder, "empty.crt", "no certificate\n");
    let written = folder.path().join("written.yaml").display().to_string();
    let with = |name: &str, extender: &str, flags: &[&str]| {
        let fields = format!(
            "clientConnection: {{kubeconfig: {kubeconfig}}}\nleaderElection: {{leaderElect: false}}\n\
             extenders: [{{urlPrefix: \"https://127.0.0.1:1\", filterVerb: f, {extender}}}]\n"
        );
        let file = config(&folder, name, &fields);
        run(&[&["--config", &file], flags].concat())
    };
    let missing = "enableHTTPS: true, tlsConfig: {caFile: /no/ca.crt}";
    let nothing = format!("enableHTTPS: true, tlsConfig: {{caFile: {empty}}}");
    let both = format!("tlsConfig: {{insecure: true, caFile: {empty}}}");
    let no_key = format!("enableHTTPS: true, tlsConfig: {{certFile: {empty}}}");
    for (name, extender, expected) in [
        ("missing.yaml", missing, "/no/ca.crt"),
        ("nothing.yaml", &nothing, "unable to load root certificates"),
        ("both.yaml", &both, "with the insecure flag is not allowed"),
        ("no-key.yaml", &no_key, "https://127.0.0.1:1"),
    ] {
        let (code, told) = with(name, extender, &[]);
        assert_eq!(code, 1, "{extender}: {told}");
        assert!(told.contains(expected), "{extender}: {told}");
    }
    for (name, extender) in [
        ("open.yaml", "enableHTTPS: true"),
        ("insecure.yaml", "tlsConfig: {insecure: true}"),
    ] {
        let (code, told) = with(name, extender, &["--write-config-to", &written]);
        assert_eq!(code, 0, "{extender}: {told}");
        let expected = "the certificate of the extender https://127.0.0.1:1 is not checked";
        assert!(told.contains(expected), "{extender}: {told}");
    }
}

#[test]
fn a_shadow_does_not_start_beside_extenders() {
    let folder = TempDir::new().expect("a folder");
    let kubeconfig = write(&folder, "kubeconfig", KUBECONFIG);
    let fields = format!(
        "clientConnection: {{kubeconfig: {kubeconfig}}}\n\
         extenders: [{{urlPrefix: \"http://127.0.0.1:1\", filterVerb: f}}]\n"
    );
    let file = config(&folder, "extended.yaml", &fields);
    let (code, told) = run(&["--config", &file, "--berth-shadow"]);
    assert_eq!(code, 1, "{told}");
    assert!(told.contains("--berth-shadow asks no extenders"), "{told}");
}

#[test]
fn a_kubeconfig_that_checks_no_certificate_is_told() {
    let folder = TempDir::new().expect("a folder");
    let server = "server: \"https://127.0.0.1:1\", insecure-skip-tls-verify: true";
    let open = KUBECONFIG.replace("server: \"http://127.0.0.1:1\"", server);
    let kubeconfig = write(&folder, "kubeconfig", &open);
    let written = folder.path().join("written.yaml").display().to_string();
    let (code, told) = run(&["--kubeconfig", &kubeconfig, "--write-config-to", &written]);
    assert_eq!(code, 0, "{told}");
    let expected = "the certificate of the API server https://127.0.0.1:1/ is not checked";
    assert!(told.contains(expected), "{told}");
}

#[test]
fn a_bad_kubeconfig_ends_with_code_1_and_names_the_file() {
    let folder = TempDir::new().expect("a folder");
    let no_context = KUBECONFIG.replace("current-context: x\n", "");
    let no_key = KUBECONFIG.replace(
        "user: {}",
        "user: {client-certificate: /no/a.crt, client-key: /no/a.key}",
    );
    for (name, text) in [
        ("broken", "clusters: ["),
        ("no-context", &no_context),
        ("no-key", &no_key),
    ] {
        let file = write(&folder, name, text);
        let (code, told) = run(&["--kubeconfig", &file, "--leader-elect=false"]);
        assert_eq!(code, 1, "{name}: {told}");
        assert_eq!(told.trim().lines().count(), 1, "{name}: {told}");
    }
}

#[test]
fn the_effective_configuration_is_written_without_asking_anybody() {
    let folder = TempDir::new().expect("a folder");
    let kubeconfig = write(&folder, "kubeconfig", KUBECONFIG);
    let given = config(
        &folder,
        "given.yaml",
        &format!(
            "clientConnection: {{kubeconfig: {kubeconfig}}}\nprofiles: [{{schedulerName: mine}}]\n"
        ),
    );
    let written = folder.path().join("written.yaml").display().to_string();
    let flags = [
        "--config",
        &given,
        "--write-config-to",
        &written,
        "--leader-elect=false",
    ];
    let (code, told) = run(&flags);
    assert_eq!(code, 0, "{told}");
    let text = std::fs::read_to_string(&written).expect("it is written");
    for line in [
        "schedulerName: mine",
        "leaderElect: false",
        "qps: 50",
        "podMaxBackoffSeconds: 10",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    // It is a configuration in its turn.
    let mut check = berth();
    check.args(["config", "check", "--config", &written]);
    let (code, told) = self::told(&check.output().expect("the command runs"));
    assert_eq!(code, 0, "{told}");
    assert!(Path::new(&written).exists());
}
