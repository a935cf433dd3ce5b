//! Flags and commands.

use crate::failure::Failure;
use crate::run::RunArgs;
use crate::state::check_name;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Decides where pods go, by the rules of kube-scheduler 1.37: from files, or in a cluster
#[derive(Debug, Parser)]
#[command(name = "berth", version, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Place every pending pod of the input, one by one, and say why the rest did not fit
    #[command(after_help = SIMULATE_EXIT_CODES)]
    Simulate(SimulateArgs),
    /// Show every node's verdict on one pod: scores, rank, or the plugin that refused and why
    ///
    /// Looks at every node, unless `--node-search sampled` asks for kube-scheduler's sample. Other
    /// pending pods take no room.
    #[command(after_help = EXPLAIN_EXIT_CODES)]
    Explain(ExplainArgs),
    /// Watch a cluster and bind its pods, in kube-scheduler's place and with its flags
    #[command(after_help = RUN_EXIT_CODES, args_override_self = true, version)]
    Run(Box<RunArgs>),
    /// Print or check a KubeSchedulerConfiguration
    Config(ConfigArgs),
    /// Print the completion script of a shell
    Completion(CompletionArgs),
}

const SIMULATE_EXIT_CODES: &str = "\
Without --trace, all pods of the input arrive at once, and virtual time runs until nothing can \
wake a pod. With --order file each pod is tried once, and no pod is evicted.

Exit codes: 0 all fine; 1 some pod was not placed; 2 wrong use or bad input.
Results go to stdout, notes and errors to stderr.";

const EXPLAIN_EXIT_CODES: &str = "\
Exit codes: 0 all fine; 1 the pod fits nowhere; 2 wrong use or bad input.
Results go to stdout, notes and errors to stderr.";

const RUN_EXIT_CODES: &str = "\
Called under the name kube-scheduler, the command is `run`.

Exit codes: 0 asked to stop while taking part in an election; 1 all else.";

#[derive(Debug, Args)]
pub struct SimulateArgs {
    /// JSON or YAML file, folder, state file (*.berth), or `-` for stdin; repeatable
    #[arg(
        short,
        long,
        value_name = "FILE",
        required_unless_present = "trace",
        help_heading = "Input"
    )]
    pub filename: Vec<PathBuf>,
    /// Arrivals, departures and changes over virtual time: JSON lines, or a SimKube trace
    #[arg(long, value_name = "FILE", help_heading = "Input")]
    pub trace: Option<PathBuf>,
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub rules: RuleArgs,
    /// Let evicted pods come again as pending ones
    #[arg(long, help_heading = "Rules")]
    pub recreate_victims: bool,
    /// In which order pods are tried
    #[arg(long, value_enum, default_value_t = Order::Queue, value_name = "ORDER")]
    pub order: Order,
    #[command(flatten)]
    pub output: OutputArgs,
    /// Tell every attempt, not only each pod's last; needs `-o jsonl`
    #[arg(long, help_heading = "Output")]
    pub attempts: bool,
    /// Write the cluster as it is at the end to a state file, *.berth, which -f reads
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub save: Option<PathBuf>,
    /// How much each decision carries in json, jsonl and yaml
    #[arg(long, value_enum, default_value_t = Explain::Reasons, value_name = "DETAIL")]
    pub explain: Explain,
}

