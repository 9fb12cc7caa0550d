// SPDX-License-Identifier: GPL-2.0-or-later
//! Keeps the state that results from Suricata's events: alerts, counters, drops, visibility, and
//! the offenders to be blocked after a proven TCP handshake.

use std::net::IpAddr;
use std::time::Duration;

use super::alerts::Alerts;
use super::event::Event;
use super::log_line::LogLimits;
use super::reader::{Batch, Counts};
use super::severities::Severities;
use super::visible::Visible;
use crate::counters::SuricataCounters;

/// Maximum number of offenders until the next call of [`Events::offenders`].
const MAX_OFFENDERS: usize = 256;

/// An address to block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offender {
    pub address: IpAddr,
    /// Rule that the address triggered.
    pub sid: u32,
    /// Message of the rule.
    pub reason: String,
}

/// State that results from Suricata's events.
#[derive(Debug, Default)]
pub struct Events {
    pub alerts: Alerts,
    /// Numbers of alerts by severity and action.
    pub severities: Severities,
    /// How much of the ended connections could be read.
    pub visible: Visible,
    /// `None` until Suricata reports its counters.
    pub counters: Option<SuricataCounters>,
    /// Numbers of lines.
    pub counts: Counts,
    /// Suricata is connected to the socket for events.
    pub connected: bool,
    /// Drop events. Suricata writes one for each direction of a connection.
    pub drops: u64,
    /// Drop rules that were triggered by sources without proof, or by too many sources at once.
    pub not_offenders: u64,
    offenders: Vec<Offender>,
    log_limits: LogLimits,
    log_lines: Vec<String>,
}

impl Events {
    /// Adds a batch received at `now`.
    pub fn take(&mut self, now: Duration, batch: Batch) {
        self.counts = batch.counts;
        self.connected = batch.connected;
        for event in batch.events {
            self.note(now, event);
        }
    }

    /// Takes the offenders since the last call, each address once.
    pub fn offenders(&mut self) -> Vec<Offender> {
        std::mem::take(&mut self.offenders)
    }

    /// Takes the log lines since the last call. The log still has drops after their alerts are
    /// evicted.
    pub fn log_lines(&mut self) -> Vec<String> {
        std::mem::take(&mut self.log_lines)
    }

    fn note(&mut self, now: Duration, event: Event) {
        match event {
            Event::Alert(alert) => {
                self.log_lines.extend(self.log_limits.line(now, &alert));
                if let Some(offence) = &alert.offence {
                    let (sid, reason) = (alert.sid, alert.signature.as_str());
                    if offence.proven {
                        self.note_offender(offence.address, sid, reason);
                    } else {
                        self.not_offenders += 1;
                    }
                }
                self.severities.note(&alert);
                self.alerts.add(*alert);
            }
            Event::Drop => self.drops += 1,
            Event::Flow(flow) => self.visible.note_flow(&flow),
            Event::Handshake { named, fingerprinted } => {
                self.visible.note_handshake(named, fingerprinted);
            }
            Event::Stats(counters) => self.counters = Some(*counters),
            Event::Other => {}
        }
    }

    fn note_offender(&mut self, address: IpAddr, sid: u32, reason: &str) {
        if self.offenders.iter().any(|offender| offender.address == address) {
            return;
        }
        if self.offenders.len() >= MAX_OFFENDERS {
            self.not_offenders += 1;
            return;
        }
        self.offenders.push(Offender { address, sid, reason: reason.to_owned() });
    }
}

#[cfg(test)]
mod tests;
