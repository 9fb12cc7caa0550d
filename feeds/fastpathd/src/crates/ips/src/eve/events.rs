// SPDX-License-Identifier: GPL-2.0-or-later
//! State made of Suricata's events: alerts, counters, drops, visibility, and at most 256 offenders
//! to be blocked, of TCP connections whose handshake was seen.

use std::net::IpAddr;
use std::time::Duration;

use super::alerts::Alerts;
use super::event::Event;
use super::log_line::LogLimits;
use super::reader::{Batch, Counts};
use super::severities::Severities;
use super::visible::Visible;
use crate::counters::SuricataCounters;

/// Offences that wait to be dealt with.
const MOST_OFFENDERS: usize = 256;

/// An address to be blocked, and the rule that it has fired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offender {
    /// Who.
    pub address: IpAddr,
    /// The rule.
    pub sid: u32,
    /// Its message.
    pub reason: String,
}

/// All that the daemon knows from Suricata's events.
#[derive(Debug, Default)]
pub struct Events {
    /// The last alerts.
    pub alerts: Alerts,
    /// Their number by severity and action.
    pub severities: Severities,
    /// The visible part of the connections that ended.
    pub visible: Visible,
    /// Suricata's counters, once reported.
    pub counters: Option<SuricataCounters>,
    /// Lines.
    pub counts: Counts,
    /// Whether Suricata is connected.
    pub connected: bool,
    /// Packets dropped, by their events: one for each direction of a connection.
    pub drops: u64,
    /// Drop rules fired by sources that could be forged, or by too many at once.
    pub not_offenders: u64,
    offenders: Vec<Offender>,
    log_limits: LogLimits,
    log_lines: Vec<String>,
}

impl Events {
    /// Takes a batch that came at `now`.
    pub fn take(&mut self, now: Duration, batch: Batch) {
        self.counts = batch.counts;
        self.connected = batch.connected;
        for event in batch.events {
            self.note(now, event);
        }
    }

    /// Those to be blocked since the last call, each once.
    pub fn offenders(&mut self) -> Vec<Offender> {
        std::mem::take(&mut self.offenders)
    }

    /// Lines for the system log since the last call: the rings hold only so many.
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
        if self.offenders.len() >= MOST_OFFENDERS {
            self.not_offenders += 1;
            return;
        }
        self.offenders.push(Offender { address, sid, reason: reason.to_owned() });
    }
}

#[cfg(test)]
#[path = "events_tests.rs"]
mod tests;
