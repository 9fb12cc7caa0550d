// SPDX-License-Identifier: GPL-2.0-or-later
//! Conditions of a routing rule besides addresses and devices: conditions that the kernel can be
//! asked about (mark, protocol, ports, skipped routes), and unknown ones (type of service, users,
//! tunnels, conditions of later kernels). Also the marks that stand for all others.

/// Mark that a rule matches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mark {
    /// `fwmark`.
    pub value: u32,
    /// Bits that are compared.
    pub mask: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Selectors {
    pub mark: Option<Mark>,
    /// The rule matches protocol or ports.
    pub layer4: bool,
    /// The rule skips some routes of its table.
    pub suppress: bool,
    /// Conditions that a route look-up cannot express for a flow.
    pub unknown: bool,
}

impl Selectors {
    /// Returns whether there is any condition.
    pub(crate) fn any(&self) -> bool {
        *self != Self::default()
    }

    /// Reads an attribute `FRA_*`.
    pub(crate) fn take(&mut self, kind: u16, value: &[u8]) {
        const NO_SUPPRESSION: u32 = u32::MAX;
        let word = || value.first_chunk().map_or(0, |word| u32::from_ne_bytes(*word));
        match kind {
            10 => {
                let mask = self.mark.map_or(u32::MAX, |mark| mark.mask);
                self.mark = Some(Mark { value: word(), mask });
            }
            16 => {
                let value = self.mark.map_or(0, |mark| mark.value);
                self.mark = Some(Mark { value, mask: word() });
            }
            // Interface group and prefix length of routes to skip.
            13 | 14 => self.suppress |= word() != NO_SUPPRESSION,
            // Protocol, ports, and the masks of ports.
            22..=24 | 28 | 29 => self.layer4 = true,
            // Tunnel, users, DSCP, flow label, and attributes of later kernels.
            _ => self.unknown = true,
        }
    }
}

/// Returns marks that stand for all marks: the kernel routes each packet like a packet with one of
/// them, which are 0 and the mark of each rule. `None` if there are too many, for a rule with mark
/// 0, or for rules with partly overlapping masks.
pub(crate) fn standing_for_all(marks: &[Mark]) -> Option<Vec<u32>> {
    const MAX_SELECTORS: usize = 16;
    let mut all = vec![0];
    for mark in marks {
        let apart = |other: &Mark| other.mask == mark.mask || other.mask & mark.mask == 0;
        if mark.value & mark.mask == 0 || !marks.iter().all(apart) {
            return None;
        }
        let value = mark.value & mark.mask;
        if !all.contains(&value) {
            all.push(value);
        }
    }
    (all.len() <= MAX_SELECTORS).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(value: u32, mask: u32) -> Mark {
        Mark { value, mask }
    }

    #[test]
    fn a_mark_is_compared_whole_without_a_mask() {
        let mut selectors = Selectors::default();
        selectors.take(10, &7_u32.to_ne_bytes());
        assert_eq!(selectors.mark, Some(mark(7, u32::MAX)));
        for (kind, value) in [(10, 0x100_u32), (16, 0x3f00)] {
            selectors.take(kind, &value.to_ne_bytes());
        }
        assert_eq!(selectors.mark, Some(mark(0x100, 0x3f00)));
        let mut reversed = Selectors::default();
        for (kind, value) in [(16, 0x3f00_u32), (10, 0x100)] {
            reversed.take(kind, &value.to_ne_bytes());
        }
        assert_eq!(reversed, selectors);
    }

    #[test]
    fn distinguishes_conditions_that_the_kernel_can_be_asked_about() {
        let known = [22, 23, 24, 28, 29].map(|kind| (kind, true));
        for (kind, known) in known.into_iter().chain([12, 20, 25, 26, 99].map(|kind| (kind, false)))
        {
            let mut selectors = Selectors::default();
            selectors.take(kind, &[6, 0, 0, 0]);
            assert_eq!((selectors.layer4, selectors.unknown), (known, !known), "{kind}");
        }
        let mut all_routes = Selectors::default();
        all_routes.take(14, &u32::MAX.to_ne_bytes());
        assert!(!all_routes.any());
        all_routes.take(14, &[0; 4]);
        assert!(all_routes.suppress && !all_routes.unknown);
    }

    #[test]
    fn few_marks_stand_for_all() {
        assert_eq!(standing_for_all(&[]), Some(vec![0]));
        let mwan = [mark(0x100, 0x3f00), mark(0x200, 0x3f00), mark(0x100, 0x3f00)];
        assert_eq!(standing_for_all(&mwan), Some(vec![0, 0x100, 0x200]));
        assert_eq!(
            standing_for_all(&[mark(1, 0xff), mark(0x100, 0xff00)]),
            Some(vec![0, 1, 0x100])
        );
        // Mark 0x101 matches both rules.
        assert_eq!(standing_for_all(&[mark(1, 0xff), mark(0x101, 0xffff)]), None);
        assert_eq!(standing_for_all(&[mark(0, 0xff)]), None);
        let many: Vec<Mark> = (1..=16).map(|value| mark(value, 0xff)).collect();
        assert_eq!(standing_for_all(&many), None);
    }
}