#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The pod: NAMESPACE/NAME, or NAME in `default`; a bound pod is judged as if it were not
    #[arg(value_name = "POD")]
    pub pod: String,
    /// JSON or YAML file, folder, state file (*.berth), or `-` for stdin; repeatable
    #[arg(
        short,
        long,
        value_name = "FILE",
        required = true,
        help_heading = "Input"
    )]
    pub filename: Vec<PathBuf>,
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub rules: RuleArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Input")]
pub struct InputArgs {
    /// KubeSchedulerConfiguration v1
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// List bad objects and leave them out, instead of placing nothing
    #[arg(long)]
    pub skip_invalid: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Rules")]
pub struct RuleArgs {
    /// Search as kube-scheduler does, or look at every node
    #[arg(long, value_enum, default_value_t = Fidelity::Exact, value_name = "FIDELITY")]
    pub fidelity: Fidelity,
    /// Which of several best nodes is taken [default: the fidelity's]
    #[arg(long, value_enum, value_name = "POLICY")]
    pub ties: Option<Ties>,
    /// Seed of `--ties random`
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    /// How many nodes are looked at [default: the fidelity's]
    #[arg(long, value_enum, value_name = "NODES")]
    pub node_search: Option<NodeSearch>,
    /// Evict pods of lower priority for one that fits nowhere [default: true; false with --order
    /// file]
    #[arg(
        long,
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    pub preemption: Option<bool>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Form of the result
    #[arg(short, long, value_enum, default_value_t = Form::Table, value_name = "FORM")]
    pub output: Form,
    /// Print seconds by stage on stderr, and in json as summary.timing
    #[arg(long)]
    pub timing: bool,
}

#[derive(Debug, Args)]
pub struct ConfigArgs {
    #[command(subcommand)]
    pub command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print the configuration with every default filled in
    Print {
        /// KubeSchedulerConfiguration v1; without it, the defaults alone
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
        /// Form of the result
        #[arg(short, long, value_enum, default_value_t = ConfigForm::Yaml, value_name = "FORM")]
        output: ConfigForm,
    },
    /// Say everything that is wrong with a configuration
    Check {
        /// KubeSchedulerConfiguration v1; without it, the defaults alone
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub struct CompletionArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// Higher priority first, then the input's order
    Queue,
    /// The input's order
    File,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Fidelity {
    /// Sampling and ties as kube-scheduler
    Exact,
    /// Every node is looked at
    #[default]
    Best,
}

impl From<Fidelity> for berth_core::Fidelity {
    fn from(fidelity: Fidelity) -> Self {
        match fidelity {
            Fidelity::Exact => Self::Exact,
            Fidelity::Best => Self::Best,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Ties {
    /// kube-scheduler's heap
    Heap,
    /// The lowest node name
    FirstName,
    /// The first in search order
    First,
    /// Drawn by the seed
    Random,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NodeSearch {
    /// Every node
    All,
    /// Until enough nodes are found, as kube-scheduler
    Sampled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Explain {
    /// Neither scores, ties nor refusals
    None,
    /// Refusals
    Reasons,
    /// Refusals, ties and every node's scores
    Full,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// For people, at most a screen or two
    Table,
    /// The same with every pod, node and column
    Wide,
    /// One document
    Json,
    /// One decision record a line
    Jsonl,
    /// The same document as json
    Yaml,
    /// One line a pod
    Csv,
    /// Names only
    Name,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ConfigForm {
    Yaml,
    Json,
}

impl SimulateArgs {
    /// The core's choices, with no more details than are told.
    pub fn options(&self) -> berth_core::Options {
        berth_core::Options {
            detail: Some(self.detail()),
            ..self.rules.options()
        }
    }

    /// Refuses flags that do not go together.
    pub fn check(&self) -> Result<(), Failure> {
        if let Some(file) = &self.save {
            check_name(file)?;
        }
        let message = if self.attempts && self.output.output != Form::Jsonl {
            "--attempts: every attempt is a line of its own; add -o jsonl"
        } else if self.order == Order::Queue {
            return Ok(());
        } else if self.rules.preemption == Some(true) {
            "--preemption=true: with --order file each pod is tried once; use --order queue"
        } else if self.trace.is_some() {
            "--trace: pods are tried as they come from the queue; leave out --order file"
        } else if self.attempts {
            "--attempts: with --order file each pod is tried once; use --order queue"
        } else {
            return Ok(());
        };
        Err(Failure::Usage(message.to_owned()))
    }
}

impl RuleArgs {
    /// The core's choices that the flags stand for.
    pub fn options(&self) -> berth_core::Options {
        berth_core::Options {
            fidelity: self.fidelity.into(),
            ties: self.ties.map(|ties| match ties {
                Ties::Heap => berth_core::Ties::Heap,
                Ties::FirstName => berth_core::Ties::FirstName,
                Ties::First => berth_core::Ties::First,
                Ties::Random => berth_core::Ties::Random,
            }),
            node_search: self.node_search.map(|search| match search {
                NodeSearch::All => berth_core::NodeSearch::All,
                NodeSearch::Sampled => berth_core::NodeSearch::Sampled,
            }),
            seed: self.seed,
            preemption: self.preemption,
            ..berth_core::Options::default()
        }
    }
}

impl SimulateArgs {
    /// How much each record must carry: the tables and csv show no refusal of single nodes.
    pub fn detail(&self) -> berth_core::Detail {
        match self.output.output {
            Form::Json | Form::Jsonl | Form::Yaml => self.explain.detail(),
            Form::Table | Form::Wide | Form::Csv | Form::Name => berth_core::Detail::None,
        }
    }
}

impl Explain {
    fn detail(self) -> berth_core::Detail {
        match self {
            Self::None => berth_core::Detail::None,
            Self::Reasons => berth_core::Detail::Reasons,
            Self::Full => berth_core::Detail::Full,
        }
    }
}
