// SPDX-License-Identifier: GPL-2.0-or-later
//! Sums ended connections by the visibility of their content, derived from application protocol or
//! port.

use super::event::FlowEnd;

config::named! {
    pub enum Visibility {
        Plain = "plain",
        /// Names and fingerprints of the handshake (TLS, QUIC).
        Tls = "tls",
        /// Only addresses and sizes.
        Encrypted = "encrypted",
    }
}

impl Visibility {
    /// Classifies by the application protocol, or else by ports of encrypted protocols.
    #[must_use]
    pub fn of(flow: &FlowEnd) -> Self {
        const PORTS: [u16; 10] = [22, 443, 500, 853, 993, 995, 1194, 4500, 8443, 51820];
        match flow.app.as_str() {
            "tls" | "quic" => Self::Tls,
            "ssh" | "ike" => Self::Encrypted,
            "" | "failed" if PORTS.contains(&flow.dport) => Self::Encrypted,
            _ => Self::Plain,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Volume {
    pub flows: u64,
    /// Bytes that Suricata saw, without offloaded bytes.
    pub bytes: u64,
}

/// Volumes by visibility, and numbers of handshakes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Visible {
    plain: Volume,
    tls: Volume,
    encrypted: Volume,
    /// TLS and QUIC handshakes, including those of open connections.
    pub handshakes: u64,
    pub named: u64,
    pub fingerprinted: u64,
}

impl Visible {
    #[must_use]
    pub fn volume(&self, kind: Visibility) -> Volume {
        match kind {
            Visibility::Plain => self.plain,
            Visibility::Tls => self.tls,
            Visibility::Encrypted => self.encrypted,
        }
    }

    pub(super) fn note_flow(&mut self, flow: &FlowEnd) {
        let volume = match Visibility::of(flow) {
            Visibility::Plain => &mut self.plain,
            Visibility::Tls => &mut self.tls,
            Visibility::Encrypted => &mut self.encrypted,
        };
        volume.flows += 1;
        volume.bytes = volume.bytes.saturating_add(flow.bytes);
    }

    pub(super) fn note_handshake(&mut self, named: bool, fingerprinted: bool) {
        self.handshakes += 1;
        self.named += u64::from(named);
        self.fingerprinted += u64::from(fingerprinted);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(app: &str, dport: u16) -> FlowEnd {
        FlowEnd { proto: "TCP".into(), app: app.into(), dport, bytes: 100 }
    }

    #[test]
    fn a_recognised_protocol_takes_precedence_over_the_port() {
        for (app, dport, kind) in [
            ("http", 443, Visibility::Plain),
            ("tls", 8080, Visibility::Tls),
            ("quic", 443, Visibility::Tls),
            ("ssh", 2222, Visibility::Encrypted),
            ("failed", 443, Visibility::Encrypted),
            ("", 51820, Visibility::Encrypted),
            ("", 5201, Visibility::Plain),
        ] {
            assert_eq!(Visibility::of(&flow(app, dport)), kind, "{app} {dport}");
        }
    }

    #[test]
    fn sums_each_visibility_separately() {
        let mut visible = Visible::default();
        visible.note_flow(&flow("tls", 443));
        visible.note_flow(&flow("tls", 443));
        visible.note_flow(&flow("http", 80));
        visible.note_handshake(true, true);
        visible.note_handshake(false, true);
        assert_eq!(visible.volume(Visibility::Tls), Volume { flows: 2, bytes: 200 });
        assert_eq!(visible.volume(Visibility::Plain), Volume { flows: 1, bytes: 100 });
        assert_eq!(visible.volume(Visibility::Encrypted), Volume::default());
        let Visible { handshakes, named, fingerprinted, .. } = visible;
        assert_eq!((handshakes, named, fingerprinted), (2, 1, 2));
    }
}
