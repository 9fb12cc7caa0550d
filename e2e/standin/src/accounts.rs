// SPDX-License-Identifier: GPL-2.0-or-later
//! Names of users and groups.

use crate::broker::Peer;

/// Looks up the names of a socket peer's user and group.
pub(crate) fn peer(uid: u32, gid: u32) -> Peer {
    Peer { uid, user: name("/etc/passwd", uid), group: name("/etc/group", gid) }
}

/// Returns the name for `id` from a file with fields name, password, id; the id itself if missing.
fn name(file: &str, id: u32) -> String {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let of_line = |line: &str| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(id)).then(|| name.to_owned())
    };
    text.lines().find_map(of_line).unwrap_or_else(|| id.to_string())
}
