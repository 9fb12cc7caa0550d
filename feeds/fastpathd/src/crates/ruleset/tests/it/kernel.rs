// SPDX-License-Identifier: GPL-2.0-or-later
//! Applies plans with the real nft and kernel, in a network namespace. Needs root, iproute2 and
//! flowtables (the lab's gateway); otherwise the tests are skipped with a message.
#![expect(unsafe_code, reason = "the test runs in a network namespace of its own")]

use std::future::Future;
use std::process::Command;
use std::thread;

use config::parse_uci;
use model::{Action, Engine, Gate, Spread};
use ruleset::{
    Applied, ApplyError, Candidate, InForce, InspectionRules, Nft, NftCommand, Plan, Protection,
    Queues, Settings, apply, plan, read_back, remove, renew,
};

fn ip(arguments: &str) -> bool {
    Command::new("ip").args(arguments.split(' ')).status().is_ok_and(|status| status.success())
}

/// Runs the test on a thread in a network namespace with these veth devices.
fn with_devices<F: Future<Output = ()>>(
    devices: &'static [&'static str],
    test: impl FnOnce(NftCommand) -> F + Send + 'static,
) {
    let ran = thread::spawn(move || {
        // SAFETY: the call takes no pointers, and only this thread changes its namespace.
        if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
            eprintln!("skipped: no new network namespace: {}", std::io::Error::last_os_error());
            return;
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let nft = NftCommand::default();
            let probe = "table inet p {\nflowtable ft {\nhook ingress priority filter\n\
                devices = { \"lo\" }\ncounter\n}\n}\n";
            if let Err(why) = nft.check(probe).await {
                eprintln!("skipped: nft with flowtables is needed: {why}");
                return;
            }
            for device in devices {
                assert!(ip(&format!("link add {device} type veth peer name {device}-peer")));
            }
            test(nft).await;
        });
    });
    ran.join().unwrap();
}

fn plan_with(engine: Engine, devices: &[&str]) -> Plan {
    let candidate = |device: &&str| Candidate {
        device: (*device).to_owned(),
        eligible: true,
        why: config::Cause::default(),
    };
    let candidates: Vec<_> = devices.iter().map(candidate).collect();
    let settings = Settings { engine, ..Settings::default() };
    plan(&candidates, &settings, &Protection::default())
}

async fn in_force(nft: &NftCommand) -> InForce {
    read_back(nft).await.unwrap().expect("a table")
}

#[test]
fn applies_and_removes_a_plan() {
    with_devices(&["lan1", "wan"], |nft| async move {
        let plan = plan_with(Engine::Flowtable, &["lan1", "wan"]);
        assert_eq!(apply(&nft, &plan, None, &[]).await, Ok(Applied::Replaced));
        assert!(in_force(&nft).await.matches(&plan));
        assert_eq!(apply(&nft, &plan, Some(&plan), &[]).await, Ok(Applied::Unchanged));
        let off = plan_with(Engine::Off, &[]);
        assert_eq!(apply(&nft, &off, Some(&plan), &[]).await, Ok(Applied::Removed));
        assert_eq!(read_back(&nft).await, Ok(None));
        remove(&nft).await.expect("removing nothing");
    });
}

#[test]
fn changes_devices_in_the_kernel() {
    with_devices(&["lan1", "lan2", "wan"], |nft| async move {
        let one = plan_with(Engine::Flowtable, &["lan1", "wan"]);
        apply(&nft, &one, None, &[]).await.unwrap();
        let two = plan_with(Engine::Flowtable, &["lan2", "wan"]);
        assert_eq!(apply(&nft, &two, Some(&one), &[]).await, Ok(Applied::Devices));
        assert!(in_force(&nft).await.matches(&two));

        // The kernel removes a deleted device; a plan that still names it does no harm.
        assert!(ip("link del lan2"));
        assert!(!in_force(&nft).await.devices.contains("lan2"));
        let remaining = std::collections::BTreeSet::from(["wan".to_owned()]);
        assert_eq!(
            apply(&nft, &two, Some(&two), &[]).await,
            Ok(Applied::Partly { devices: remaining })
        );
        let remaining = plan_with(Engine::Flowtable, &["wan"]);
        assert_eq!(apply(&nft, &remaining, Some(&two), &[]).await, Ok(Applied::Unchanged));
    });
}

