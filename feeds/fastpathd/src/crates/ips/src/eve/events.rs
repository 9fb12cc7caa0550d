// SPDX-License-Identifier: GPL-2.0-or-later
//! State derived from Suricata's events: alerts, counters, drops, visibility, and the offenders to
//! block.

use std::net::IpAddr;
use std::time::Duration;

use super::alerts::Alerts;
use super::event::Event;
use super::log_line::LogLimits;
use super::reader::{Batch, Counts};
use super::severities::Severities;
use super::visible::Visible;
use crate::counters::SuricataCounters;

/// Maximum number of offenders between two calls of [`Events::offenders`].
const MAX_OFFENDERS: usize = 256;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offender {
    pub address: IpAddr,
    pub sid: u32,
    pub reason: String,
}

#[derive(Debug, Default)]
pub struct Events {
    pub alerts: Alerts,
    pub severities: Severities,
    /// Volumes of ended connections by visibility.
    pub visible: Visible,
    /// `None` until Suricata reports counters.
    pub counters: Option<SuricataCounters>,
    pub counts: Counts,
    pub connected: bool,
    /// Drop events. Suricata writes one per direction of a connection.
    pub drops: u64,
    /// Triggered drop rules without a block: the source was not proven, or there were too many.
    pub not_offenders: u64,
    offenders: Vec<Offender>,
    log_limits: LogLimits,
    log_lines: Vec<String>,
}

impl Events {
    pub fn take(&mut self, now: Duration, batch: Batch) {
        self.counts = batch.counts;
        self.connected = batch.connected;
        for event in batch.events {
            self.note(now, event);
        }
    }

    pub fn offenders(&mut self) -> Vec<Offender> {
        std::mem::take(&mut self.offenders)
    }

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
