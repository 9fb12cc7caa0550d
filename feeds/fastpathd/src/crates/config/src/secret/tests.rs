// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;

/// Options in `OpenWrt`'s schema of `wireless` that contain a secret or free text.
const WIRELESS_SECRETS: &[&str] = &[
    "key",
    "key1",
    "key2",
    "key3",
    "key4",
    "acct_secret",
    "acct_server_shared_secret",
    "auth_secret",
    "auth_server_shared_secret",
    "dae_secret",
    "radius_das_secret",
    "ap_pin",
    "wps_pin",
    "r0kh",
    "r1kh",
    "r1_key_holder",
    "priv_key_pwd",
    "priv_key2_pwd",
    "password",
    "private_key_passwd",
    "private_key2_passwd",
    "multi_ap_backhaul_key",
    "wpa_psk_file",
    "sae_password_file",
    "sae_password",
    "hostapd_options",
    "hostapd_bss_options",
    "radius_auth_req_attr",
    "radius_acct_req_attr",
    "eap_user_file",
    "server_id",
    "identity",
    "anonymous_identity",
    "dpp_netaccesskey",
    "dpp_csign",
    "dpp_connector",
    "wpa_psk",
    "psk",
    "sae_track_password",
];

#[test]
fn masks_keys_of_wireless() {
    for kind in ["wifi-iface", "wifi-device", "wifi-station", "wifi-vlan"] {
        for option in WIRELESS_SECRETS {
            assert_eq!(shown(kind, option, "geheim"), MASK, "{kind}.{option}");
        }
    }
}

#[test]
fn no_listed_option_is_named_like_a_secret() {
    const HARMLESS: &[&str] = &[
        "any_reject_code",
        "ft_psk_generate_local",
        "hash_max",
        "ppsk",
        "public_key",
        "r0_key_lifetime",
        "tcp_reject_code",
        "urandom_seed",
        "wpa_gmk_rekey",
        "wpa_group_rekey",
        "wpa_pair_rekey",
        "wpa_ptk_rekey",
        "wpa_strict_rekey",
        "wpa_disable_eapol_key_retries",
    ];
    for (kind, options) in &*SHOWN {
        for option in options.iter().filter(|option| !HARMLESS.contains(&option.as_str())) {
            assert!(!is_secret_name(option), "{kind}.{option}");
        }
    }
    assert!(SHOWN.len() > 50, "it is parsed");
}

#[test]
fn masks_unlisted_options() {
    for (kind, option) in [
        ("export", "pasword"),
        ("export", "password"),
        ("rules", "token"),
        ("interface", "otp_seed"),
        ("interface", "clientid"),
        ("interface", "sendopts"),
        ("wireguard_wg0", "private_key"),
        ("wireguard_wg0", "preshared_key"),
        ("login", "password"),
        ("rngd", "precmd"),
        ("system", "notes"),
        ("ddns", "enabled"),
        ("", "name"),
        ("fastpath", "ENABLED"),
    ] {
        assert_eq!(shown(kind, option, "geheim"), MASK, "{kind}.{option}");
        assert_eq!(shown(kind, option, ""), "");
    }
    for (kind, option) in [
        ("wireguard_wg0", "public_key"),
        ("interface", "username"),
        ("export", "host"),
        ("rule", "src"),
        ("wifi-iface", "ssid"),
    ] {
        assert_eq!(shown(kind, option, "x"), "x", "{kind}.{option}");
    }
}

