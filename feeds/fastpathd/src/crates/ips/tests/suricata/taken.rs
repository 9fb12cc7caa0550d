// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests that the real Suricata accepts every overlay and reads it as intended.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::net::UnixListener;
use std::path::Path;

use crate::common::{Case, folder, installed, run, settings, suricata, threads};
use ips::{Settings, Threads};

const RULES: &str = "drop http any any -> any any (msg:\"id check returned root\"; \
    flow:established,to_client; http.response_body; content:\"uid=0|28|root|29|\"; \
    classtype:bad-unknown; reference:url,example.org; sid:8199001; rev:1;)\n\
    alert tls $HOME_NET any -> $EXTERNAL_NET any (msg:\"TLS\"; flow:established,to_server; \
    tls.sni; content:\"example\"; sid:8199002; rev:1;)\n";

fn modes() -> Vec<(&'static str, Settings)> {
    [
        ("open", "option mode 'nfq'"),
        ("closed", "option fail 'closed'\noption memory '16'\noption queue_length '64'"),
        ("large", "option memory '65536'\noption queue_length '65536'\noption spread 'fanout'"),
        ("home", "list home '0.0.0.0/0'\nlist home '2001:db8::/32'\noption depth '0'"),
        ("ids", "option mode 'ids'\nlist device 'lan1'\nlist device 'lan2'\nlist device 'wan'"),
        ("inline", "option mode 'inline'\nlist device 'eth1'\nlist device 'eth2'"),
        (
            "inline-closed",
            "option mode 'inline'\noption fail 'closed'\nlist device 'a+1~@'\nlist device 'b-2.7'",
        ),
    ]
    .map(|(name, options)| {
        let uci = format!("config ips 'ips'\noption enabled '1'\n{options}\n");
        (name, settings(&uci).expect(name))
    })
    .into()
}

/// Returns the distinct threads of crate `cpu`'s golden plans, for 1 to 128 CPUs, including an
/// unpinned plan.
fn plans() -> Vec<(String, Threads)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cpu/tests/golden");
    let files = fs::read_dir(&folder).expect("the golden plans of crate cpu");
    let mut plans: Vec<(String, Threads)> = files
        .map(|file| {
            let path = file.expect("a file").path();
            let text = fs::read_to_string(&path).expect("a plan");
            (path.file_stem().expect("a name").to_string_lossy().into_owned(), threads_of(&text))
        })
        .collect();
    assert!(plans.len() > 20, "{} golden plans", plans.len());
    plans.sort_by(|a, b| a.0.cmp(&b.0));
    let mut each: Vec<(String, Threads)> = Vec::new();
    for (name, threads) in plans {
        if !each.iter().any(|(_, known)| *known == threads) {
            each.push((name, threads));
        }
    }
    each
}

/// Parses the lines `queues N`, `suricata workers [0, 1]` and `suricata management 0-1` of a plan.
fn threads_of(text: &str) -> Threads {
    let after = |key: &str| text.lines().find_map(|line| line.strip_prefix(key));
    let number = |text: &str| text.trim().parse::<u32>().expect(text);
    let Some(workers) = after("suricata workers ") else {
        let queues = number(after("queues ").expect("a number of queues")).max(1);
        return Threads { workers: (0..queues).collect(), ..Threads::default() };
    };
    let workers: Vec<u32> = workers.trim_matches(['[', ']']).split(',').map(number).collect();
    let ranges = after("suricata management ").expect("management").split(',');
    let management = ranges.flat_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        number(first)..=number(last)
    });
    let management: Vec<u32> = management.collect();
    threads(&management, &workers)
}

fn prepared(name: &str, case: &mut Case) -> std::path::PathBuf {
    let folder = folder(name);
    fs::write(folder.join("our.rules"), RULES).expect("rules");
    installed(case, &folder);
    fs::write(folder.join("overlay.yaml"), case.overlay()).expect("overlay");
    folder
}

/// Runs `suricata -T`. Returns errors and warnings, and whether configuration and rules loaded.
fn test(program: &std::ffi::OsString, folder: &Path, case: &Case) -> (String, bool) {
    let mut arguments = vec!["-T".to_owned(), "-v".to_owned()];
    arguments.extend(case.arguments());
    let output = run(program, folder, &arguments);
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    let bad =
        |line: &&str| ["Error", "Warning", "E:", "W:"].iter().any(|word| line.starts_with(word));
    let rules = if case.always { 5 } else { 9 };
    let loaded = said.contains(&format!("{rules} rules successfully loaded, 0 rules failed"));
    // This warning depends on the machine, not on the configuration.
    let of_machine = |line: &&str| line.contains("using more Netfilter queues than");
    let complaints: Vec<&str> = said.lines().filter(bad).filter(|line| !of_machine(line)).collect();
    (complaints.join("\n"), output.status.success() && loaded)
}