#[test]
fn detects_rules_that_another_program_adds_or_deletes() {
    with_devices(&["lan1", "wan"], |nft| async move {
        let plan = plan_with(Engine::Flowtable, &["lan1", "wan"]);
        apply(&nft, &plan, None, &[]).await.unwrap();
        nft.run("add rule inet fastpath fastpath accept\n").await.unwrap();
        assert!(!in_force(&nft).await.matches(&plan));
        assert_eq!(apply(&nft, &plan, Some(&plan), &[]).await, Ok(Applied::Replaced));
        nft.run("flush chain inet fastpath fastpath\n").await.unwrap();
        assert!(!in_force(&nft).await.matches(&plan));
        nft.run("flush ruleset\n").await.unwrap();
        assert_eq!(read_back(&nft).await, Ok(None), "as after fw4 flush");
        assert_eq!(apply(&nft, &plan, Some(&plan), &[]).await, Ok(Applied::Replaced));
    });
}

#[test]
fn reports_missing_hardware_offload_and_keeps_the_table() {
    with_devices(&["lan1", "wan"], |nft| async move {
        let software = plan_with(Engine::Flowtable, &["lan1", "wan"]);
        apply(&nft, &software, None, &[]).await.unwrap();
        let hardware = plan_with(Engine::FlowtableHw, &["lan1", "wan"]);
        let error = apply(&nft, &hardware, Some(&software), &[]).await.unwrap_err();
        assert!(matches!(error, ApplyError::Refused(_)), "{error:?}");
        assert!(error.to_string().contains("Operation not supported"), "{error}");
        assert!(in_force(&nft).await.matches(&software));
    });
}

#[test]
fn nft_accepts_excludes() {
    with_devices(&["lan1", "wan"], |nft| async move {
        let text = "config exclude
\toption name 'Größe {; } # drop'
\toption dest '2001:db8::/32'
\toption proto 'udp'
\toption dest_port '1-65535'
config exclude
\toption src '0.0.0.0/0'
";
        let (settings, _) = Settings::from_uci(&parse_uci(text).unwrap()).unwrap();
        let plan =
            Plan { excludes: settings.excludes, ..plan_with(Engine::Flowtable, &["lan1", "wan"]) };
        assert_eq!(apply(&nft, &plan, None, &[]).await, Ok(Applied::Replaced));
        assert!(in_force(&nft).await.matches(&plan));
    });
}

#[test]
fn changes_the_gate_and_keeps_the_flowtable() {
    with_devices(&["lan1", "wan"], |nft| async move {
        let of = |gate| {
            let inspection = InspectionRules {
                marks: Settings::default().marks().unwrap(),
                fail_open: true,
                default: Action::Inspect,
                policies: vec![],
                exempt: vec![],
                budget_bytes: 1 << 20,
                budget_packets: 0,
                queues: Queues { first: 0, count: 4, spread: Spread::Fanout },
                gate,
            };
            let protection = Protection { inspection: Some(inspection), blocks: Some(16) };
            Plan { protection, ..plan_with(Engine::Flowtable, &["lan1", "wan"]) }
        };
        assert_eq!(apply(&nft, &of(Gate::Open), None, &[]).await, Ok(Applied::Replaced));
        for gate in [Gate::Closed, Gate::Queue] {
            assert_eq!(apply(&nft, &of(gate), None, &[]).await, Ok(Applied::Gate));
            assert_eq!(apply(&nft, &of(gate), None, &[]).await, Ok(Applied::Unchanged));
        }
        assert_eq!(renew(&nft, &of(Gate::Queue), &[]).await, Ok(Applied::Replaced));
        assert!(ip("link del wan"));
        let devices = std::collections::BTreeSet::from(["lan1".to_owned()]);
        let partly = Ok(Applied::Partly { devices });
        assert_eq!(apply(&nft, &of(Gate::Queue), None, &[]).await, partly);
    });
}
