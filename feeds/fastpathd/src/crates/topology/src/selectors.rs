// SPDX-License-Identifier: GPL-2.0-or-later
//! Selectors of a routing rule besides addresses and devices. A route look-up can express mark,
//! protocol, ports and suppressed routes, but not type of service, users, tunnels and attributes of
//! later kernels.

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mark {
    /// `fwmark`.
    pub value: u32,
    /// `fwmask`: the compared bits.
    pub mask: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Selectors {
    pub mark: Option<Mark>,
    /// The rule compares protocol or ports.
    pub layer4: bool,
    /// `suppress_prefixlength` or `suppress_ifgroup` is set.
    pub suppress: bool,
    /// The rule has conditions that a route look-up cannot express.
    pub unknown: bool,
}

impl Selectors {
    pub(crate) fn any(&self) -> bool {
        *self != Self::default()
    }

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
            // `FRA_SUPPRESS_IFGROUP`, `FRA_SUPPRESS_PREFIXLEN`.
            13 | 14 => self.suppress |= word() != NO_SUPPRESSION,
            // Protocol, ports, and port masks.
            22..=24 | 28 | 29 => self.layer4 = true,
            // Tunnel, users, DSCP, flow label, and attributes of later kernels.
            _ => self.unknown = true,
        }
    }
}

/// Returns 0 and the mark of each rule: the kernel routes every packet like a packet with one of
/// these marks. `None` if there are more than 16, a rule matches mark 0, or masks overlap partly.
pub(crate) fn representative_marks(marks: &[Mark]) -> Option<Vec<u32>> {
    const MAX_MARKS: usize = 16;
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
    (all.len() <= MAX_MARKS).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(value: u32, mask: u32) -> Mark {
        Mark { value, mask }
    }

    #[test]
    fn a_rule_without_a_mask_compares_all_bits() {
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
    fn attributes_are_sorted_into_known_and_unknown_conditions() {
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
    fn representative_marks_are_zero_and_the_marks_of_the_rules() {
        assert_eq!(representative_marks(&[]), Some(vec![0]));
        let mwan = [mark(0x100, 0x3f00), mark(0x200, 0x3f00), mark(0x100, 0x3f00)];
        assert_eq!(representative_marks(&mwan), Some(vec![0, 0x100, 0x200]));
        assert_eq!(
            representative_marks(&[mark(1, 0xff), mark(0x100, 0xff00)]),
            Some(vec![0, 1, 0x100])
        );
        // Mark 0x101 matches both rules.
        assert_eq!(representative_marks(&[mark(1, 0xff), mark(0x101, 0xffff)]), None);
        assert_eq!(representative_marks(&[mark(0, 0xff)]), None);
        let many: Vec<Mark> = (1..=16).map(|value| mark(value, 0xff)).collect();
        assert_eq!(representative_marks(&many), None);
    }
}
