// SPDX-License-Identifier: GPL-2.0-or-later
use proptest::prelude::*;

use super::*;

const FILE: &str = "# mine\nconfig main 'main'\n\toption enabled '1'\n\n\
    # Anna's\nconfig device\n\toption  mac 02:11:22:33:44:AA # phone\n\toption name Anna\n\
    \tlist other 'x'\n# of the next\nconfig device 'tv'\n\toption mac '02:11:22:33:44:bb'\n\
    \toption group 'children'";

fn of(mac: &str) -> Target {
    Target::Mac(mac.to_owned())
}

fn values(pairs: &[(&'static str, &str)]) -> Values {
    let value = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    pairs.iter().map(|(name, text)| (*name, value(text))).collect()
}

fn after(text: &str, target: &Target, values: Option<&Values>) -> String {
    String::from_utf8(edited(text.as_bytes(), target, values).unwrap().unwrap()).unwrap()
}

#[test]
fn changes_only_lines_of_changed_options() {
    let anna = of("02:11:22:33:44:aa");
    let set = values(&[("name", "Anna's phone"), ("group", "children"), ("kind", "")]);
    let new = after(FILE, &anna, Some(&set));
    let expected = FILE
        .replace("\toption name Anna\n", "\toption name 'Anna'\\''s phone'\n")
        .replace("'x'\n", "'x'\n\toption group 'children'\n");
    assert_eq!(new, expected);
    assert_eq!(edited(new.as_bytes(), &anna, Some(&set)), Ok(None));
    let group = Target::Group("children".to_owned());
    let paused = after(&new, &group, Some(&values(&[("paused", "1"), ("paused_until", "")])));
    assert_eq!(paused.matches("\toption paused '1'\n").count(), 2);
    let resume = values(&[("paused", ""), ("paused_until", "")]);
    assert_eq!(after(&paused, &group, Some(&resume)), new + "\n");
}

#[test]
fn a_device_is_added_with_its_first_value_and_forgotten() {
    let new = of("02:00:00:00:00:01");
    assert_eq!(edited(FILE.as_bytes(), &new, Some(&values(&[("name", "")]))), Ok(None));
    assert_eq!(edited(FILE.as_bytes(), &new, None), Ok(None));
    let added = after(FILE, &new, Some(&values(&[("kind", "tv")])));
    let section = "\nconfig device\n\toption kind 'tv'\n\toption mac '02:00:00:00:00:01'\n";
    assert_eq!(added, format!("{FILE}\n{section}"));
    assert_eq!(after(&added, &new, None), format!("{FILE}\n"));
    let rest = after(FILE, &of("02:11:22:33:44:aa"), None);
    assert!(rest.contains("# Anna's\n# of the next\nconfig device 'tv'\n"), "{rest}");
}

#[test]
fn refuses_broken_files_unknown_groups_and_too_many_devices() {
    let (target, some) = (of("02:00:00:00:00:01"), values(&[("name", "x")]));
    let edit = |text: &str, target: &Target| edited(text.as_bytes(), target, Some(&some));
    assert!(matches!(edit("config device\noption\n", &target), Err(Unedited::Broken(_))));
    let group = Target::Group("x".to_owned());
    assert_eq!(edit(FILE, &group), Err(Unedited::NoGroup("x".to_owned())));
    let section = |number| format!("config device\n option mac '02:00:00:00:01:{number:02x}'\n");
    let full: String = (0..MAX_SECTIONS).map(|number| section(number % 256)).collect();
    assert_eq!(edit(&full, &target), Err(Unedited::Full));
    assert!(edit(&full, &of("02:00:00:00:01:00")).is_ok_and(|new| new.is_some()));
}

#[test]
fn a_device_is_a_unicast_mac() {
    assert_eq!(mac("0A:bb:Cc:00:00:01").as_deref(), Some("0a:bb:cc:00:00:01"));
    for text in [
        "",
        "0",
        "é",
        "02:00:00:00:00",
        "02-00-00-00-00-01",
        "01:00:5e:00:00:01",
        "00:00:00:00:00:00",
        "ff:ff:ff:ff:ff:ff",
        "02:00:00:00:00:01 ",
    ] {
        assert_eq!(mac(text), None, "{text:?}");
    }
}

/// A file with these lines after its sections' first ones.
fn file(line: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let section =
        prop_oneof![Just("config device"), Just("config device 'd'"), Just(" c main # device")];
    let section = (section, prop::collection::vec(line, 0..5));
    let section = section.prop_map(|(head, lines)| format!("{head}\n{}", lines.concat()));
    prop::collection::vec(section, 0..6).prop_map(|sections| sections.concat())
}

/// Lines in the spellings of people and libuci.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        "\t(option|o) (name|'group'|paused|paused_until) [a-c1]{1,3}( # [a-z]{3})?\n",
        "\tlist x '[a-c ]{1,3}'\n",
        "[ \t]*(# config device)?\n",
        " option 'mac' \"02:00:00:00:00:0[0-3]\" # [a-z']{0,4}\r?\n",
    ]
}

