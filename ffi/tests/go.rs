//! The Go package: its own tests, the golden decisions through it, a user's first steps with an empty
//! module cache, the examples, and its plugin inside kube-scheduler's framework.

#[path = "c/compile.rs"]
mod compile;
#[path = "golden/replay.rs"]
mod replay;

use berth_test_support::cluster_list::cluster_list;
use berth_test_support::command::{empty_folder, tool, tool_that_knows};
use berth_test_support::golden::scenarios;
use compile::{crate_folder, libraries};
use replay::{SETS, run, text};
use serde_json::{Value, json};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

const INSTALL: &str = "Go 1.26 from https://go.dev/dl, or apt-get install golang-go";

fn done(command: &mut Command) -> String {
    let output = run(command, "");
    let told = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{command:?}: {told}");
    text(&output.stdout)
}

/// A prefix with everything installed; `None`, said aloud, without Go or a C compiler.
fn prefix() -> Option<&'static Path> {
    static PREFIX: OnceLock<Option<PathBuf>> = OnceLock::new();
    let install = || {
        tool_that_knows("version", "go", INSTALL)?;
        tool("cc", compile::INSTALL)?;
        tool("pkg-config", "apt-get install pkg-config")?;
        let folder = empty_folder(env!("CARGO_TARGET_TMPDIR"), "go-prefix");
        let mut install = Command::new("sh");
        install.arg(crate_folder().join("install.sh"));
        install
            .arg("--prefix")
            .arg(&folder)
            .arg("--from")
            .arg(libraries());
        done(&mut install);
        Some(folder)
    };
    PREFIX.get_or_init(install).as_deref()
}

/// Go in a folder of this package, with the installed shared library.
fn go(prefix: &Path, folder: &str) -> Command {
    let mut go = Command::new("go");
    go.current_dir(crate_folder().join("go").join(folder));
    go.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"));
    go.env("LD_LIBRARY_PATH", prefix.join("lib"));
    go
}

const PKG_CONFIG: [&str; 2] = ["-tags", "berth_pkgconfig"];

/// A built program of the package, which links the archive of the prefix.
fn built(prefix: &Path, package: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("go-programs");
    fs::create_dir_all(&folder).expect("the folder is made");
    let program = folder.join(
        Path::new(package)
            .file_name()
            .expect("a package has a name"),
    );
    let mut go = go(prefix, "");
    // The loader finds the library without its environment then.
    go.env(
        "CGO_LDFLAGS",
        format!("-Wl,-rpath,{}", prefix.join("lib").display()),
    );
    done(
        go.arg("build")
            .args(PKG_CONFIG)
            .arg("-o")
            .arg(&program)
            .arg(package),
    );
    program
}

#[test]
fn the_package_s_own_tests_pass() {
    let Some(prefix) = prefix() else {
        return;
    };
    done(go(prefix, "").arg("vet").args(PKG_CONFIG).arg("./..."));
    // With the race detector, and with the checker of pointers that C is given.
    for (setting, flags) in [("", &["-race"][..]), ("cgocheck2", &[])] {
        let mut test = go(prefix, "");
        test.env("GOEXPERIMENT", setting)
            .arg("test")
            .args(PKG_CONFIG)
            .args(flags);
        let told = done(test.args(["-count=1", "./..."]));
        assert!(told.contains("ok  \tberth\t"), "{told}");
    }
    let unformatted = done(
        Command::new("gofmt")
            .arg("-l")
            .arg(crate_folder().join("go")),
    );
    assert_eq!(unformatted, "");
}

#[test]
fn a_go_program_decides_as_kube_scheduler() {
    let Some(prefix) = prefix() else {
        return;
    };
    let program = built(prefix, "./internal/replay");
    for (set, compared) in SETS {
        replay::replay(&program, set, compared);
    }
}

/// The fenced block of a page after this heading that is of this language.
fn block<'a>(page: &'a str, heading: &str, language: &str) -> &'a str {
    let after = page
        .split(heading)
        .nth(1)
        .expect("the page has the heading");
    let block = after.split(&format!("```{language}\n")).nth(1);
    let block = block.and_then(|text| text.split("```").next());
    block.expect("the page has the block")
}

/// Commands of a page's console blocks, without what they print.
fn commands(block: &str) -> String {
    let commands = block.lines().filter_map(|line| line.strip_prefix("$ "));
    commands.map(|line| line.to_owned() + "\n").collect()
}

