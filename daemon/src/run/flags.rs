//! The flags of kube-scheduler 1.37, and Berth's own.
//!
//! Mirrors `cmd/kube-scheduler/app/options`. `Option` marks what counts as given only when it stands
//! on the command line. Texts are read here, settled with the configuration in `settings`.

use berth_core::object::config::Duration;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::args::Fidelity;

/// Refusals of flags that upstream has and Berth gives no meaning, unless they say what it does.
const UNUSED: &str = "Berth does not have it; leave it out";

#[derive(Clone, Debug, Default, Args)]
pub struct RunArgs {
    /// KubeSchedulerConfiguration v1; flags that are deprecated are then without effect
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Write the configuration with all defaults to this file, and exit
    #[arg(long, value_name = "FILE")]
    pub write_config_to: Option<PathBuf>,
    /// Address of the API server; goes before the kubeconfig's
    #[arg(long, value_name = "URL")]
    pub master: Option<String>,
    #[command(flatten)]
    pub deprecated: DeprecatedArgs,
    #[command(flatten)]
    pub serving: ServingArgs,
    #[command(flatten)]
    pub authentication: AuthenticationArgs,
    #[command(flatten)]
    pub leader: LeaderArgs,
    #[command(flatten)]
    pub component: ComponentArgs,
    #[command(flatten)]
    pub own: OwnArgs,
}

#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Deprecated, without effect beside --config")]
pub struct DeprecatedArgs {
    /// kubeconfig file
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<String>,
    /// Content type of requests; JSON is sent whatever it says
    #[arg(long, value_name = "TYPE")]
    pub kube_api_content_type: Option<String>,
    /// Requests a second to the API server [default: 50]
    #[arg(long, value_name = "N")]
    pub kube_api_qps: Option<f32>,
    /// Requests at once beyond that [default: 100]
    #[arg(long, value_name = "N")]
    pub kube_api_burst: Option<i32>,
    /// Taken for the configuration's enableProfiling; nothing is profiled
    #[arg(long, value_name = "BOOL", value_parser = boolean, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub profiling: Option<bool>,
    /// Taken for enableContentionProfiling; nothing is profiled
    #[arg(long, value_name = "BOOL", value_parser = boolean, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub contention_profiling: Option<bool>,
    /// After how long a pod is tried without any event; takes effect beside --config too
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "5m")]
    pub pod_max_in_unschedulable_pods_duration: Duration,
}

#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Secure serving")]
pub struct ServingArgs {
    /// Address that is served on
    #[arg(long, value_name = "IP", default_value = "0.0.0.0")]
    pub bind_address: String,
    /// Port of HTTPS; 0 serves nothing
    #[arg(long, value_name = "PORT", default_value_t = 10259)]
    pub secure_port: u16,
    /// Folder of kube-scheduler.crt and kube-scheduler.key, made if they are not there
    #[arg(long, value_name = "FOLDER")]
    pub cert_dir: Option<PathBuf>,
    /// Certificate, with those that vouch for it
    #[arg(long, value_name = "FILE")]
    pub tls_cert_file: Option<PathBuf>,
    /// Its key
    #[arg(long, value_name = "FILE")]
    pub tls_private_key_file: Option<PathBuf>,
    /// Cipher suites, by Go's names
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub tls_cipher_suites: Vec<String>,
    /// VersionTLS12 or VersionTLS13
    #[arg(long, value_name = "VERSION")]
    pub tls_min_version: Option<String>,
    /// Only at its default
    #[arg(long, value_name = "NAMES", hide = true)]
    pub tls_curve_preferences: Option<String>,
    /// Only at its default
    #[arg(long, value_name = "FILES", hide = true)]
    pub tls_sni_cert_key: Option<String>,
    /// Only at its default
    #[arg(long, value_name = "N", hide = true)]
    pub http2_max_streams_per_connection: Option<String>,
    /// Serve HTTP/1.1 alone
    #[arg(long, value_name = "BOOL", value_parser = boolean, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false")]
    pub disable_http2_serving: bool,
    /// Only at its default
    #[arg(long, value_name = "BOOL", value_parser = boolean, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", hide = true)]
    pub permit_port_sharing: bool,
    /// Only at its default
    #[arg(long, value_name = "BOOL", value_parser = boolean, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", hide = true)]
    pub permit_address_sharing: bool,
}

