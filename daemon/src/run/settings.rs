//! What flags and configuration come to.
//!
//! Mirrors `Options.ApplyTo` and `Options.Validate` of `cmd/kube-scheduler/app/options/options.go`.

use super::flags::{LeaderArgs, RunArgs};
use super::gates::Gates;
use crate::args::Fidelity;
use crate::config::load;
use crate::failure::Failure;
use berth_core::object::config::{ConfigError, KubeSchedulerConfiguration};
use berth_core::{Capacities, Options};

/// Everything that `run` was told, defaults filled in, checked.
#[derive(Clone, Debug)]
pub struct Settings {
    /// As it was given, without defaults: plugin sets are resolved from it.
    pub given: KubeSchedulerConfiguration,
    /// With every default.
    pub config: KubeSchedulerConfiguration,
    pub args: RunArgs,
    pub gates: Gates,
    /// What the user should know, a sentence each.
    pub notes: Vec<String>,
}

impl Settings {
    /// Reads the configuration's file, puts the flags on top, and checks all of it.
    ///
    /// # Errors
    /// Everything that is wrong with it, named by flag, or by file and field.
    pub fn new(args: RunArgs) -> Result<Self, Failure> {
        args.refuse_unused().map_err(Failure::Usage)?;
        let gates = Gates::parse(&args.component.feature_gates).map_err(Failure::Usage)?;
        let mut notes = Vec::new();
        let mut given = load(args.config.as_deref(), true)?;
        if args.config.is_none() {
            apply_deprecated(&args, &mut given);
        } else if let Some(flag) = given_deprecated(&args) {
            notes.push(format!(
                "--{flag} has no effect beside --config; write it in the configuration"
            ));
        }
        apply_leader_election(&args.leader, &mut given);
        let config = given.clone().defaulted();
        refuse(&config.validate())?;
        given
            .profiles_beside_extenders()
            .map_err(|errors| Failure::Usage(errors.to_string()))?;
        let serving = &args.serving;
        if serving.tls_cert_file.is_some() != serving.tls_private_key_file.is_some() {
            let message = "--tls-cert-file and --tls-private-key-file go together; give both";
            return Err(Failure::Usage(message.to_owned()));
        }
        if serving.bind_address.parse::<std::net::IpAddr>().is_err() {
            let message = format!(
                "--bind-address={}: expected an IP address",
                serving.bind_address
            );
            return Err(Failure::Usage(message));
        }
        if args.own.berth_shadow && !config.extenders.is_empty() {
            // What asking does on their side nobody knows, and they would be asked twice about each pod.
            let message = "--berth-shadow asks no extenders, so it cannot judge choices that they take part \
                           in; take them out of the configuration to judge by all else";
            return Err(Failure::Usage(message.to_owned()));
        }
        if args.own.berth_fidelity == Fidelity::Best && says_percentage(&config) {
            notes.push(
                "percentageOfNodesToScore has no effect while every node is looked at; \
                 --berth-fidelity=exact searches as kube-scheduler does"
                    .to_owned(),
            );
        }
        notes.extend(super::extender::notes(&config.extenders));
        Ok(Self {
            given,
            config,
            args,
            gates,
            notes,
        })
    }

    /// The core's choices.
    pub fn options(&self) -> Options {
        let longest_wait = self.args.deprecated.pod_max_in_unschedulable_pods_duration;
        Options {
            fidelity: self.args.own.berth_fidelity.into(),
            longest_wait: u64::try_from(longest_wait.nanos()).ok(),
            extenders: true,
            batching: (!self.gates.is_on("OpportunisticBatching")).then_some(false),
            ..Options::default()
        }
    }