/// Statements that span lines or share one.
fn odd_line() -> impl Strategy<Value = String> {
    prop_oneof![
        line(),
        "\toption [xa] 'a\n(config device|option name a|\toption paused 1)\n'\n".boxed(),
        "\toption 'name' 'a' ; option mac '02:00:00:00:00:0[0-3]'\n",
        "c device; o mac '02:00:00:00:00:0[0-3]'\n",
    ]
}

fn set_values() -> impl Strategy<Value = (Target, Values)> {
    let mac = "02:00:00:00:00:0[0-3]".prop_map(Target::Mac);
    let target = prop_oneof![mac, "[a-c]".prop_map(Target::Group)];
    let value = || prop::option::of("[ -~é]{1,6}");
    let values = (value(), value()).prop_map(|(name, paused)| {
        Values::from([("name", name), ("paused", paused), ("paused_until", None)])
    });
    (target, values)
}

fn sets_only_these(text: &str, target: &Target, set: &Values) {
    let Ok(old) = parse(text) else { return };
    let Ok(Some(new)) = edited(text.as_bytes(), target, Some(set)) else { return };
    let is = parse(&new).unwrap();
    let mut wanted = old.clone();
    for section in wanted.sections.iter_mut().filter(|section| target.has(section)) {
        super::set(&mut section.options, set);
    }
    let added = usize::from(!old.sections.iter().any(|section| target.has(section)));
    assert_eq!(is.sections.len(), old.sections.len() + added, "{text:?}");
    let before = Package { sections: is.sections[..old.sections.len()].to_vec() };
    assert!(before.says(&wanted), "{text:?}");
    assert_eq!(edited(&new, target, Some(set)), Ok(None), "{text:?}");
}

/// Returns the lines that are not about the options of [`set_values`].
fn other_lines(text: &str) -> Vec<&str> {
    let is_other =
        |line: &&str| !["name", "paused", "paused_until"].contains(&&*words(line.as_bytes())[1]);
    text.lines().filter(is_other).collect()
}

proptest! {
    #[test]
    fn other_lines_stay_byte_for_byte(text in file(line()), (target, set) in set_values()) {
        // A section that a later line opens again is written anew.
        prop_assume!(text.matches("'d'").count() < 2);
        sets_only_these(&text, &target, &set);
        if let Ok(Some(new)) = edited(text.as_bytes(), &target, Some(&set)) {
            let new = String::from_utf8(new).unwrap();
            let added = new.strip_prefix(&text).is_some_and(|rest| rest.starts_with("\nconfig"));
            prop_assert!(added || other_lines(&new) == other_lines(&text), "{text:?}: {new:?}");
        }
        if let Ok(Some(new)) = edited(text.as_bytes(), &target, None) {
            let mut wanted = parse(&text).unwrap();
            wanted.sections.retain(|section| !target.has(section));
            prop_assert!(parse(&new).unwrap().says(&wanted));
        }
    }

    #[test]
    fn statements_that_span_or_share_lines_stay(
        text in file(odd_line()), (target, set) in set_values(),
    ) {
        sets_only_these(&text, &target, &set);
    }
}
