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
        problems.map(|of| (of.option, of.code)).collect::<Vec<_>>()
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
            assert_eq!(found(config, json!({option: value})), [], "{value}");
        }
        for value in bad {
            let expected = [(option.to_owned(), "value")];
            assert_eq!(found(config, json!({option: value})), expected, "{value}");
        }
    }
}