/// Runs a page's commands as a newcomer types them; `$HOME/berth` is the prefix.
fn follow(script: &str, folder: &Path, home: &Path) -> Command {
    let mut shell = Command::new("sh");
    shell
        .args(["-euc", script])
        .current_dir(folder)
        .env("HOME", home);
    shell
}

/// A home in which the library is installed as the pages say, and an empty folder.
fn newcomer(name: &str, prefix: &Path) -> (PathBuf, PathBuf) {
    let home = empty_folder(env!("CARGO_TARGET_TMPDIR"), &format!("{name}-home"));
    std::os::unix::fs::symlink(prefix, home.join("berth")).expect("the link is made");
    let folder = empty_folder(env!("CARGO_TARGET_TMPDIR"), &format!("{name}-work"));
    (home, folder)
}

#[test]
fn a_newcomer_s_first_steps_in_go_work_from_an_empty_module_cache() {
    let Some(prefix) = prefix() else {
        return;
    };
    let page = include_str!("../docs/go.md");
    let (home, folder) = newcomer("go", prefix);
    let make = commands(block(page, "## 2. Make a module", "console"));
    let build = block(page, "## 3. Build and run it", "console");
    let program = block(page, "`main.go`:", "go");
    let script = format!("{make}cp ../main.go .\n{}", commands(build));
    let given = folder.join("main.go");
    fs::write(&given, program).expect("the program is written");
    let mut shell = follow(&script, &folder, &home);
    // Nothing was ever fetched, and nothing can be.
    shell
        .env("GOMODCACHE", home.join("modules"))
        .env("GOPROXY", "off");
    shell.env("GOCACHE", go_cache()).env("GOFLAGS", "-mod=mod");
    let told = done(&mut shell);
    // It prints what the page says, after what `go mod init` may have to say.
    assert!(told.ends_with("default/web goes to n1\n"), "{told}");
    assert!(build.contains("default/web goes to n1\n"), "{build}");
}

/// Where Go keeps what it compiled; HOME is another in the tests.
fn go_cache() -> String {
    done(Command::new("go").args(["env", "GOCACHE"]))
        .trim()
        .to_owned()
}

#[test]
fn a_newcomer_s_first_steps_in_c_work() {
    let Some(prefix) = prefix() else {
        return;
    };
    let page = include_str!("../docs/c.md");
    let (home, folder) = newcomer("c", prefix);
    let program = block(page, "## 2. Write a program", "c");
    fs::write(folder.join("where.c"), program).expect("the program is written");
    let build = commands(block(page, "## 3. Build and run it", "console"));
    assert_eq!(
        done(&mut follow(&build, &folder, &home)),
        "web goes to n1\n"
    );
    let after = "Without the shared library at run time:";
    let script = format!(
        "export PKG_CONFIG_PATH=\"$HOME/berth/lib/pkgconfig\"\n{}./where\n",
        commands(block(page, after, "console"))
    );
    assert_eq!(
        done(&mut follow(&script, &folder, &home)),
        "web goes to n1\n"
    );
}

/// Pods of a list that find no place with so many nodes more, counted by the C functions.
fn waiting(list: &Value, count: usize) -> usize {
    let items = list["items"].as_array().expect("a list has items");
    let mut items = items.clone();
    for number in 0..count {
        let name = format!("new-{number:04}");
        items.push(json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "status": {"allocatable": {
                "cpu": "96", "memory": "384Gi", "pods": "110", "nvidia.com/gpu": "8",
            }},
        }));
    }
    let json = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    let mut handle = std::ptr::null_mut();
    let mut left = 0;
    // SAFETY: all zeros is a value of every struct; all pointers are of values that outlive the calls.
    unsafe {
        let mut options: berth::berth_options_t = std::mem::zeroed();
        options.size = size_of::<berth::berth_options_t>();
        options.node_search = berth::BERTH_NODE_SEARCH_ALL;
        options.preemption = berth::BERTH_PREEMPTION_OFF;
        let ok = berth::berth_result_t::BERTH_RESULT_OK;
        let made =
            berth::berth_scheduler_create(&raw const options, std::ptr::null(), 0, &raw mut handle);
        assert_eq!(made, ok);
        let (start, none) = (json.as_ptr().cast(), std::ptr::null_mut());
        assert_eq!(berth::berth_load_json(handle, start, json.len(), none), ok);
        let mut placed = std::collections::BTreeMap::new();
        loop {
            let mut decision: berth::berth_decision_t = std::mem::zeroed();
            decision.size = size_of::<berth::berth_decision_t>();
            assert_eq!(
                berth::berth_schedule_one(handle, 1_000_000_000, &raw mut decision),
                ok
            );
            if decision.outcome == berth::BERTH_OUTCOME_NONE {
                break;
            }
            placed.insert(
                decision.pod,
                decision.outcome == berth::BERTH_OUTCOME_SCHEDULED,
            );
        }
        left += placed.values().filter(|placed| !**placed).count();
        assert_eq!(berth::berth_scheduler_destroy(handle), ok);
    }
    left
}

