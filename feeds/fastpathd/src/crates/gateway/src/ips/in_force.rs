// SPDX-License-Identifier: GPL-2.0-or-later
//! Passes gate, marks, policies and budgets of the inspection in force to the flow table.

use flows::InspectionState;
use model::Gate;

use crate::core::Core;

impl Core {
    /// Updates the flow table, which has to decide like the rules in force.
    pub(crate) fn inspection_changed(&mut self) {
        let plan = self.offload.flowtable().in_force();
        let rules = plan.map(|plan| plan.protection.inspection.as_ref());
        // Keep the gate if the table was removed by another program: it is restored at once.
        if let Some(rules) = rules {
            let gate = rules.map_or(Gate::Open, |rules| rules.gate);
            self.ips.inspection.gate_in_force(gate);
        }
        let mut inspection = rules.flatten().map(state_of).unwrap_or_default();
        // Nothing reads the queue, so the kernel drops its packets although no rule does.
        let stops = self.ips.inspection().condition().state == ips::State::FailingClosed;
        if stops && inspection.gate == Some(Gate::Queue) {
            inspection.gate = Some(Gate::Closed);
        }
        self.conntrack.flows_mut().inspection(inspection, self.now);
    }
}

fn state_of(inspection: &ruleset::InspectionRules) -> InspectionState {
    InspectionState {
        gate: Some(inspection.gate),
        bypass: inspection.marks.bypass(),
        spent: inspection.marks.spent(),
        policies: inspection.policies.clone(),
        default: inspection.default,
        exempt: inspection.exempt.clone(),
        budget_bytes: inspection.budget_bytes,
        budget_packets: inspection.budget_packets,
    }
}
