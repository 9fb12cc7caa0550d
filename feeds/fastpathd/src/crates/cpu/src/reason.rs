// SPDX-License-Identifier: GPL-2.0-or-later

use config::Cause;

use crate::force::{Difference, Refused};
use crate::machine::Knob;
use crate::set::CpuSet;

config::coded! {
    /// How a value differs from the plan, and why. `said` is the kernel's message.
    pub enum DifferenceReason {
        Irq { irq: u32, name: String, have: String, wanted: String } = "irq",
            "interrupt {irq} ({name}) may arrive on CPU {have}, planned is CPU {wanted}";
        UnnamedIrq { irq: u32, have: String, wanted: String } = "irq-unnamed",
            "interrupt {irq} may arrive on CPU {have}, planned is CPU {wanted}";
        Thread { pid: u32, name: String, have: String, wanted: String } = "thread",
            "thread {pid} ({name}) may run on CPU {have}, planned is CPU {wanted}";
        Rps { device: String, queue: u32, have: String, wanted: String } = "rps",
            "RPS of {device}, receive queue {queue} is CPU {have}, planned is CPU {wanted}";
        RpsOff { device: String, queue: u32, wanted: String } = "rps-off",
            "RPS of {device}, receive queue {queue} is off, planned is CPU {wanted}";
        RpsOn { device: String, queue: u32, have: String } = "rps-on",
            "RPS of {device}, receive queue {queue} is CPU {have}, planned is off";
        Xps { device: String, queue: u32, have: String, wanted: String } = "xps",
            "XPS of {device}, transmit queue {queue} is CPU {have}, planned is CPU {wanted}";
        XpsOff { device: String, queue: u32, wanted: String } = "xps-off",
            "XPS of {device}, transmit queue {queue} is off, planned is CPU {wanted}";
        XpsOn { device: String, queue: u32, have: String } = "xps-on",
            "XPS of {device}, transmit queue {queue} is CPU {have}, planned is off";
        Rejected { difference: String, said: String } = "rejected",
            "{difference}; rejected by the kernel: {said}";
        Ignored { difference: String } = "ignored", "{difference}; the kernel ignored the value";
        IrqFixed { refusal: String } = "irq-fixed",
            "{refusal}; some drivers and interrupt controllers keep an interrupt where it is, and \
             irqbalance moves it again";
        RpsIsolated { refusal: String } = "rps-isolated",
            "{refusal}; the kernel does not accept isolated CPUs here";
        ThreadFixed { refusal: String } = "thread-fixed",
            "{refusal}; the driver binds this thread; it cannot be moved";
    }
}

impl Difference {
    /// Describes the difference as a sentence without full stop.
    #[must_use]
    pub fn reason(&self) -> DifferenceReason {
        let (have, wanted) = (listed(&self.have), listed(&self.wanted));
        let (off, on) = (self.have.is_empty(), self.wanted.is_empty());
        match self.knob.clone() {
            Knob::Irq { irq, name } if name.is_empty() => {
                DifferenceReason::UnnamedIrq { irq, have, wanted }
            }
            Knob::Irq { irq, name } => DifferenceReason::Irq { irq, name, have, wanted },
            Knob::Thread { pid, name } => DifferenceReason::Thread { pid, name, have, wanted },
            Knob::Rps { device, queue } if off => {
                DifferenceReason::RpsOff { device, queue, wanted }
            }
            Knob::Rps { device, queue } if on => DifferenceReason::RpsOn { device, queue, have },
            Knob::Rps { device, queue } => DifferenceReason::Rps { device, queue, have, wanted },
            Knob::Xps { device, queue } if off => {
                DifferenceReason::XpsOff { device, queue, wanted }
            }
            Knob::Xps { device, queue } if on => DifferenceReason::XpsOn { device, queue, have },
            Knob::Xps { device, queue } => DifferenceReason::Xps { device, queue, have, wanted },
        }
    }

    #[must_use]
    pub fn cause(&self, refused: Option<&Refused>) -> Cause {
        let cause = self.reason().cause();
        let Some(Refused { said, .. }) = refused else { return cause };
        let difference = cause.text.clone();
        let refusal = match said {
            Some(said) => {
                DifferenceReason::Rejected { difference, said: said.clone() }.cause().around(cause)
            }
            None => DifferenceReason::Ignored { difference }.cause().around(cause),
        };
        match hint(&self.knob, refusal.text.clone()) {
            Some(hint) => hint.cause().around(refusal),
            None => refusal,
        }
    }
}

fn listed(set: &CpuSet) -> String {
    if set.is_empty() { "–".to_owned() } else { set.to_string() }
}

fn hint(knob: &Knob, refusal: String) -> Option<DifferenceReason> {
    match knob {
        Knob::Irq { .. } => Some(DifferenceReason::IrqFixed { refusal }),
        Knob::Rps { .. } => Some(DifferenceReason::RpsIsolated { refusal }),
        Knob::Thread { .. } => Some(DifferenceReason::ThreadFixed { refusal }),
        Knob::Xps { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn describes_rps_and_xps_as_off_or_on() {
        let text = |knob: Knob, have: &str, wanted: &str| {
            let set = |text: &str| text.parse().expect("a set");
            Difference { knob, have: set(have), wanted: set(wanted) }.reason().to_string()
        };
        let rps = || Knob::Rps { device: "eth0".into(), queue: 2 };
        let xps = || Knob::Xps { device: "eth0".into(), queue: 2 };
        let [receive, transmit] =
            ["RPS of eth0, receive queue 2 is", "XPS of eth0, transmit queue 2 is"];
        assert_eq!(text(rps(), "", "1-3"), format!("{receive} off, planned is CPU 1-3"));
        assert_eq!(text(rps(), "1", ""), format!("{receive} CPU 1, planned is off"));
        assert_eq!(text(rps(), "1", "2"), format!("{receive} CPU 1, planned is CPU 2"));
        assert_eq!(text(xps(), "", "1-3"), format!("{transmit} off, planned is CPU 1-3"));
        assert_eq!(text(xps(), "1", ""), format!("{transmit} CPU 1, planned is off"));
        assert_eq!(text(xps(), "1", "2"), format!("{transmit} CPU 1, planned is CPU 2"));
        let unnamed = Knob::Irq { irq: 45, name: String::new() };
        let wanted = "interrupt 45 may arrive on CPU 0-3, planned is CPU 1";
        assert_eq!(text(unnamed, "0-3", "1"), wanted);
    }

    #[test]
    fn a_refusal_has_the_codes_of_all_its_causes() {
        let knob = Knob::Thread { pid: 9, name: "napi/eth0-5".into() };
        let set = |text: &str| text.parse::<CpuSet>().expect("a set");
        let (have, wanted) = (set("0-3"), set("1"));
        let refused =
            Refused { knob: knob.clone(), wanted: wanted.clone(), said: Some("no".into()) };
        let cause = Difference { knob, wanted, have }.cause(Some(&refused));
        assert_eq!(cause.codes(), "thread-fixed rejected thread");
        assert_eq!((&cause.params["said"], &cause.params["pid"]), (&"no".into(), &"9".into()));
        let text = "thread 9 (napi/eth0-5) may run on CPU 0-3, planned is CPU 1; rejected by the \
                    kernel: no; the driver binds this thread; it cannot be moved";
        assert_eq!(cause.text, text);
    }
}
