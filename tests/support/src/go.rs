//! The Go programs of `tests/kube`, built.

use crate::command::tool_that_knows;
use crate::tests_folder;
use std::path::{Path, PathBuf};

/// No symbols, which nobody reads here: linking is the longest part. And the version that servers are
/// to tell, which upstream's own build sets too.
const LINKING: &str = "-ldflags=-s -w \
    -X k8s.io/component-base/version.gitMajor=1 \
    -X k8s.io/component-base/version.gitMinor=37 \
    -X k8s.io/component-base/version.gitVersion=v1.37.2";

const INSTALL: &str = "Go 1.26 from https://go.dev/dl (the first build fetches upstream's modules)";

/// Builds the program in `package`, a folder of `tests/kube`, as `folder/name`. What did not change
/// is not built again. `None`, said aloud, where there is no Go; that fails in CI.
pub fn program(name: &str, package: &str, folder: &str) -> Option<PathBuf> {
    let mut go = tool_that_knows("version", "go", INSTALL)?;
    let path = Path::new(folder).join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    let build = go
        .args(["build", LINKING, "-o"])
        .arg(&path)
        .arg(package)
        .current_dir(tests_folder().join("kube"))
        .output()
        .expect("go runs");
    let said = String::from_utf8_lossy(&build.stderr);
    assert!(
        build.status.success(),
        "go build {package} in tests/kube: {said}"
    );
    Some(path)
}