#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Who may ask")]
pub struct AuthenticationArgs {
    /// kubeconfig that token reviews are sent with
    #[arg(long, value_name = "FILE")]
    pub authentication_kubeconfig: Option<String>,
    /// How long the answer of a token review is kept
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10s")]
    pub authentication_token_webhook_cache_ttl: Duration,
    /// Go on without the cluster's settings if they cannot be read
    #[arg(long, value_name = "BOOL", value_parser = boolean, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "true")]
    pub authentication_tolerate_lookup_failure: bool,
    /// Do not read the cluster's settings
    #[arg(long, value_name = "BOOL", value_parser = boolean, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false")]
    pub authentication_skip_lookup: bool,
    /// Certificates that vouch for those who ask
    #[arg(long, value_name = "FILE")]
    pub client_ca_file: Option<PathBuf>,
    /// Certificates that vouch for the front proxy
    #[arg(long, value_name = "FILE")]
    pub requestheader_client_ca_file: Option<PathBuf>,
    /// Names that the front proxy may have; any if none is given
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub requestheader_allowed_names: Vec<String>,
    /// Headers with the user's name
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "x-remote-user"
    )]
    pub requestheader_username_headers: Vec<String>,
    /// Headers with the user's uid
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub requestheader_uid_headers: Vec<String>,
    /// Headers with the user's groups
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "x-remote-group"
    )]
    pub requestheader_group_headers: Vec<String>,
    /// Headers with what else is known of the user begin so
    #[arg(
        long,
        value_name = "PREFIXES",
        value_delimiter = ',',
        default_value = "x-remote-extra-"
    )]
    pub requestheader_extra_headers_prefix: Vec<String>,
    /// kubeconfig that access reviews are sent with
    #[arg(long, value_name = "FILE")]
    pub authorization_kubeconfig: Option<String>,
    /// How long a yes is kept
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10s")]
    pub authorization_webhook_cache_authorized_ttl: Duration,
    /// How long a no is kept
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10s")]
    pub authorization_webhook_cache_unauthorized_ttl: Duration,
    /// Paths that anybody may read
    #[arg(
        long,
        value_name = "PATHS",
        value_delimiter = ',',
        default_value = "/healthz,/readyz,/livez"
    )]
    pub authorization_always_allow_paths: Vec<String>,
}

#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Leader election")]
#[expect(clippy::struct_field_names, reason = "the flags' own names")]
pub struct LeaderArgs {
    /// Lead only while holding a lease [default: true]
    #[arg(long, value_name = "BOOL", value_parser = boolean, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub leader_elect: Option<bool>,
    /// After so much silence others take over [default: 15s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub leader_elect_lease_duration: Option<Duration>,
    /// The leader gives up after so long without renewal [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub leader_elect_renew_deadline: Option<Duration>,
    /// Pause between tries [default: 2s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub leader_elect_retry_period: Option<Duration>,
    /// Kind of the lock [default: leases]
    #[arg(long, value_name = "KIND")]
    pub leader_elect_resource_lock: Option<String>,
    /// Name of the lock [default: kube-scheduler]
    #[arg(long, value_name = "NAME")]
    pub leader_elect_resource_name: Option<String>,
    /// Namespace of the lock [default: kube-system]
    #[arg(long, value_name = "NAME")]
    pub leader_elect_resource_namespace: Option<String>,
}

