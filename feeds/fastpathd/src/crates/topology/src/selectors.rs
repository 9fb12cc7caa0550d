// SPDX-License-Identifier: GPL-2.0-or-later
//! Conditions of a routing rule besides addresses and devices: which the kernel can be asked about
//! (mark, protocol, ports, routes that are skipped), and which not (type of service, users,
//! tunnels, conditions of later kernels). Also the marks that stand for all others.

/// The mark that a rule asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Mark {
    /// `fwmark`.
    pub value: u32,
    /// Bits that are compared.
    pub mask: u32,
}

/// Further conditions of a rule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Selectors {
    /// A mark.
    pub mark: Option<Mark>,
    /// Protocol or ports.
    pub layer4: bool,
    /// Some routes of its table are skipped.
    pub suppress: bool,
    /// Conditions that cannot be put to the kernel as a flow meets them.
    pub unknown: bool,
}

impl Selectors {
    /// Whether there is any.
    pub(crate) fn any(&self) -> bool {
        *self != Self::default()
    }

    /// `FRA_*`.
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
            // Interface group and prefix length of routes that are skipped.
            13 | 14 => self.suppress |= word() != NO_SUPPRESSION,
            // Protocol, ports, and the masks of these.
            22..=24 | 28 | 29 => self.layer4 = true,
            // Tunnel, users, DSCP, flow label, and attributes of later kernels.
            _ => self.unknown = true,
        }
    }
}

/// Marks such that the kernel routes each packet as it routes one of them, whatever its own mark:
/// none at all, and the one of each rule. None if there are too many, or where that does not hold:
/// a rule for the mark 0, or rules whose masks overlap in part.
pub(crate) fn standing_for_all(marks: &[Mark]) -> Option<Vec<u32>> {
    const MOST: usize = 16;
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
    (all.len() <= MOST).then_some(all)
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
    fn conditions_that_cannot_be_put_to_the_kernel() {
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
        // Both match 0x101, and 0x1 alone is never asked for.
        assert_eq!(standing_for_all(&[mark(1, 0xff), mark(0x101, 0xffff)]), None);
        assert_eq!(standing_for_all(&[mark(0, 0xff)]), None);
        let many: Vec<Mark> = (1..=16).map(|value| mark(value, 0xff)).collect();
        assert_eq!(standing_for_all(&many), None);
    }
}