#[test]
fn the_autoscaler_s_answer_is_enough_and_one_less_is_not() {
    let Some(prefix) = prefix() else {
        return;
    };
    let scenario = &scenarios("openb-gpuspec33-120nodes")[0];
    let mut list = cluster_list(scenario).json;
    // Half of the nodes, so that pods wait; those that name a model of device want none of the new ones.
    let items = list["items"].as_array_mut().expect("a list has items");
    let mut nodes = 0;
    items.retain(|item| {
        nodes += usize::from(item["kind"] == "Node");
        item["kind"] != "Node" || nodes <= 60
    });
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("autoscaler.json");
    fs::write(&file, list.to_string()).expect("the list is written");
    let program = built(prefix, "./examples/autoscaler");
    let mut command = Command::new(program);
    command.args([
        "-cpu",
        "96",
        "-memory",
        "384",
        "-resource",
        "nvidia.com/gpu=8",
    ]);
    let told = done(command.arg(&file));
    let numbers: Vec<usize> = told
        .lines()
        .take(2)
        .flat_map(str::split_whitespace)
        .filter_map(|word| word.parse().ok())
        .collect();
    let [without, more, rest] = numbers[..] else {
        panic!("{told}");
    };
    assert!(more > 0 && rest < without, "{told}");
    assert_eq!(waiting(&list, 0), without, "{told}");
    assert_eq!(waiting(&list, more), rest, "{told}");
    assert!(waiting(&list, more - 1) > rest, "{told}");
    assert_eq!(told.lines().count(), 2 + rest, "{told}");
}

#[test]
fn the_plugin_in_the_framework_decides_as_kube_scheduler_s_own() {
    let Some(prefix) = prefix() else {
        return;
    };
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("scenarios.jsonl");
    let mut lines = String::new();
    let (mut whole, mut gated) = (0, 0);
    for (set, _) in SETS {
        for scenario in scenarios(set) {
            let given = cluster_list(&scenario);
            let usual = scenario.verdicts.iter();
            // What follows a sum that wrapped or an attempt that failed is not comparable.
            let verdicts: Vec<_> = usual
                .take_while(|verdict| !verdict.wraps && verdict.error.is_none())
                .filter_map(|verdict| {
                    let is_replaced = given.replaced.contains(&verdict.pod);
                    // A pod that an API server refuses is not there if upstream found it no place.
                    if is_replaced && verdict.chosen.is_none() {
                        return None;
                    }
                    if verdict.gated {
                        // Gates hold pods back before the framework sees them.
                        gated += 1;
                        return None;
                    }
                    whole += usize::from(!is_replaced);
                    Some(json!({
                        "pod": verdict.pod,
                        "placed": is_replaced,
                        "chosen": verdict.chosen.as_deref().unwrap_or_default(),
                        "ties": verdict.ties,
                        "best": verdict.best_total,
                        "feasible": verdict.feasible,
                        "message": verdict.message.as_deref().unwrap_or_default(),
                        "volumes": verdict.volumes,
                    }))
                })
                .collect();
            let line = json!({
                "name": scenario.name,
                "config": scenario.config,
                "items": given.json["items"],
                "verdicts": verdicts,
            });
            lines += &line.to_string();
            lines.push('\n');
        }
    }
    let all: usize = SETS.iter().map(|(_, compared)| compared).sum();
    assert_eq!(whole + gated, all);
    fs::write(&file, lines).expect("the scenarios are written");
    let mut go = go(prefix, "examples/schedulerplugin");
    go.env("BERTH_SCENARIOS", &file);
    let told = done(
        go.arg("test")
            .args(PKG_CONFIG)
            .args(["-count=1", "-v", "."]),
    );
    println!("{whole} verdicts equal in the framework");
    assert!(
        told.contains(&format!(" {whole} verdicts equal\n")),
        "{told}"
    );
}
