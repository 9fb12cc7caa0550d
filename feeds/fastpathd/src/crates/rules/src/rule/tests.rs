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
fn parses_gid_sid_and_rev() {
    assert_eq!(rule("msg:\"a\"; sid:7; rev:2;"), Ok((1, 7, 2)));
    assert_eq!(rule(" sid : 7 ; gid:3;"), Ok((3, 7, 0)));
    assert_eq!(rule("SID:7; Rev:2;"), Ok((1, 7, 2)));
    assert_eq!(rule(r#"msg:"a \; sid:9\; b"; sid:4294967295;"#), Ok((1, u32::MAX, 0)));
    assert_eq!(rule(r#"content:"a\\"; sid:7;"#), Ok((1, 7, 0)));
    // An escaped backslash protects a `;` in Suricata.
    assert_eq!(rule(r#"msg:"a\\; sid:9; sid:7;"#), Ok((1, 7, 0)));
}

#[test]
fn reports_faults_of_invalid_rules() {
    for (text, error) in [
        ("<html>", SourceFault::NoOptions),
        ("(sid:1;)", SourceFault::NoAction),
        ("<a> (sid:1;)", SourceFault::NoAction),
        ("alert tcp any any -> any any ((nfq_set_mark:1/1; sid:1;)", SourceFault::Header),
        ("alert tcp any any -> any any ( \t(lua:x; sid:1;)", SourceFault::Header),
        ("alert tcp any any -> any any(sid:1;)", SourceFault::Header),
        ("alert tcp any any any any any (sid:1;)", SourceFault::Header),
        ("alert tcp any any -> any (sid:1;)", SourceFault::Header),
        ("alert tcp any any -> any any any (sid:1;)", SourceFault::Header),
        ("alert tcp any any -> any [80 (msg:\"a\"; sid:1;) ] (lua:x; sid:2;)", SourceFault::Header),
        ("alert tcp any any -> any 80] (sid:1;)", SourceFault::Header),
        ("alert tcp any any -> any any # (sid:1;)", SourceFault::Header),
        ("alert tcp any\u{a0}any -> any any any (sid:1;)", SourceFault::Header),
        ("alert tcp any any -> any any (sid:1;\r lua:x;)", SourceFault::Control),
        ("alert tcp any any -> any any (\u{b}lua:x; sid:1;)", SourceFault::Control),
        ("alert tcp any any -> any any (msg:\"a\"; sid:1;", SourceFault::NotClosed),
        ("alert tcp any any -> any any (msg:\"a\"; sid:1)", SourceFault::NotClosed),
        ("alert tcp any any -> any any (msg:\"a\";)", SourceFault::NoSid),
        ("alert tcp any any -> any any (sid:1; sid:2;)", SourceFault::Twice { option: "sid" }),
    ] {
        assert_eq!(Rule::parse(text), Err(error), "{text}");
    }
    for name in ["(lua", "\u{a0}lua", "\u{feff}lua", "\"lua", "lua)", "a b", "", "#lua", "!lua"] {
        let error = rule(&format!("{name}:x; sid:1;")).expect_err("no name");
        let is_name = matches!(error, SourceFault::OptionName { .. } | SourceFault::Header);
        assert!(is_name, "{name}: {error}");
    }
    for bad in ["sid:0;", "sid:-1;", "sid:4294967296;", "sid:x;", "sid:1; rev:-1;"] {
        assert!(matches!(rule(bad), Err(SourceFault::Number { .. })), "{bad}");
    }
}

#[test]
fn converts_only_alerts_without_state_to_drops() {
    assert_eq!(drop_of("").as_deref(), Ok("drop tcp any any -> any any ( sid:1;)"));
    assert_eq!(drop_of("flowbits:isset,a;").as_deref().map(|text| &text[..5]), Ok("drop "));
    assert_eq!(drop_of("noalert;"), Err(KeepReason::NoAlert));
    assert_eq!(drop_of("flowbits:noalert;"), Err(KeepReason::NoAlert));
    assert_eq!(drop_of("NoAlert;"), Err(KeepReason::NoAlert));
    assert_eq!(drop_of("flowbits: set , a;"), Err(KeepReason::Sets("flowbits")));
    assert_eq!(drop_of("xbits:set,a,track ip_src;"), Err(KeepReason::Sets("xbits")));
    assert_eq!(drop_of("dataset:set,a,type ip;"), Err(KeepReason::Sets("dataset")));
    assert_eq!(drop_of("flowint: a , +, 1;"), Err(KeepReason::Sets("flowint")));
    assert_eq!(drop_of("flowint:a,=,1;"), Err(KeepReason::Sets("flowint")));
    for sets in ["flowint:a,-,1;", "flowint:a,*,1;", "flowint:a,later;"] {
        assert_eq!(drop_of(sets), Err(KeepReason::Sets("flowint")), "{sets}");
    }
    assert_eq!(drop_of("hostbits:later,a;"), Err(KeepReason::Sets("hostbits")));
    for only_read in ["dataset:isset,a,type ip;", "flowint:a,>=,1;", "flowint:a,isset;"] {
        assert!(drop_of(only_read).is_ok(), "{only_read}");
    }
    for action in ["drop", "pass", "reject"] {
        let text = format!("{action} tcp any any -> any any (sid:1;)");
        let rule = Rule::parse(&text).expect("a rule");
        assert_eq!(rule.as_drop(), Err(KeepReason::OtherAction), "{action}");
        assert_eq!(rule.stops(), matches!(action, "drop" | "reject"), "{action}");
    }
}

#[test]
fn reports_why_a_rule_is_unusable() {
    let of = |options: &str| {
        let text: &'static str = format!("{HEADER} ({options} sid:1;)").leak();
        Rule::parse(text).expect("a rule").unusable
    };
    for keyword in
        ["bypass", "config", "filestore", "replace", "tls.store", "template2", "nosuchword"]
    {
        assert_eq!(of(&format!("{keyword};")), Some(Unusable::NotAllowed(keyword)));
        let mixed: &str = keyword.to_uppercase().leak();
        assert_eq!(of(&format!("{mixed}:x;")), Some(Unusable::NotAllowed(mixed)));
    }
    for action in ["config", "accept", "bypass", "drop:flow", "activate"] {
        let text = format!("{action} tcp any any -> any any (sid:1;)");
        let unusable = Rule::parse(&text).expect("a rule").unusable;
        assert_eq!(unusable, Some(Unusable::NotAllowed(action)));
    }
    for keyword in ["flowbits", "xbits", "hostbits", "flowint", "FlowBits"] {
        let unusable = of(&format!("{keyword}:set, FastPath.handshake;"));
        assert!(matches!(unusable, Some(Unusable::Reserved(_))), "{keyword}");
    }
    assert_eq!(of("flowbits:set,other;"), None);
    for value in ["isset,a,type string,state x", "set,a,type ip,load\tx", "isset,a,remove_key"] {
        assert_eq!(of(&format!("dataset:{value};")), Some(Unusable::File("dataset")), "{value}");
    }
    assert_eq!(of("datarep:a,>,200,load x,type ip;"), Some(Unusable::File("datarep")));
    assert_eq!(of("dataset:isset,a,type string,memcap 1mb,hashsize 100;"), None);
    assert_eq!(of("lua:x.lua;"), Some(Unusable::File("lua")));
    assert_eq!(of("filemd5:list;"), Some(Unusable::File("filemd5")));
    assert_eq!(of("dataset:isset,a,type string,load a.lst;"), Some(Unusable::File("dataset")));
    assert_eq!(of("dataset:set, a, type md5, save /etc/x;"), Some(Unusable::File("dataset")));
    assert_eq!(of("dataset:isset,a,type string;"), None);
    assert_eq!(of("nfq_set_mark:0x40000000/0x40000000;"), Some(Unusable::Mark("nfq_set_mark")));
    assert_eq!(of("content:\"lua\";"), None);
    // Suricata's keywords are case-insensitive.
    assert_eq!(of("NFQ_Set_Mark:1/1;"), Some(Unusable::Mark("nfq_set_mark")));
    assert_eq!(of("DataSet:set,a,type string,save /etc/x;"), Some(Unusable::File("dataset")));
}

#[test]
fn distinguishes_disabled_rules_from_other_comments() {
    assert!(is_disabled_rule("alert tcp any any -> any any (sid:1;)"));
    assert!(is_disabled_rule("# drop tcp any any -> any any (sid:1;)"));
    assert!(!is_disabled_rule("pass on what you know (always)"));
    assert!(!is_disabled_rule(""));
}

proptest::proptest! {
    #[test]
    fn parses_any_text_without_a_panic(text in "\\PC*") {
        let _ = Rule::parse(&text);
        let _ = is_disabled_rule(&text);
    }

    #[test]
    fn rejects_or_omits_rules_with_disguised_keywords(
        before in "[ \\t(\\[\"'!#;:,\\\\\\x00-\\x1f\\u{a0}\\u{feff}\\u{2003}]{0,4}",
        after in "[ \\t)\"'\\x00-\\x1f\\u{a0}]{0,3}",
        keyword in "(?i)(lua|bypass|nfq_set_mark|filemd5|config|replace)",
    ) {
        let text = format!("{HEADER} ({before}{keyword}{after}:x; sid:1;)");
        let read = Rule::parse(&text);
        let refused = read.is_err() || read.is_ok_and(|rule| rule.unusable.is_some());
        proptest::prop_assert!(refused, "{text}");
    }

    #[test]
    fn preserves_identity_and_text(
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
