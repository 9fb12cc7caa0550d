// SPDX-License-Identifier: GPL-2.0-or-later
//! Section `cpu` of `/etc/config/fastpath`.

use config::{Fault, Package, Problem, Section, switch};
use serde::Serialize;

use crate::machine::Machine;
use crate::set::CpuSet;

config::named! {
    /// How CPUs are divided between forwarding and inspection if no lists are given.
    #[derive(Default, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Profile from text {
        /// Half of the cores each. On big.LITTLE, the strong cores inspect.
        #[default]
        Auto = "auto",
        /// Three quarters of the cores forward.
        Forward = "forward",
        /// Three quarters of the cores inspect.
        Inspect = "inspect",
    }
}

/// Section `cpu`, before the check against the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// If false, nothing is pinned.
    pub enabled: bool,
    /// `None` lets the planner choose, here and below.
    pub forwarding: Option<CpuSet>,
    pub inspection: Option<CpuSet>,
    pub control: Option<CpuSet>,
    pub profile: Profile,
    pub section: String,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            enabled: true,
            forwarding: None,
            inspection: None,
            control: None,
            profile: Profile::default(),
            section: "cpu".to_owned(),
        }
    }
}

impl Settings {
    /// Reads section `cpu` and records its problems in the package.
    #[must_use]
    pub fn read(package: &mut Package<'_>) -> Self {
        let mut settings = Self::default();
        if let Some(mut section) = package.take_one("cpu") {
            section.label().clone_into(&mut settings.section);
            settings.enabled = section.value("enabled", switch).unwrap_or(settings.enabled);
            settings.profile = section.value("profile", str::parse).unwrap_or_default();
            settings.forwarding = section.value("forwarding", list);
            settings.inspection = section.value("inspection", list);
            settings.control = section.value("control", list);
            settings.check_overlap(&mut section);
            package.close(section);
        }
        settings
    }

    fn check_overlap(&self, section: &mut Section<'_>) {
        let (Some(forwarding), Some(inspection)) = (&self.forwarding, &self.inspection) else {
            return;
        };
        let both = forwarding.intersection(inspection);
        if !both.is_empty() {
            let fault = Fault::CpusOverlap { cpus: both.to_string() };
            section.error("inspection", &inspection.to_string(), fault);
        }
    }

    /// Returns settings that do not fit the machine. Empty if the plan is disabled.
    ///
    /// Without `inspection`, the listed CPUs only have to be online.
    #[must_use]
    pub fn check(&self, machine: &Machine, inspection: bool) -> Vec<Problem> {
        let mut problems = Vec::new();
        if !self.enabled {
            return problems;
        }
        let lists = [
            ("forwarding", &self.forwarding),
            ("inspection", &self.inspection),
            ("control", &self.control),
        ];
        for (option, list) in lists {
            let Some(list) = list else { continue };
            if let Some(fault) = unavailable(list, machine) {
                problems.push(self.problem(option, list, fault));
            }
        }
        // A single CPU does everything, so the lists have no effect.
        if problems.is_empty() && inspection && self.pool(machine).len() > 1 {
            problems.extend(self.role_without_cpu(machine));
            problems.extend(self.control_overlap());
            problems.extend(self.unpinnable(machine));
        }
        problems
    }

    /// Returns the CPUs that the plan may use. Isolated CPUs count only if a list names them, or if
    /// no other CPU is online.
    pub(crate) fn pool(&self, machine: &Machine) -> CpuSet {
        let lists = [&self.forwarding, &self.inspection, &self.control];
        let named = lists.into_iter().flatten();
        let pool = named.fold(machine.usable(), |pool, list| pool.union(list));
        if pool.is_empty() { machine.online() } else { pool }
    }

    fn problem(&self, option: &str, list: &CpuSet, fault: Fault) -> Problem {
        let section = self.section.clone();
        Problem {
            section,
            option: option.to_owned(),
            value: list.to_string(),
            fault: Box::new(fault),
        }
    }

    /// Reports a list that leaves no CPU for another role. Inspection and control may share CPUs;
    /// forwarding needs its own.
    fn role_without_cpu(&self, machine: &Machine) -> Option<Problem> {
        let usable = machine.usable();
        let (option, list, left, fault) = match (&self.forwarding, &self.inspection, &self.control)
        {
            (Some(list), None, _) => {
                ("forwarding", list, usable.difference(list), Fault::NoCpuInspects)
            }
            (None, Some(list), None) => {
                ("inspection", list, usable.difference(list), Fault::NoCpuForwards)
            }
            (None, inspection, Some(list)) => {
                let left = usable.difference(list);
                let left = inspection.as_ref().map_or(left.clone(), |taken| left.difference(taken));
                ("control", list, left, Fault::NoCpuForwards)
            }
            _ => return None,
        };
        left.is_empty().then(|| self.problem(option, list, fault))
    }

    fn control_overlap(&self) -> Option<Problem> {
        let (control, forwarding) = (self.control.as_ref()?, self.forwarding.as_ref()?);
        let both = control.intersection(forwarding);
        let fault = Fault::CpusOverlap { cpus: both.to_string() };
        (!both.is_empty()).then(|| self.problem("control", control, fault))
    }

    /// Reports CPUs that Suricata cannot pin: it pins threads only to CPUs 0 to (number online -
    /// 1). Higher numbers are online only if a lower CPU is offline.
    fn unpinnable(&self, machine: &Machine) -> Option<Problem> {
        let list = self.inspection.as_ref()?;
        let unpinnable_cpus: CpuSet =
            list.iter().filter(|cpu| *cpu as usize >= machine.online().len()).collect();
        let fault = Fault::CpusUnpinned { cpus: unpinnable_cpus.to_string() };
        (!unpinnable_cpus.is_empty()).then(|| self.problem("inspection", list, fault))
    }
}

fn list(text: &str) -> Result<CpuSet, Fault> {
    text.parse()
}

fn unavailable(list: &CpuSet, machine: &Machine) -> Option<Fault> {
    let present: CpuSet = machine.cpus.iter().map(|cpu| cpu.cpu).collect();
    let absent = list.difference(&present);
    if !absent.is_empty() {
        let (cpus, present) = (absent.to_string(), present.to_string());
        return Some(Fault::CpusUnknown { cpus, present });
    }
    let offline = list.difference(&machine.online());
    (!offline.is_empty()).then(|| Fault::CpusOffline { cpus: offline.to_string() })
}

#[cfg(test)]
mod tests;