#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Features, metrics, logs")]
pub struct ComponentArgs {
    /// Feature gates, as A=true,B=false
    #[arg(long, value_name = "GATES", value_delimiter = ',')]
    pub feature_gates: Vec<String>,
    /// Only 1.37
    #[arg(long, value_name = "VERSION", hide = true)]
    pub emulated_version: Option<String>,
    /// Only 1.37 or 1.36
    #[arg(long, value_name = "VERSION", hide = true)]
    pub min_compatibility_version: Option<String>,
    /// Only at its default
    #[arg(long, value_name = "VERSION", hide = true)]
    pub show_hidden_metrics_for_version: Option<String>,
    /// Metrics that are not told
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub disabled_metrics: Vec<String>,
    /// Only at its default
    #[arg(long, value_name = "LABELS", hide = true)]
    pub allow_metric_labels: Option<String>,
    /// Only at its default
    #[arg(long, value_name = "FILE", hide = true)]
    pub allow_metric_labels_manifest: Option<String>,
    /// How much is logged: 0 little, 2 as clusters are usually run, 5 much
    #[arg(short = 'v', long = "v", value_name = "N", default_value_t = 0)]
    pub verbosity: i32,
    /// Only at its default
    #[arg(long, value_name = "PATTERNS", hide = true)]
    pub vmodule: Option<String>,
    /// text or json
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub logging_format: String,
    /// Lines are written at once whatever it says
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "5s", hide = true)]
    pub log_flush_frequency: Duration,
    /// Only at its default
    #[arg(long, value_name = "BOOL", value_parser = boolean, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", hide = true)]
    pub log_text_split_stream: bool,
    /// Only at its default
    #[arg(long, value_name = "BYTES", hide = true)]
    pub log_text_info_buffer_size: Option<String>,
    /// Only at its default
    #[arg(long, value_name = "BOOL", value_parser = boolean, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", hide = true)]
    pub log_json_split_stream: bool,
    /// Only at its default
    #[arg(long, value_name = "BYTES", hide = true)]
    pub log_json_info_buffer_size: Option<String>,
}

#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Berth's own")]
#[expect(clippy::struct_field_names, reason = "the flags' own names")]
pub struct OwnArgs {
    /// Look at every node, or search and break ties as kube-scheduler does
    #[arg(long, value_enum, default_value_t = Fidelity::Best, value_name = "FIDELITY")]
    pub berth_fidelity: Fidelity,
    /// Write nothing; judge what another scheduler binds
    #[arg(long, value_name = "BOOL", value_parser = boolean, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false")]
    pub berth_shadow: bool,
    /// Room for nodes [default: sized from the first list]
    #[arg(long, value_name = "N")]
    pub berth_capacity_nodes: Option<u32>,
    /// Room for pods [default: sized from the first list]
    #[arg(long, value_name = "N")]
    pub berth_capacity_pods: Option<u32>,
}

impl RunArgs {
    /// What is given but has no meaning here.
    ///
    /// # Errors
    /// The flag and why, in one line.
    pub fn refuse_unused(&self) -> Result<(), String> {
        let serving = &self.serving;
        let component = &self.component;
        let texts = [
            (
                "tls-curve-preferences",
                &serving.tls_curve_preferences,
                &[""][..],
            ),
            ("tls-sni-cert-key", &serving.tls_sni_cert_key, &["", "[]"]),
            (
                "http2-max-streams-per-connection",
                &serving.http2_max_streams_per_connection,
                &["0"],
            ),
            (
                "emulated-version",
                &component.emulated_version,
                &["", "1.37", "kube=1.37"],
            ),
            (
                "min-compatibility-version",
                &component.min_compatibility_version,
                &["", "1.36", "kube=1.36", "1.37", "kube=1.37"],
            ),
            (
                "show-hidden-metrics-for-version",
                &component.show_hidden_metrics_for_version,
                &[""],
            ),
            (
                "allow-metric-labels",
                &component.allow_metric_labels,
                &["", "[]"],
            ),
            (
                "allow-metric-labels-manifest",
                &component.allow_metric_labels_manifest,
                &[""],
            ),
            ("vmodule", &component.vmodule, &[""]),
            (
                "log-text-info-buffer-size",
                &component.log_text_info_buffer_size,
                &["0"],
            ),
            (
                "log-json-info-buffer-size",
                &component.log_json_info_buffer_size,
                &["0"],
            ),
        ];
        for (flag, given, allowed) in texts {
            if let Some(given) = given
                && !allowed.contains(&given.as_str())
            {
                return Err(format!("--{flag}={given}: {UNUSED}"));
            }
        }
        let switches = [
            ("permit-port-sharing", serving.permit_port_sharing),
            ("permit-address-sharing", serving.permit_address_sharing),
            ("log-text-split-stream", component.log_text_split_stream),
            ("log-json-split-stream", component.log_json_split_stream),
        ];
        for (flag, given) in switches {
            if given {
                return Err(format!("--{flag}: {UNUSED}"));
            }
        }
        match component.logging_format.as_str() {
            "text" | "json" => Ok(()),
            other => Err(format!("--logging-format={other}: expected text or json")),
        }
    }
}

