//! `berth simulate` from a file to its answer, with nodes and pods of 16 kinds in turn: time and memory by stage.
//!
//! `cargo build --release -p berth-daemon && cargo bench --bench simulate` takes 100,000 nodes and 1,000,000 pods;
//! `BERTH_SIMULATE=NODES,PODS` other sizes. In a terminal the command shows how far it is. Without `--bench`,
//! as `cargo test` runs it, the sizes are small and every pod has to be placed.

use berth_test_support::command::berth;
use serde_json::json;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

const KINDS: usize = 16;

fn main() {
    let is_measured = std::env::args().any(|argument| argument == "--bench");
    let sizes = std::env::var("BERTH_SIMULATE").ok().filter(|_| is_measured);
    let [nodes, pods] = match sizes {
        Some(sizes) => {
            let sizes: Vec<usize> = sizes
                .split(',')
                .filter_map(|own| own.parse().ok())
                .collect();
            sizes.try_into().expect("BERTH_SIMULATE=NODES,PODS")
        }
        None if is_measured => [100_000, 1_000_000],
        None => [50, 500],
    };
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("simulate-{nodes}-{pods}.json"));
    write(&file, nodes, pods).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let size = file.metadata().map_or(0, |data| data.len());
    println!(
        "{nodes} nodes and {pods} pods of {KINDS} kinds in {} MB",
        size / 1_000_000
    );

    let start = Instant::now();
    let mut command = berth();
    command.args([
        "simulate",
        "-o",
        "csv",
        "--fidelity",
        "best",
        "--timing",
        "-f",
    ]);
    let mut running = command
        .arg(&file)
        .stdout(Stdio::piped())
        .spawn()
        .expect("berth starts");
    let answer = BufReader::new(running.stdout.take().expect("its answer"));
    let lines = answer.lines().map(|line| line.expect("a line"));
    let placed = lines.filter(|line| line.contains(",scheduled,")).count();
    let status = running.wait().expect("berth ends");
    println!(
        "{placed} placed, {:.1} s in all",
        start.elapsed().as_secs_f64()
    );
    std::fs::remove_file(&file).expect("the file goes");
    assert!(
        status.success() && placed == pods,
        "{status}: {placed} of {pods} placed"
    );
}

/// Writes a List.
fn write(file: &Path, nodes: usize, pods: usize) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(file)?);
    write!(file, r#"{{"apiVersion":"v1","kind":"List","items":["#)?;
    for number in 0..nodes {
        let node = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": format!("node-{number}"), "labels": {
                "kubernetes.io/hostname": format!("node-{number}"),
                "topology.kubernetes.io/zone": format!("zone-{}", number % 3),
            }},
            "status": {"allocatable": {"cpu": "32", "memory": "128Gi", "pods": "110"}},
        });
        writeln!(file, "{node},")?;
    }
    for number in 0..pods {
        let kind = number % KINDS;
        let requests = json!({
            "cpu": format!("{}m", 100 + 50 * (kind % 8)),
            "memory": format!("{}Mi", 128 + 64 * kind),
        });
        let pod = json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": format!("pod-{number}"), "namespace": "default", "labels": {"app": format!("app-{kind}")}},
            "spec": {"containers": [{"name": "main", "resources": {"requests": requests}}]},
        });
        let end = if number + 1 == pods { "" } else { ",\n" };
        write!(file, "{pod}{end}")?;
    }
    write!(file, "]}}")?;
    file.flush()
}
