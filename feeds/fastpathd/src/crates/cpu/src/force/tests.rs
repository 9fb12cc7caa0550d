// SPDX-License-Identifier: GPL-2.0-or-later
use super::*;

fn set(text: &str) -> CpuSet {
    text.parse().expect(text)
}

fn irq(irq: u32) -> Knob {
    Knob::Irq { irq, name: "eth0-rx-1".into() }
}

fn difference(knob: Knob) -> Difference {
    Difference { knob, wanted: set("1"), have: set("0-3") }
}

#[test]
fn a_difference_is_described_in_a_sentence() {
    let rps = |wanted: &str| Difference {
        knob: Knob::Rps { device: "eth0".into(), queue: 2 },
        wanted: set(wanted),
        have: set(""),
    };
    assert_eq!(
        difference(irq(45)).reason().to_string(),
        "interrupt 45 (eth0-rx-1) may arrive on CPU 0-3, planned is CPU 1"
    );
    assert_eq!(
        rps("1-3").reason().to_string(),
        "RPS of eth0, receive queue 2 is off, planned is CPU 1-3"
    );
    let thread = Knob::Thread { pid: 9, name: "napi/eth0-5".into() };
    assert_eq!(
        difference(thread).reason().to_string(),
        "thread 9 (napi/eth0-5) may run on CPU 0-3, planned is CPU 1"
    );
}

#[test]
fn formats_one_line_per_knob() {
    let knobs = [
        irq(45),
        Knob::Rps { device: "eth0".into(), queue: 2 },
        Knob::Xps { device: "eth0".into(), queue: 11 },
        Knob::Thread { pid: 9, name: "napi/eth0-5".into() },
    ];
    let mut differences: Vec<Difference> = knobs.into_iter().map(difference).collect();
    differences[2].wanted = set("64");
    assert_eq!(
        lines(&differences),
        "/proc/irq/45/smp_affinity 2\n\
         /sys/class/net/eth0/queues/rx-2/rps_cpus 2\n\
         /sys/class/net/eth0/queues/tx-11/xps_cpus 1,00000000,00000000\n\
         /proc/9/napi/eth0-5 2\n"
    );
}

#[test]
fn a_refused_value_is_retried_at_growing_intervals() {
    let mut attempts = Attempts::default();
    let stuck = [difference(irq(45))];
    let mut at = Vec::new();
    for second in 0..8000 {
        if !attempts.due(&stuck, Duration::from_secs(second)).is_empty() {
            at.push(second);
        }
    }
    assert_eq!(at, [0, 2, 32, 332, 3932, 7532]);
    assert_eq!(attempts.next(), Some(Duration::from_secs(7532 + 3600)));
}

#[test]
fn a_new_difference_does_not_wait_for_an_old_one() {
    let mut attempts = Attempts::default();
    let now = Duration::from_secs(100);
    assert_eq!(attempts.due(&[difference(irq(45))], now).len(), 1);
    let both = [difference(irq(45)), difference(irq(46))];
    let due = attempts.due(&both, now + Duration::from_secs(1));
    assert_eq!(due, [difference(irq(46))]);
    // A different value for the same interrupt counts as a new attempt.
    let other = Difference { wanted: set("2"), ..difference(irq(45)) };
    assert_eq!(attempts.due(std::slice::from_ref(&other), now).len(), 1);
}

#[test]
fn an_overwritten_value_is_written_again_at_once() {
    let mut attempts = Attempts::default();
    let now = Duration::from_secs(100);
    assert_eq!(attempts.due(&[difference(irq(45))], now).len(), 1);
    assert!(attempts.due(&[], now + Duration::from_secs(2)).is_empty());
    assert_eq!(attempts.next(), None);
    assert_eq!(attempts.due(&[difference(irq(45))], now + Duration::from_secs(3)).len(), 1);
    assert!(attempts.refused("").is_empty(), "one attempt is not a refusal");
}

#[test]
fn the_reason_is_the_message_of_the_shell() {
    let mut attempts = Attempts::default();
    let stuck = [difference(irq(45)), difference(irq(46))];
    for second in [0, 2] {
        attempts.due(&stuck, Duration::from_secs(second));
    }
    let said = "/etc/rc.common: line 20: write error: I/O error\n/proc/irq/45/smp_affinity 2\n";
    let refused = attempts.refused(said);
    assert_eq!(refused.len(), 2);
    assert_eq!((&refused[0].knob, &refused[0].wanted), (&irq(45), &set("1")));
    assert_eq!(refused[0].said.as_deref(), Some("I/O error"));
    assert_eq!(refused[1].said, None);
}
