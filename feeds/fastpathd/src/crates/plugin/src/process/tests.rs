// SPDX-License-Identifier: GPL-2.0-or-later
use std::thread;
use std::time::Instant;

use super::*;

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    command
}

fn said(script: &str) -> String {
    let output = run(&mut shell(script), b"", Limits::short(20)).unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// Returns whether a process runs. Zombies do not count.
fn lives(id: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn returns_the_output_and_status_of_a_program() {
    let output = run(&mut shell("cat; echo no >&2; exit 3"), b"yes", Limits::short(20)).unwrap();
    assert_eq!((&*output.stdout, &*output.stderr), (&b"yes"[..], &b"no\n"[..]));
    assert_eq!(output.status.code(), Some(3));
    let missing = run(&mut Command::new("/no/such/program"), b"", Limits::short(20));
    assert!(matches!(missing, Err(RunError::System(_))));
    assert!(run(&mut shell("true"), &vec![b'x'; 1 << 20], Limits::short(20)).is_ok());
}

#[test]
fn a_program_runs_with_limits_of_memory_and_cpu_time() {
    let kib: u64 = said("ulimit -v").trim().parse().unwrap();
    assert!((MIN_MEMORY >> 10..=MAX_MEMORY >> 10).contains(&kib), "{kib}");
    assert_eq!(said("ulimit -t").trim(), "20");
    assert_eq!(said("ulimit -c").trim(), "0");
    let all = Limits { resources: false, ..Limits::short(20) };
    let output = run(&mut shell("ulimit -t"), b"", all).unwrap();
    let ours = Command::new("sh").args(["-c", "ulimit -t"]).output().unwrap();
    assert_eq!(output.stdout, ours.stdout);
    // This awk program allocates memory until it reaches the limit.
    let endless = "exec awk 'BEGIN { x = \"x\"; while (1) x = x x }'";
    let ended = run(&mut shell(endless), b"", Limits::short(20));
    assert!(!matches!(ended, Ok(output) if output.status.success()));
}

#[test]
fn a_limit_kills_a_program_with_its_children() {
    let mut ids = tempfile("stays");
    let script = format!("sleep 300 & echo $! $$ >{}; wait", ids.0.display());
    let late = run(&mut shell(&script), b"", Limits::short(1));
    assert!(matches!(late, Err(RunError::Late(1))), "{late:?}");
    for id in ids.text().split_whitespace() {
        // The kill reaches the grandchild with a delay.
        let deadline = Instant::now() + Duration::from_secs(60);
        while lives(id) {
            assert!(Instant::now() < deadline, "{id} outlives its program");
            thread::sleep(Duration::from_millis(5));
        }
    }
    let loud = run(&mut shell("cat /dev/zero"), b"", Limits::short(20));
    assert!(matches!(loud, Err(RunError::Loud(_))));
}

// PR_SET_PDEATHSIG refers to the thread that started the program.
#[test]
fn a_program_dies_with_its_parent() {
    let start = || {
        let mut command = shell("exec sleep 300");
        limit(&mut command, Limits::short(20));
        command.spawn().unwrap()
    };
    let mut child = thread::spawn(start).join().unwrap();
    let status = child.wait().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(libc::SIGKILL));
}

#[test]
fn children_of_a_program_die_with_its_parent() {
    let mut ids = tempfile("orphan");
    let file = ids.0.clone();
    let start = move || {
        let script = format!("sleep 300 & echo $! >{}; wait", file.display());
        let mut command = shell(&script);
        limit(&mut command, Limits::short(20));
        let child = command.spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while std::fs::read_to_string(&file).map_or(true, |text| !text.ends_with('\n')) {
            assert!(Instant::now() < deadline, "it has started nothing");
            thread::sleep(Duration::from_millis(5));
        }
        child
    };
    let mut child = thread::spawn(start).join().unwrap();
    child.wait().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    while lives(ids.text().trim()) {
        assert!(Instant::now() < deadline, "the program's child lives on");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn returns_the_exit_status_or_signal_of_a_program() {
    use std::os::unix::process::ExitStatusExt;
    let ended = |script: &str| run(&mut shell(script), b"", Limits::short(20)).unwrap().status;
    assert_eq!(ended("exit 3").code(), Some(3));
    assert_eq!(ended("kill -9 $$").signal(), Some(libc::SIGKILL));
    assert_eq!(ended("kill -15 $$").signal(), Some(libc::SIGTERM));
}

/// A file that is removed on drop.
struct Temporary(std::path::PathBuf);

fn tempfile(name: &str) -> Temporary {
    Temporary(std::env::temp_dir().join(format!("plugin-{name}-{}", std::process::id())))
}

impl Temporary {
    fn text(&mut self) -> String {
        std::fs::read_to_string(&self.0).unwrap()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
