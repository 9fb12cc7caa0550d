// SPDX-License-Identifier: GPL-2.0-or-later
use config::parse_uci;

use super::*;
use crate::machine::{Cpu, FULL_CAPACITY};

fn read(options: &str) -> Result<(Settings, Vec<String>), String> {
    let values = parse_uci(&format!("config cpu 'cpu'\n{options}")).expect(options);
    let mut package = Package::new(&values).expect(options);
    let settings = Settings::read(&mut package);
    let warnings = package.finish().map_err(|error| error.to_string())?;
    Ok((settings, warnings.iter().map(ToString::to_string).collect()))
}

fn machine(cpus: u32) -> Machine {
    let cpu = |cpu| Cpu {
        cpu,
        online: true,
        isolated: false,
        capacity: FULL_CAPACITY,
        core: cpu,
        node: None,
    };
    Machine { cpus: (0..cpus).map(cpu).collect(), devices: Vec::new() }
}

fn refused(options: &str, machine: &Machine, inspection: bool) -> Vec<String> {
    let (settings, _) = read(options).expect(options);
    settings.check(machine, inspection).iter().map(ToString::to_string).collect()
}

#[test]
fn reads_all_options() {
    let (settings, warnings) = read(
        "\toption enabled '0'\n\toption forwarding '0-1'\n\toption inspection '3,2'\n\
         \toption control '0'\n\toption profile 'inspect'\n",
    )
    .unwrap();
    assert!(!settings.enabled && warnings.is_empty());
    assert_eq!(settings.forwarding, Some("0-1".parse().unwrap()));
    assert_eq!(settings.inspection, Some("2-3".parse().unwrap()));
    assert_eq!(settings.control, Some("0".parse().unwrap()));
    assert_eq!(settings.profile, Profile::Inspect);
}

#[test]
fn every_option_has_a_default() {
    assert_eq!(read("\toption forwarding ''\n").unwrap().0, Settings::default());
    let mut package = Package::new(&serde_json::json!({})).map(|mut p| Settings::read(&mut p));
    assert_eq!(package.as_mut().ok(), Some(&mut Settings::default()));
}

#[test]
fn problems_name_section_option_and_value() {
    for (options, problem) in [
        (
            "\toption profile 'fast'\n",
            "section 'cpu', option 'profile', value 'fast': is not one of auto, \
             forward, inspect",
        ),
        (
            "\toption forwarding '0-x'\n",
            "section 'cpu', option 'forwarding', value '0-x': is not a list of CPUs such as 0-3,8",
        ),
        (
            "\toption inspection '3-1'\n",
            "section 'cpu', option 'inspection', value '3-1': has the descending range 3-1",
        ),
        (
            "\toption forwarding '0-2'\n\toption inspection '2-3'\n",
            "section 'cpu', option 'inspection', value '2-3': overlaps with 'forwarding' in CPU 2",
        ),
        (
            "\toption enabled 'maybe'\n",
            "section 'cpu', option 'enabled', value 'maybe': is neither 1 nor 0",
        ),
    ] {
        assert_eq!(read(options).unwrap_err(), problem, "{options}");
    }
}

#[test]
fn rejects_lists_that_do_not_fit_the_machine() {
    for (options, what) in [
        ("\toption forwarding '0,9'\n", "has CPUs that do not exist: 9; there are 0-3"),
        ("\toption inspection '2-9'\n", "has CPUs that do not exist: 4-9; there are 0-3"),
        ("\toption forwarding '0-3'\n", "leaves no CPU for inspection"),
        ("\toption inspection '0-3'\n", "leaves no CPU for forwarding"),
        ("\toption control '0-3'\n", "leaves no CPU for forwarding"),
        ("\toption control '0'\n\toption inspection '1-3'\n", "leaves no CPU for forwarding"),
        (
            "\toption control '1-2'\n\toption forwarding '0-1'\n",
            "overlaps with 'forwarding' in CPU 1",
        ),
    ] {
        let problems = refused(options, &machine(4), true);
        assert_eq!(problems.len(), 1, "{options} {problems:?}");
        assert!(problems[0].ends_with(&format!(": {what}")), "{}", problems[0]);
        assert!(problems[0].starts_with("section 'cpu', option '"), "{}", problems[0]);
    }
}

#[test]
fn rejects_offline_cpus_and_cpus_that_suricata_cannot_pin() {
    let mut machine = machine(4);
    machine.cpus[1].online = false;
    let offline = refused("\toption forwarding '0-1'\n", &machine, true);
    assert!(offline[0].ends_with("has offline CPUs: 1"), "{}", offline[0]);
    let beyond = refused("\toption inspection '2-3'\n", &machine, true);
    assert!(beyond[0].contains("has CPU 3, which Suricata cannot pin"), "{}", beyond[0]);
}

#[test]
fn accepts_lists_that_have_no_effect() {
    let four = machine(4);
    for options in
        ["\toption forwarding '0-3'\n", "\toption control '0-3'\n", "\toption inspection '0-3'\n"]
    {
        assert!(refused(options, &four, false).is_empty(), "not wanted: {options}");
    }
    assert!(refused("\toption enabled '0'\n\toption control '9'\n", &four, true).is_empty());
    assert!(refused("\toption forwarding '0'\n", &machine(1), true).is_empty());
}
