# Sourced by the scripts beside it: stages with their times, tests with a total.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

passed=0
failed=0

# stage NAME COMMAND...: runs the command, prints its name before and its seconds after.
stage() {
    local name=$1 start=$SECONDS
    shift
    echo "== $name"
    "$@"
    echo "== $name: $((SECONDS - start)) s"
}

# tests COMMAND...: runs a command that prints cargo's test results and adds them to the total.
tests() {
    local log status=0 counts
    log=$(mktemp)
    "$@" 2>&1 | tee "$log" || status=$?
    counts=$(awk '/^test result: / { passed += $4; failed += $6 }
        END { print passed + 0, failed + 0 }' "$log")
    rm -f "$log"
    passed=$((passed + ${counts% *}))
    failed=$((failed + ${counts#* }))
    return "$status"
}

# Printed last, whether or not all stages came to their end.
total() {
    local status=$?
    echo "== all stages: $SECONDS s"
    echo "$passed passed, $failed failed"
    exit "$status"
}
trap total EXIT

# need COMMAND PACKAGE: installs the package when the command is missing.
need() {
    if ! command -v "$1" >/dev/null; then
        apt_install "$2"
    fi
}

# clang, with the runtime of its sanitizers.
need_sanitizers() {
    if ! clang -fsanitize=address,undefined -x c - -o /dev/null 2>/dev/null \
        <<<'int main(void) { return 0; }'; then
        apt_install clang libclang-rt-dev
    fi
}

apt_install() {
    local root=
    if [ "$(id -u)" -ne 0 ]; then
        root=sudo
    fi
    $root apt-get update
    $root apt-get install -y --no-install-recommends "$@"
}

# An environment with what the Python package's tests need.
python_tools() {
    if ! python3 -c 'import ensurepip' 2>/dev/null; then
        apt_install python3-venv
    fi
    python3 -m venv target/venv
    target/venv/bin/pip install --quiet --requirement python/tests/requirements.txt
    export BERTH_PYTHON=$PWD/target/venv/bin/python
}

formatting() {
    cargo fmt --all --check
}

lints() {
    cargo clippy --workspace --all-targets -- -D warnings
}

docs() {
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps
}