/// Go's `strconv.ParseBool`.
fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(false),
        _ => Err("expected true or false".to_owned()),
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    Duration::parse(text).map_err(|error| format!("{error}; write for example 15s or 1m30s"))
}

/// The command line as clap reads it: called under the name kube-scheduler it is `berth run`, and in
/// names of `run`'s flags `_` stands for `-`.
pub fn normalize(mut args: Vec<OsString>) -> Vec<OsString> {
    let program = args.first().map(PathBuf::from);
    let name = program.as_deref().and_then(|path| path.file_stem());
    if name.is_some_and(|name| name == "kube-scheduler") {
        args.insert(1, OsString::from("run"));
    }
    if args.get(1).is_none_or(|command| command != "run") {
        return args;
    }
    args.into_iter().map(with_dashes).collect()
}

fn with_dashes(arg: OsString) -> OsString {
    let Some(text) = arg.to_str().filter(|text| text.starts_with("--")) else {
        return arg;
    };
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (text, None),
    };
    let name = name.replace('_', "-");
    OsString::from(value.map_or(name.clone(), |value| format!("{name}={value}")))
}

#[cfg(test)]
mod tests {
    use super::{RunArgs, normalize};
    use clap::Parser;
    use std::ffi::OsString;

    #[derive(Debug, Parser)]
    #[command(args_override_self = true)]
    struct Line {
        #[command(flatten)]
        run: RunArgs,
    }

    fn read(args: &[&str]) -> Result<RunArgs, String> {
        let line = std::iter::once("run").chain(args.iter().copied());
        let read = Line::try_parse_from(line).map_err(|error| error.to_string())?;
        read.run.refuse_unused()?;
        Ok(read.run)
    }

    #[test]
    fn flags_are_written_as_pflag_takes_them() {
        let args = [
            "--leader-elect=false",
            "--profiling",
            "-v",
            "4",
            "--kube-api-qps=20.5",
            "--feature-gates=A=true,B=false",
            "--leader-elect-lease-duration=1m30s",
            "--secure-port",
            "0",
            "--secure-port=10260",
        ];
        let run = read(&args).expect("flags");
        assert_eq!(run.leader.leader_elect, Some(false));
        assert_eq!(run.deprecated.profiling, Some(true));
        assert_eq!(run.component.verbosity, 4);
        assert_eq!(run.component.feature_gates, ["A=true", "B=false"]);
        assert_eq!(run.serving.secure_port, 10260);
        let lease = run.leader.leader_elect_lease_duration.expect("given");
        assert_eq!(lease.nanos(), 90_000_000_000);
    }

    #[test]
    fn what_has_no_meaning_here_is_taken_at_its_default_alone() {
        assert!(read(&["--vmodule=", "--emulated-version=1.37"]).is_ok());
        for (flag, told) in [
            ("--vmodule=a=4", "--vmodule=a=4: Berth does not have it"),
            (
                "--permit-port-sharing",
                "--permit-port-sharing: Berth does not have it",
            ),
            ("--logging-format=xml", "expected text or json"),
            ("--secure-port=65536", "65536"),
            ("--leader-elect=maybe", "expected true or false"),
            ("--leader-elect-retry-period=2", "missing unit"),
        ] {
            let error = read(&[flag]).expect_err(flag);
            assert!(error.contains(told), "{flag}: {error}");
        }
    }

    #[test]
    fn the_name_kube_scheduler_stands_for_run() {
        let line = |args: &[&str]| args.iter().map(OsString::from).collect::<Vec<_>>();
        let read = normalize(line(&[
            "/usr/bin/kube-scheduler",
            "--leader_elect=false",
            "a_b",
        ]));
        assert_eq!(
            read,
            line(&[
                "/usr/bin/kube-scheduler",
                "run",
                "--leader-elect=false",
                "a_b"
            ])
        );
        let other = line(&["berth", "simulate", "--skip_invalid"]);
        assert_eq!(normalize(other.clone()), other);
    }
}
