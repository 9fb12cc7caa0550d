// SPDX-License-Identifier: GPL-2.0-or-later
//! Inline Suricata: settings, configuration, command socket, events, health, and blocked sources.
//!
//! Only [`Commands`] and [`EventListener`] do I/O. Names that end in `_ms` are Unix milliseconds;
//! other times are a [`Duration`](std::time::Duration) since an arbitrary start.

mod blocks;
mod command;
mod counters;
mod eve;
mod health;
mod overflow;
mod overlay;
mod ports;
mod queue_totals;
mod queues;
mod settings;
mod text;
mod threads;

pub use blocks::{Block, Blocked, Blocks, Spared};
pub use command::{
    CommandError, Commands, FailedRule, MAX_ANSWER_LEN, read_answer, read_failed_rules, read_rules,
};
pub use counters::SuricataCounters;
pub use eve::{
    Alert, AlertContext, AlertFilter, AlertRates, Alerts, Batch, Counts, Direction, Event,
    EventKind, EventLine, EventListener, Events, FlowEnd, ListenError, MAX_SAVED_LEN, Offence,
    Offender, Page, Rate, Rates, Reader, Row, Severities, Visibility, Visible, Volume, WantedKinds,
    read_event,
};
pub use health::{
    Consequence, Health, InspectionCondition, Listening, Observation, Reason, RuleCounts, State,
};
pub use overflow::{Offered, Overflow};
pub use overlay::{Files, Overlay, arguments, bypass_mark, render};
pub use ports::{CapturePort, check_mode};
pub use queue_totals::{QueueTotal, QueueTotals};
pub use queues::{QUEUES, Queue, parse_queues, queues_of};
pub use settings::Settings;
pub use threads::Threads;