/// Combines every mode with every plan. Other settings and `always` use one plan.
#[test]
fn suricata_accepts_every_mode_with_every_plan() {
    let Some(program) = suricata() else {
        return;
    };
    for (name, settings) in modes() {
        let plain = ["open", "ids", "inline"].contains(&name);
        for (plan, threads) in plans() {
            let usual = plan == "05-four-cpus";
            if plain || usual {
                check_accepted(&program, (name, plan.as_str()), &settings, &threads, false);
            }
            if usual {
                check_accepted(&program, (name, plan.as_str()), &settings, &threads, true);
            }
        }
    }
}

fn check_accepted(
    program: &std::ffi::OsString,
    name: (&str, &str),
    settings: &Settings,
    threads: &Threads,
    always: bool,
) {
    let (settings, threads) = (settings.clone(), threads.clone());
    let mut case = Case { settings, threads, always, ..Case::default() };
    let folder = prepared("taken", &mut case);
    let _listener = UnixListener::bind(&case.files.events).expect("a socket");
    let (complaints, content) = test(program, &folder, &case);
    assert_eq!(complaints, "", "{name:?} {always}");
    assert!(content, "{name:?} {always}");
    fs::remove_dir_all(&folder).expect("removed");
}

fn dump(program: &std::ffi::OsString, case: &mut Case) -> BTreeMap<String, String> {
    let folder = prepared("dump", case);
    let output = run(program, &folder, &["--dump-config".to_owned()]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    fs::remove_dir_all(&folder).expect("removed");
    let pairs = said.lines().filter_map(|line| line.split_once(" = "));
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

#[test]
fn our_sections_replace_the_sections_of_the_package() {
    let Some(program) = suricata() else {
        return;
    };
    let uci = "config ips 'ips'\noption enabled '1'\noption fail 'closed'\n";
    let settings = settings(uci).expect("good");
    let mut case = Case { settings, threads: threads(&[0], &[2, 3]), ..Case::default() };
    let all = dump(&program, &mut case);
    let one = |key: &str| all.get(key).map(String::as_str);
    let below = |prefix: &str| -> Vec<&str> {
        all.keys().filter(|key| key.starts_with(prefix)).map(String::as_str).collect()
    };
    for (key, value) in [
        ("outputs.0", "eve-log"),
        ("outputs.0.eve-log.filetype", "unix_stream"),
        ("outputs.0.eve-log.types.0", "alert"),
        ("outputs.0.eve-log.types.0.alert.packet", "no"),
        ("nfq.mode", "accept"),
        ("nfq.bypass-mask", "1073741824"),
        ("nfq.fail-open", "no"),
        ("stream.midstream-policy", "ignore"),
        ("stream.drop-invalid", "yes"),
        ("exception-policy", "drop-flow"),
        ("threading.cpu-affinity.worker-cpu-set.cpu.1", "3"),
        ("threading.cpu-affinity.worker-cpu-set.mode", "exclusive"),
        ("app-layer.protocols.tls.encryption-handling", "full"),
    ] {
        assert_eq!(one(key), Some(value), "{key}");
    }
    // Log files, CPU sets and rules of the package's file are replaced.
    for gone in [
        "outputs.1",
        "outputs.0.fast",
        "nfq.batchcount",
        "threading.cpu-affinity.worker-cpu-set.interface-specific-cpu-set",
        "threading.cpu-affinity.worker-cpu-set.prio.low",
        "threading.cpu-affinity.0",
        "rule-files.3",
        "logging.outputs.1.file.filename",
    ] {
        assert_eq!(below(gone), Vec::<&str>::new(), "{gone}");
    }
}

#[test]
fn always_inspect_disables_bypass_and_depth() {
    let Some(program) = suricata() else {
        return;
    };
    let settings = settings("config ips 'ips'\noption enabled '1'\n").expect("good");
    let threads = Threads { workers: vec![0], ..Threads::default() };
    let mut case = Case { settings, threads, always: true, ..Case::default() };
    let all = dump(&program, &mut case);
    for (key, value) in [
        ("stream.reassembly.depth", "0"),
        ("stream.bypass", "no"),
        ("app-layer.protocols.tls.encryption-handling", "full"),
        ("app-layer.protocols.ssh.encryption-handling", "full"),
        ("app-layer.protocols.http.libhtp.default-config.response-body-limit", "0"),
        ("app-layer.protocols.smb.stream-depth", "0"),
    ] {
        assert_eq!(all.get(key).map(String::as_str), Some(value), "{key}");
    }
}

/// The init script therefore checks that the overlay exists.
#[test]
fn suricata_ignores_a_missing_overlay() {
    let Some(program) = suricata() else {
        return;
    };
    let folder = folder("missing");
    fs::write(folder.join("our.rules"), RULES).expect("rules");
    let rules = folder.join("our.rules").to_string_lossy().into_owned();
    let arguments = ["-T", "-S", &rules, "-q", "0"].map(str::to_owned);
    let output = run(&program, &folder, &arguments);
    assert!(output.status.success());
    let said = [output.stdout, output.stderr].concat();
    assert!(String::from_utf8_lossy(&said).contains("Failed to open configuration include file"));
    fs::remove_dir_all(&folder).expect("removed");
}
