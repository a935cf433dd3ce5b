//! One process of a test: started, stopped, killed, paused, and gone when the test is.

use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// A program with its flags, running or not, that can be started again.
#[derive(Debug)]
pub struct Process {
    name: String,
    command: Command,
    log: PathBuf,
    child: Option<Child>,
}

impl Process {
    /// Starts `command` in a process group of its own. Both outputs go to `folder/name.log`; its
    /// input stays open as long as this value lives.
    pub fn start(name: &str, command: Command, folder: &Path) -> Self {
        let mut process = Self {
            name: name.to_owned(),
            command,
            log: folder.join(format!("{name}.log")),
            child: None,
        };
        process.command.stdin(Stdio::piped()).process_group(0);
        process.start_again();
        process
    }

    /// Starts it with the same flags, after [`Self::stop`] or [`Self::kill`]. The log goes on.
    pub fn start_again(&mut self) {
        assert!(self.child.is_none(), "{} is running", self.name);
        let log = File::options().create(true).append(true).open(&self.log);
        let log = log.unwrap_or_else(|error| panic!("{}: {error}", self.log.display()));
        let same = log.try_clone().expect("a file can be opened twice");
        let child = self.command.stdout(log).stderr(same).spawn();
        self.child = Some(child.unwrap_or_else(|error| panic!("{}: {error}", self.name)));
    }

    /// Asks it to end (SIGTERM) and waits until it has.
    pub fn stop(&mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        self.ended()
    }

    /// Ends it as a crash would (SIGKILL), paused or not.
    pub fn kill(&mut self) -> ExitStatus {
        self.signal(Signal::KILL);
        self.ended()
    }

    /// Kills it and starts it again.
    pub fn restart(&mut self) {
        self.kill();
        self.start_again();
    }

    /// Stops its clock and its answers (SIGSTOP); connections stay open.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets it go on (SIGCONT).
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    /// How it ended, if it did so by itself.
    pub fn exit_status(&mut self) -> Option<ExitStatus> {
        let child = self.child.as_mut()?;
        child.try_wait().expect("a child can be asked")
    }

    /// All that it has written, of all its lives.
    pub fn log(&self) -> String {
        let bytes = fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Processor time that it has taken, of this life.
    pub fn processor_time(&self) -> Duration {
        let stat = self.proc("stat");
        // The name before may hold anything, a closing parenthesis included.
        let fields = stat.rsplit(')').next().unwrap_or_default();
        let ticks = fields.split_whitespace().skip(11).take(2);
        let ticks: u64 = ticks.filter_map(|own| own.parse::<u64>().ok()).sum();
        // Programs are shown hundredths of a second, whatever the kernel counts.
        Duration::from_millis(ticks * 10)
    }

    /// The most memory that it has had at a time, in bytes.
    pub fn peak_memory(&self) -> u64 {
        let status = self.proc("status");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kib.expect("Linux tells it") * 1024
    }

    /// A file that Linux shows of it.
    fn proc(&self, file: &str) -> String {
        let child = self.child.as_ref().expect("it runs");
        let path = format!("/proc/{}/{file}", child.id());
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn signal(&self, signal: Signal) {
        let child = self.child.as_ref();
        let child = child.unwrap_or_else(|| panic!("{} was ended", self.name));
        // A group that is gone needs no signal; that it ended is told by its status.
        let _ = kill_process_group(Pid::from_child(child), signal);
    }

    fn ended(&mut self) -> ExitStatus {
        let mut child = self.child.take().expect("was signalled");
        child.wait().expect("a child can be waited for")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.child.is_some() {
            self.kill();
        }
    }
}
