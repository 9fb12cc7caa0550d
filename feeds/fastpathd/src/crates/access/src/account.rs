// SPDX-License-Identifier: GPL-2.0-or-later
//! Names of accounts: rpcd's logins and the system's users.

use std::path::PathBuf;

/// Files with names of accounts.
pub(crate) struct Accounts {
    logins: PathBuf,
    users: PathBuf,
}

impl Default for Accounts {
    fn default() -> Self {
        Self::at("/etc/config/rpcd".into(), "/etc/passwd".into())
    }
}

impl Accounts {
    /// Accounts of other files.
    pub(crate) fn at(logins: PathBuf, users: PathBuf) -> Self {
        Self { logins, users }
    }

    /// Whether a name is one. Nobody logs in by a file that cannot be parsed, so its names count as
    /// unknown.
    pub(crate) fn has(&self, name: &str) -> bool {
        let bytes = |file| std::fs::read(file).unwrap_or_default();
        let logins = uci::parse(&bytes(&self.logins)).unwrap_or_default();
        let mut logins = logins.of("login").filter_map(|login| login.options.get("username"));
        logins.any(|names| names.texts().iter().any(|known| known == name))
            || String::from_utf8_lossy(&bytes(&self.users))
                .lines()
                .any(|user| user.split(':').next() == Some(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logins_and_users_are_accounts() {
        let folder = std::env::temp_dir().join(format!("access-accounts-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let files = [folder.join("rpcd"), folder.join("passwd")];
        let accounts = Accounts::at(files[0].clone(), files[1].clone());
        assert!(!accounts.has("root") && !accounts.has(""), "without any file");
        let logins = "config login\n option username 'ann'\nconfig login\n list username 'bob'\n";
        std::fs::write(&files[0], logins).unwrap();
        std::fs::write(&files[1], "root:x:0:0:root:/root:/bin/ash\n").unwrap();
        assert!(["ann", "bob", "root"].iter().all(|name| accounts.has(name)));
        assert!(["Ann", "", "x", "/bin/ash", "ann "].iter().all(|name| !accounts.has(name)));
        std::fs::write(&files[0], "config 'login\n").unwrap();
        assert!(accounts.has("root") && !accounts.has("ann"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