    /// Room for a cluster of this many nodes and pods, or what flags say instead.
    pub fn capacities(&self, nodes: usize, pods: usize) -> Capacities {
        let roomy = |count: usize, spare: usize| {
            let room = count.saturating_add(count / 4).saturating_add(spare);
            u32::try_from(room).unwrap_or(u32::MAX)
        };
        let own = &self.args.own;
        let nodes = own.berth_capacity_nodes.unwrap_or(roomy(nodes, 64));
        let pods = own.berth_capacity_pods.unwrap_or(roomy(pods, 1024));
        Capacities::for_size(nodes, pods)
    }

    /// What `/flagz` shows: each flag that says something, and gates that were set.
    pub fn flag_page(&self) -> String {
        let mut page = String::from("\nkube-scheduler flagz\n\n");
        let args = format!("{:#?}", self.args);
        page.push_str(&args);
        page.push('\n');
        page
    }

    /// Whether tables may be made larger than flags say.
    pub const fn grows(&self) -> bool {
        let own = &self.args.own;
        own.berth_capacity_nodes.is_none() && own.berth_capacity_pods.is_none()
    }
}

/// All errors of a configuration, one a line.
fn refuse(errors: &[ConfigError]) -> Result<(), Failure> {
    if errors.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
    Err(Failure::Usage(lines.join("; ")))
}

fn says_percentage(config: &KubeSchedulerConfiguration) -> bool {
    let own = config.profiles.iter();
    let mut own = own.filter_map(|profile| profile.percentage_of_nodes_to_score);
    config
        .percentage_of_nodes_to_score
        .is_some_and(|all| all > 0)
        || own.any(|own| own > 0)
}

fn apply_deprecated(args: &RunArgs, config: &mut KubeSchedulerConfiguration) {
    let flags = &args.deprecated;
    let connection = &mut config.client_connection;
    if let Some(file) = &flags.kubeconfig {
        connection.kubeconfig.clone_from(file);
    }
    if let Some(content_type) = &flags.kube_api_content_type {
        connection.content_type.clone_from(content_type);
    }
    if let Some(qps) = flags.kube_api_qps {
        connection.qps = qps;
    }
    if let Some(burst) = flags.kube_api_burst {
        connection.burst = burst;
    }
    config.enable_profiling = flags.profiling.or(config.enable_profiling);
    let contention = flags.contention_profiling;
    config.enable_contention_profiling = contention.or(config.enable_contention_profiling);
}

/// The first deprecated flag that is given and would be left out.
fn given_deprecated(args: &RunArgs) -> Option<&'static str> {
    let flags = &args.deprecated;
    let given = [
        ("kubeconfig", flags.kubeconfig.is_some()),
        (
            "kube-api-content-type",
            flags.kube_api_content_type.is_some(),
        ),
        ("kube-api-qps", flags.kube_api_qps.is_some()),
        ("kube-api-burst", flags.kube_api_burst.is_some()),
        ("profiling", flags.profiling.is_some()),
        ("contention-profiling", flags.contention_profiling.is_some()),
    ];
    let given = given.into_iter().find(|(_, is_given)| *is_given);
    given.map(|(flag, _)| flag)
}

fn apply_leader_election(flags: &LeaderArgs, config: &mut KubeSchedulerConfiguration) {
    let election = &mut config.leader_election;
    election.leader_elect = flags.leader_elect.or(election.leader_elect);
    let durations = [
        (
            flags.leader_elect_lease_duration,
            &mut election.lease_duration,
        ),
        (
            flags.leader_elect_renew_deadline,
            &mut election.renew_deadline,
        ),
        (flags.leader_elect_retry_period, &mut election.retry_period),
    ];
    for (flag, field) in durations {
        *field = flag.unwrap_or(*field);
    }
    let texts = [
        (
            &flags.leader_elect_resource_lock,
            &mut election.resource_lock,
        ),
        (
            &flags.leader_elect_resource_name,
            &mut election.resource_name,
        ),
        (
            &flags.leader_elect_resource_namespace,
            &mut election.resource_namespace,
        ),
    ];
    for (flag, field) in texts {
        if let Some(text) = flag {
            field.clone_from(text);
        }
    }
}