#[test]
fn shows_only_scheme_and_host_of_a_url() {
    for (url, masked) in [
        ("https://rules.example", "https://rules.example"),
        ("https://rules.example:8443/", "https://rules.example:8443/"),
        ("https://[2001:db8::1]:1/x", "https://[2001:db8::1]:1/•••"),
        ("https://geheim@rules.example/", "https://rules.example/•••"),
        ("https://ann:geheim@rules.example", "https://rules.example/•••"),
        ("https://rules.example/550e8400-geheim-a716/x.tar.gz", "https://rules.example/•••"),
        ("https://rules.example?geheim", "https://rules.example/•••"),
        ("https://rules.example#geheim", "https://rules.example/•••"),
        ("https://h/a:b@geheim", "https://h/•••"),
        ("https://ann:ge/heim@rules.example/x", MASK),
        ("https:/ann:geheim@rules.example/x", MASK),
        ("geheim", MASK),
        ("https://ge heim/", MASK),
        ("see https://rules.example/", MASK),
        ("https://a.example/ https://geheim@b.example/", "https://a.example/•••"),
        ("https://", MASK),
    ] {
        assert_eq!(shown("rules", "url", url), masked, "{url}");
    }
}

#[test]
fn masks_credentials_in_options_other_than_urls() {
    assert_eq!(shown("interface", "server", "ann:geheim@h.example"), MASK);
    assert_eq!(shown("interface", "server", "ftp://ann:geheim@h.example"), "ftp://h.example/•••");
    assert_eq!(shown("interface", "server", "ann%3Ageheim@h.example"), MASK);
    assert_eq!(shown("interface", "username", "me@isp"), "me@isp");
    assert_eq!(shown("policy", "name", "a@b:c"), "a@b:c");
    assert_eq!(shown("notification", "token", "tk_1"), MASK);
    assert_eq!(shown("notification", "url", "https://h.example/topic"), "https://h.example/•••");
}

#[test]
fn options_of_the_shipped_configuration_are_shown() {
    let shipped = include_str!("../../../../../files/fastpath.config");
    let mut kind = "";
    for line in shipped.lines().map(|line| line.trim_start_matches('#').trim()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["config", of, ..] => kind = of,
            ["option" | "list", option, ..] if !["password", "key", "token"].contains(&option) => {
                assert!(is_shown(kind, option), "{kind}.{option}");
            }
            _ => {}
        }
    }
}

#[test]
fn recognises_files_with_secrets() {
    let holds = |text: &str| holds_secret(&uci::parse(text).unwrap());
    for secret in [
        "config interface wan\n option proto pppoe\n option password x\n",
        "config wireguard_wg0\n option preshared_key x\n",
        "config wireguard_wg0\n option misspelt_kee x\n",
        "config wifi-iface\n list r0kh x\n",
        "config rules et\n option url 'https://h.example/geheim'\n",
        "config service ddns\n option password x\n",
        "config openvpn\n option auth_user_pass x\n",
        "config x\n option Key2 x\n",
        "config agent\n option community public\n",
        "config cert\n list credentials 'CF_Token=\"geheim\"'\n",
        "config settings\n option authkey tskey-geheim\n",
        "config banip\n option ban_apikey geheim\n",
        "config vpn\n option auth_user_pass geheim\n",
        "config relay\n option smtpPassword geheim\n",
        "config service\n option param_opt 'https://h.example/geheim'\n",
        "config service\n option server 'ann:geheim@h.example'\n",
        "config service\n option server 'ann%3Ageheim@h.example'\n",
        "config service\n option id 9f86d081884c7d659a2feaa0c55ad015\n",
        "config service\n list id 'a 550e8400e29b41d4a716446655440000'\n",
        "config sim\n option pincode 1234\n",
        "config mail\n option smtp_pw geheim\n",
        "config api\n option bearer geheim\n",
        "config client\n option Cookie geheim\n",
        "config vpn\n option otp1 geheim\n",
    ] {
        assert!(holds(secret), "{secret}");
    }
    for plain in [
        "",
        "config interface wan\n option proto dhcp\n option password ''\n",
        "config rules et\n option url 'https://h.example/'\n",
        "config service ddns\n option enabled 1\n option keyboard de\n",
        "config dropbear\n option PasswordAuth on\n option RootPasswordAuth 0\n option Port 2222\n",
        "config uhttpd main\n list listen_http 0.0.0.0:80\n option rfc1918_filter 1\n",
        "config lldp\n option mapping codec\n option ping_host h.example\n",
        include_str!("../../../../../files/fastpath.config"),
    ] {
        assert!(!holds(plain), "{plain}");
    }
}
