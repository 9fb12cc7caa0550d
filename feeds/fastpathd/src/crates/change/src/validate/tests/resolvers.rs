// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;

const HTTPS: &str = "
config main 'config'
    option dnsmasq_config_update '*'
config https-dns-proxy 'one'
    option bootstrap_dns '1.1.1.1,1.0.0.1'
    option resolver_url 'https://cloudflare-dns.com/dns-query'
    option listen_port '5053'
";
const STUBBY: &str = "
config stubby 'global'
    list listen_address '127.0.0.1@5453'
config resolver 'one'
    option address '2606:4700:4700::1111'
    option tls_auth_name 'one.one.one.one'
";

#[test]
fn values_of_encrypted_resolvers_are_not_words_of_a_command_line() {
    let found = |config: &str, values: Value| {
        let mut all = router();
        all.extend(packages(&[("https-dns-proxy", HTTPS), ("stubby", STUBBY)]));
        let draft = Draft::new(all, &edits(json!([set(config, "one", values)]))).unwrap();
        let problems = problems(&draft, &validators()).into_iter();
        problems.map(|of| (of.option, of.code)).collect::<BTreeSet<_>>()
    };
    for (config, option, good, bad) in [
        (
            "https-dns-proxy",
            "resolver_url",
            ["https://dns.quad9.net/dns-query", "https://9.9.9.9:8443/a/b?c=d%20"],
            [
                "http://dns.quad9.net/dns-query",
                "https://dns.quad9.net/ -l /etc/passwd",
                "https://dns.quad9.net:0/",
                "https://-a/",
                "https://",
                "https://a/$(id)",
            ],
        ),
        (
            "https-dns-proxy",
            "bootstrap_dns",
            ["9.9.9.9", "9.9.9.9,2620:fe::fe"],
            ["9.9.9.9,", "9.9.9.9;id", "dns.quad9.net", "9.9.9", "-l", "9.9.9.9  1.1.1.1"],
        ),
        (
            "https-dns-proxy",
            "listen_port",
            ["1", "65535"],
            ["0", "65536", "-1", "53 -l x", "x", "5.3"],
        ),
        (
            "stubby",
            "address",
            ["9.9.9.9", "2620:fe::fe"],
            ["9.9.9", "dns.quad9.net", "9.9.9.9@853", "\"", "9.9.9.9 1.1.1.1", "::g"],
        ),
        (
            "stubby",
            "tls_auth_name",
            ["dns.quad9.net", "a"],
            ["a b", "\"x", "-a", "a..b", "https://a", "a/b"],
        ),
        ("stubby", "tls_port", ["853", "443"], ["0", "65536", "x", "-853", "8 5", "0x1"]),
    ] {
        for value in good {
            assert!(found(config, json!({option: value})).is_empty(), "{value}");
        }
        for value in bad {
            let expected = BTreeSet::from([(option.to_owned(), "value")]);
            assert_eq!(found(config, json!({option: value})), expected, "{value}");
        }
    }
}

#[test]
fn values_in_scripts_of_other_packages_are_single_words_and_no_files() {
    let mwan3 = "config interface 'one'\n\toption enabled '1'\n";
    let igmpproxy = "config phyint 'one'\n\toption direction 'upstream'\n";
    let all = [("https-dns-proxy", HTTPS), ("stubby", STUBBY), ("mwan3", mwan3)];
    let found = |config: &str, value: &Value| {
        let mut packages_ = router();
        packages_.extend(packages(&all));
        packages_.extend(packages(&[("igmpproxy", igmpproxy)]));
        let edits = edits(json!([set(config, "one", json!({"other": value}))]));
        let draft = Draft::new(packages_, &edits).unwrap();
        let problems = problems(&draft, &validators()).into_iter();
        problems.filter(|of| of.option == "other").map(|of| of.code).collect::<BTreeSet<_>>()
    };
    for config in ["https-dns-proxy", "stubby", "mwan3", "igmpproxy"] {
        for good in [json!("nobody"), json!("EECDH+AESGCM"), json!(["10.0.0.0/8", "a_b-c=1"])] {
            assert!(found(config, &good).is_empty(), "{config} {good}");
        }
        for bad in ["-l", "a b", "a;id", "$(id)", "`id`", "a\"b", "a'b", "*", "a|b", "ä", "a\\b"] {
            for value in [json!(bad), json!(["good", bad])] {
                assert!(found(config, &value).contains("value"), "{config} {value}");
            }
        }
        for file in ["/etc/shadow", "../x", "~root/x"] {
            for value in [json!(file), json!(["good", file])] {
                assert!(found(config, &value).contains("reads-file"), "{config} {value}");
            }
        }
    }
}
