// SPDX-License-Identifier: GPL-2.0-or-later
//! Test fixture: inspection with the default settings.

use model::{Action, Gate, Spread};

use crate::inspection::{InspectionRules, Queues};
use crate::settings::Settings;

pub(crate) fn inspection() -> InspectionRules {
    InspectionRules {
        marks: Settings::default().marks().unwrap(),
        fail_open: true,
        default: Action::Inspect,
        policies: vec![],
        exempt: vec![],
        budget_bytes: 1 << 20,
        budget_packets: 0,
        queues: Queues { first: 0, count: 2, spread: Spread::Hash },
        gate: Gate::Queue,
    }
}
