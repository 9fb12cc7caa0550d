// SPDX-License-Identifier: GPL-2.0-or-later
//! Checks of access to the router: rights of accounts, the web login, and readable passwords.

use super::Check;
use crate::facts::Facts;
use crate::facts::access::{Access, GROUPS, Groups, LOGINS, grants, has};
use crate::finding::{Finding, Fix, Severity, Verdict};

pub(super) const CHECKS: &[Check] = &[
    Check { id: "system-sessions", group: "system", run: sessions },
    Check { id: "system-login", group: "system", run: login },
    Check { id: "system-secrets", group: "system", run: secrets },
];

/// The ACL group of the page. An account with write access is an administrator.
const PAGE: &str = "luci-app-fastpath";
/// Folders of rpcd's staged changes. Their names `uci-ID` reveal session ids, which are sufficient
/// to use a session. `/var` is a link, so both paths work.
const SESSIONS: [&str; 2] = ["/var/run/rpcd", "/tmp/run/rpcd"];
/// ACL group of clients without a login.
const NOBODY: &str = "unauthenticated";

/// Reports accounts that can list sessions of administrators without having write access.
fn sessions(facts: &Facts) -> Verdict {
    let Access { logins, groups, .. } = &facts.access;
    let (logins, groups) = (logins.get()?, groups.get()?);
    let mut finding = Finding::new(Severity::Warning);
    let mut names = Vec::new();
    for login in logins.of("login").filter(|login| !has(login, "write", PAGE)) {
        let may = |scope, object: &str| {
            groups.iter().find(|(group, rights)| {
                ["read", "write"].iter().any(|level| {
                    has(login, level, group)
                        && rights.iter().any(|each| grants(each, level, scope, object, "list"))
                })
            })
        };
        let folder = SESSIONS.iter().find_map(|folder| may("file", folder));
        let (Some((group, _)), Some(_)) = (folder, may("ubus", "file")) else { continue };
        let name = login.text("username").unwrap_or_default();
        names.push(name);
        finding = finding.saw("sessions", name, group, LOGINS);
    }
    Ok(finding.with("names", names.join(", ")).if_seen())
}

/// Reports that the web can call rpcd's own login, which does not delay guesses.
fn login(facts: &Facts) -> Verdict {
    let Access { groups, opened, throttled, .. } = &facts.access;
    let groups: &Groups = groups.get()?;
    let mut rights = groups.get(NOBODY).into_iter().flatten();
    let open = rights.any(|rights| grants(rights, "read", "ubus", "session", "login"));
    if !open || !throttled {
        return Ok(None);
    }
    // An administrator may have opened the login for another program.
    let severity = if *opened { Severity::Info } else { Severity::Warning };
    let case = if *opened { "chosen" } else { "" };
    Ok(Some(Finding::new(severity).case(case).saw("login", "", "session login", GROUPS)))
}

/// Reports files with passwords that all users can read.
fn secrets(facts: &Facts) -> Verdict {
    let mut finding = Finding::new(Severity::Warning);
    let paths = facts.access.exposed.get()?;
    for path in paths {
        finding = finding.saw("readable", path, "-", path);
    }
    let fix = Fix::run("/usr/libexec/fastpath-rpcd", &["secrets"]);
    Ok(finding.with("paths", paths.join(", ")).fix(Some(fix)).if_seen())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audience::Audience;
    use crate::facts::access;
    use crate::machine::fake::Fake;
    use crate::texts::tests::found_by;

    /// Grants of `LuCI` up to 25.12.
    const LUCI_BASE: &str = r#"{"luci-base": {"read": {"file": {"/": ["list"], "/*": ["list"]},
        "ubus": {"file": ["list"]}}, "write": {"ubus": {"uci": ["set"]}}}}"#;
    const UNAUTHENTICATED: &str =
        r#"{"unauthenticated": {"read": {"ubus": {"session": ["access", "login"]}}}}"#;

    fn router(logins: &str) -> Fake {
        Fake::new()
            .file(LOGINS, logins)
            .file("/usr/share/rpcd/acl.d/luci-base.json", LUCI_BASE)
            .file("/usr/share/rpcd/acl.d/broken.json", "{")
            .file("/usr/share/rpcd/acl.d/fastpath-access.json", "{}")
            .file("/usr/libexec/rpcd/fastpath.access", "")
    }

    fn facts(fake: &Fake, audience: Audience) -> Facts {
        Facts { access: access::read(fake, audience), ..Facts::default() }
    }

    fn viewer(rights: &str) -> Facts {
        let admin = "config login\n option username root\n list read '*'\n list write '*'\n";
        let text = format!("{admin}config login\n option username viewer\n{rights}");
        facts(&router(&text), Audience::Writer)
    }

    #[test]
    fn reports_a_viewer_who_can_list_sessions() {
        for rights in [
            " list read unauthenticated\n list read luci-app-fastpath\n list read luci-base\n",
            " list read 'luci-*'\n",
            " list read '*'\n",
            " list write 'luci-base'\n",
        ] {
            let finding = found_by(CHECKS, "system-sessions", &viewer(rights));
            assert_eq!(finding.severity, Severity::Warning);
            assert_eq!(finding.params["names"], "viewer", "{rights}");
            assert_eq!(finding.evidence[0].value, "luci-base");
        }
        for rights in [
            "",
            " list read unauthenticated\n list read luci-app-fastpath\n",
            " list read '*'\n list read '!luci-base'\n",
            " list read '*'\n list write 'luci-app-fastpath'\n",
        ] {
            assert_eq!(sessions(&viewer(rights)), Ok(None), "{rights}");
        }
    }

    #[test]
    fn only_writers_see_accounts_with_excessive_rights() {
        let fake = router("config login\n option username viewer\n list read luci-base\n");
        let reader = sessions(&facts(&fake, Audience::Reader)).unwrap_err().to_string();
        assert!(!reader.contains("viewer") && reader.contains("administrators"), "{reader}");
        assert!(sessions(&facts(&fake, Audience::Writer)).unwrap().is_some());
    }

    #[test]
    fn reports_a_login_that_an_upgrade_opened() {
        let open = |logins: &str| {
            router(logins).file("/usr/share/rpcd/acl.d/unauthenticated.json", UNAUTHENTICATED)
        };
        let found = found_by(CHECKS, "system-login", &facts(&open(""), Audience::Reader));
        assert_eq!((found.severity, found.case), (Severity::Warning, ""));
        let chosen = open("config access fastpath\n option session_login 1\n");
        let found = found_by(CHECKS, "system-login", &facts(&chosen, Audience::Reader));
        assert_eq!((found.severity, found.case), (Severity::Info, "chosen"));
        assert_eq!(login(&facts(&router(""), Audience::Reader)), Ok(None), "closed");
        let alone = open("").without("/usr/libexec/rpcd/fastpath.access");
        assert_eq!(login(&facts(&alone, Audience::Reader)), Ok(None), "the only login there is");
    }
    #[test]
    fn reports_a_readable_file_with_a_password() {
        let secret = "config interface wan\n option password x\n";
        let machine = router("")
            .file("/etc/config/network", secret)
            .file("/etc/config/wireless", secret)
            .permits("/etc/config/wireless", 0o600)
            .file("/etc/config/firewall", "config zone\n option name lan\n");
        let found = found_by(CHECKS, "system-secrets", &facts(&machine, Audience::Reader));
        assert_eq!(found.severity, Severity::Warning);
        assert_eq!(found.params["paths"], "/etc/config/network");
        let closed = machine.permits("/etc/config/network", 0o640);
        assert_eq!(secrets(&facts(&closed, Audience::Reader)), Ok(None));
    }
}
