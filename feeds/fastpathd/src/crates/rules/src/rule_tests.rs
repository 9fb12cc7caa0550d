// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;

const HEADER: &str = "alert tcp any any -> any any";

fn rule(options: &str) -> Result<(u32, u32, u32), SourceFault> {
    let text = format!("{HEADER} ({options})");
    Rule::parse(&text).map(|rule| (rule.gid, rule.sid, rule.rev))
}

fn drop_of(options: &str) -> Result<String, KeepReason> {
    Rule::parse(&format!("{HEADER} ({options} sid:1;)")).expect("a rule").as_drop()
}

#[test]
fn identity_is_read() {
    assert_eq!(rule("msg:\"a\"; sid:7; rev:2;"), Ok((1, 7, 2)));
    assert_eq!(rule(" sid : 7 ; gid:3;"), Ok((3, 7, 0)));
    assert_eq!(rule("SID:7; Rev:2;"), Ok((1, 7, 2)));
    assert_eq!(rule(r#"msg:"a \; sid:9\; b"; sid:4294967295;"#), Ok((1, u32::MAX, 0)));
    assert_eq!(rule(r#"content:"a\\"; sid:7;"#), Ok((1, 7, 0)));
    // To Suricata a backslash protects even if it is escaped itself.
    assert_eq!(rule(r#"msg:"a\\; sid:9; sid:7;"#), Ok((1, 7, 0)));
}

#[test]
fn what_is_no_rule_says_why() {
    for (text, error) in [
        ("<html>", SourceFault::NoOptions),
        ("(sid:1;)", SourceFault::NoAction),
        ("<a> (sid:1;)", SourceFault::NoAction),
        ("alert tcp any any -> any any (msg:\"a\"; sid:1;", SourceFault::NotClosed),
        ("alert tcp any any -> any any (msg:\"a\"; sid:1)", SourceFault::NotClosed),
        ("alert tcp any any -> any any (msg:\"a\";)", SourceFault::NoSid),
        ("alert tcp any any -> any any (sid:1; sid:2;)", SourceFault::Twice { option: "sid" }),
    ] {
        assert_eq!(Rule::parse(text), Err(error), "{text}");
    }
    for bad in ["sid:0;", "sid:-1;", "sid:4294967296;", "sid:x;", "sid:1; rev:-1;"] {
        assert!(matches!(rule(bad), Err(SourceFault::Number { .. })), "{bad}");
    }
}

#[test]
fn an_alert_becomes_a_drop_and_nothing_else_does() {
    assert_eq!(drop_of("").as_deref(), Ok("drop tcp any any -> any any ( sid:1;)"));
    assert_eq!(drop_of("flowbits:isset,a;").as_deref().map(|text| &text[..5]), Ok("drop "));
    assert_eq!(drop_of("noalert;"), Err(KeepReason::NoAlert));
    assert_eq!(drop_of("flowbits:noalert;"), Err(KeepReason::NoAlert));
    assert_eq!(drop_of("NoAlert;"), Err(KeepReason::NoAlert));
    assert_eq!(drop_of("flowbits: set , a;"), Err(KeepReason::Sets("flowbits")));
    assert_eq!(drop_of("xbits:set,a,track ip_src;"), Err(KeepReason::Sets("xbits")));
    for action in ["drop", "pass", "reject", "config"] {
        let text = format!("{action} tcp any any -> any any (sid:1;)");
        let rule = Rule::parse(&text).expect("a rule");
        assert_eq!(rule.as_drop(), Err(KeepReason::OtherAction), "{action}");
        assert_eq!(rule.stops(), matches!(action, "drop" | "reject"), "{action}");
    }
}

#[test]
fn rules_with_files_or_marks_are_distinguished() {
    let of = |options: &str| {
        Rule::parse(&format!("{HEADER} ({options} sid:1;)")).expect("a rule").unusable
    };
    assert_eq!(of("lua:x.lua;"), Some(Unusable::File("lua")));
    assert_eq!(of("filemd5:list;"), Some(Unusable::File("filemd5")));
    assert_eq!(of("dataset:isset,a,type string,load a.lst;"), Some(Unusable::File("dataset")));
    assert_eq!(of("dataset:set, a, type md5, save /etc/x;"), Some(Unusable::File("dataset")));
    assert_eq!(of("dataset:isset,a,type string;"), None);
    assert_eq!(of("nfq_set_mark:0x40000000/0x40000000;"), Some(Unusable::Mark("nfq_set_mark")));
    assert_eq!(of("content:\"lua\";"), None);
    // Suricata takes keywords in any case.
    assert_eq!(of("NFQ_Set_Mark:1/1;"), Some(Unusable::Mark("nfq_set_mark")));
    assert_eq!(of("DataSet:set,a,type string,save /etc/x;"), Some(Unusable::File("dataset")));
}

#[test]
fn a_rule_in_a_comment_is_no_sentence() {
    assert!(is_disabled_rule("alert tcp any any -> any any (sid:1;)"));
    assert!(is_disabled_rule("# drop tcp any any -> any any (sid:1;)"));
    assert!(!is_disabled_rule("pass on what you know (always)"));
    assert!(!is_disabled_rule(""));
}

proptest::proptest! {
    #[test]
    fn any_text_is_a_rule_or_says_why_not(text in "\\PC*") {
        let _ = Rule::parse(&text);
        let _ = is_disabled_rule(&text);
    }

    #[test]
    fn what_is_read_is_what_was_written(
        sid in 1u32.., rev: u32, gid: u32, message in "[a-z\\\\\";: ]{0,30}",
    ) {
        let escaped = message.replace('\\', "\\\\").replace(';', "\\;").replace('"', "\\\"");
        let text = format!("{HEADER} (msg:\"{escaped}\"; gid:{gid}; sid:{sid}; rev:{rev};)");
        let rule = Rule::parse(&text).expect("a rule");
        proptest::prop_assert_eq!((rule.gid, rule.sid, rule.rev), (gid, sid, rev));
        let dropping = rule.as_drop().expect("an alert");
        proptest::prop_assert_eq!(dropping.strip_prefix("drop"), text.strip_prefix("alert"));
    }
}
