// SPDX-License-Identifier: GPL-2.0-or-later
//! Looks up accounts: rpcd's logins, the system's users, and whether an account has a password.

use std::path::{Path, PathBuf};

pub(crate) struct Accounts {
    logins: PathBuf,
    users: PathBuf,
    shadow: PathBuf,
}

impl Default for Accounts {
    fn default() -> Self {
        Self::at("/etc/config/rpcd".into(), "/etc/passwd".into(), "/etc/shadow".into())
    }
}

impl Accounts {
    pub(crate) fn at(logins: PathBuf, users: PathBuf, shadow: PathBuf) -> Self {
        Self { logins, users, shadow }
    }

    /// Returns whether an account has this name. An invalid file allows no login, so its names
    /// count as unknown.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.logins().of("login").any(|login| is_of(login, name))
            || text(&self.users).lines().any(|user| user.split(':').next() == Some(name))
    }

    /// Returns whether rpcd accepts any password for this name: `$p$USER` refers to the user's hash
    /// in the shadow file, and an empty hash matches every password.
    pub(crate) fn lacks_password(&self, name: &str) -> bool {
        let shadow = text(&self.shadow);
        let is_empty = |user: &str| {
            shadow.lines().any(|line| {
                let mut fields = line.split(':');
                fields.next() == Some(user) && fields.next() == Some("")
            })
        };
        let logins = self.logins();
        let hashes = logins.of("login").filter(|login| is_of(login, name));
        let mut users = hashes.filter_map(|login| login.text("password")?.strip_prefix("$p$"));
        users.any(is_empty)
    }

    fn logins(&self) -> uci::Package {
        uci::parse(&std::fs::read(&self.logins).unwrap_or_default()).unwrap_or_default()
    }
}

fn text(file: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(file).unwrap_or_default()).into_owned()
}

fn is_of(login: &uci::Section, name: &str) -> bool {
    let names = login.options.get("username");
    names.is_some_and(|names| names.texts().iter().any(|known| known == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_accounts_among_logins_and_users() {
        let folder = std::env::temp_dir().join(format!("access-accounts-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let files = [folder.join("rpcd"), folder.join("passwd"), folder.join("shadow")];
        let accounts = Accounts::at(files[0].clone(), files[1].clone(), files[2].clone());
        assert!(!accounts.has("root") && !accounts.has(""), "without any file");
        let logins = "config login\n option username 'ann'\nconfig login\n list username 'bob'\n";
        std::fs::write(&files[0], logins).unwrap();
        std::fs::write(&files[1], "root:x:0:0:root:/root:/bin/ash\n").unwrap();
        assert!(["ann", "bob", "root"].iter().all(|name| accounts.has(name)));
        assert!(["Ann", "", "x", "/bin/ash", "ann "].iter().all(|name| !accounts.has(name)));
        std::fs::write(&files[0], "config 'login\n").unwrap();
        assert!(accounts.has("root") && !accounts.has("ann"));
        let login = |of: &str, hash: &str| {
            format!("config login\n option username '{of}'\n option password '{hash}'\n")
        };
        let of =
            [("root", "$p$root"), ("ann", ""), ("bob", "$5$x"), ("eve", "$p$nobody"), ("", "")];
        let logins: String = of.iter().map(|(name, hash)| login(name, hash)).collect();
        std::fs::write(&files[0], logins + "config login\n option username no\n").unwrap();
        for (shadow, root) in
            [("root::0:0\n", true), ("root:!:0\n", false), ("roo::0\n", false), ("", false)]
        {
            std::fs::write(&files[2], shadow).unwrap();
            assert_eq!(accounts.lacks_password("root"), root, "{shadow}");
            let without =
                ["ann", "bob", "eve", "no", "x"].map(|name| accounts.lacks_password(name));
            assert_eq!(without, [false; 5]);
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
