// SPDX-License-Identifier: GPL-2.0-or-later
//! The inspection in force, as the flow table has to know it.

use flows::InspectionState;

use crate::core::Core;

impl Core {
    /// The flow table has to decide as the rules in force do.
    pub(crate) fn inspection_changed(&mut self) {
        let inspection =
            self.offload.in_force().and_then(|plan| plan.protection.inspection.as_ref());
        let mut inspection = inspection.map(state_of).unwrap_or_default();
        // Nothing reads the queue, and the kernel drops its packets: no rule of the table does.
        let stops = self.ips.inspection().condition().state == ips::State::FailingClosed;
        if stops && inspection.gate == flows::Gate::Queue {
            inspection.gate = flows::Gate::Closed;
        }
        self.conntrack.flows_mut().inspection(inspection, self.now);
    }
}

fn state_of(inspection: &ruleset::Inspection) -> InspectionState {
    let policy = |policy: &ruleset::Judged| flows::Policy {
        from: policy.from.clone(),
        to: policy.to.clone(),
        action: action(policy.action),
    };
    InspectionState {
        gate: match inspection.gate {
            ruleset::Gate::Queue => flows::Gate::Queue,
            ruleset::Gate::Open => flows::Gate::Open,
            ruleset::Gate::Closed => flows::Gate::Closed,
        },
        bypass: inspection.marks.bypass(),
        spent: inspection.marks.spent(),
        policies: inspection.policies.iter().map(policy).collect(),
        default: action(inspection.default),
        exempt: inspection.exempt.clone(),
        budget_bytes: inspection.budget_bytes,
        budget_packets: inspection.budget_packets,
    }
}

const fn action(action: ruleset::Action) -> flows::Action {
    match action {
        ruleset::Action::None => flows::Action::None,
        ruleset::Action::Inspect => flows::Action::Inspect,
        ruleset::Action::Always => flows::Action::Always,
    }
}
