// SPDX-License-Identifier: GPL-2.0-or-later
//! Assigns the bits of `mark_mask` on packets and connections.

/// fastpath's bits of the packet mark and of the connection mark: the highest is bypass, the lowest
/// spent, two between are passed.
///
/// | bit | on a connection | on a packet |
/// | --- | --- | --- |
/// | bypass | Suricata has bypassed the connection | Suricata bypasses the connection now |
/// | spent | the inspection budget is spent | the packet needs no inspection |
/// | passed | one bit per direction: a packet has passed all rules | – |
///
/// A packet with bypass and spent passes an open gate uninspected. Packets have these bits only
/// between the chains `ips` and `fastpath`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Marks {
    mask: u32,
}

impl Marks {
    /// Assigns the bits of a mask; `None` if it has fewer than two.
    #[must_use]
    pub fn within(mask: u32) -> Option<Self> {
        (mask.count_ones() >= 2).then_some(Self { mask })
    }

    #[must_use]
    pub fn mask(self) -> u32 {
        self.mask
    }

    /// Returns the highest bit of the mask: Suricata's `nfq.bypass-mark` and `bypass-mask`.
    #[must_use]
    pub fn bypass(self) -> u32 {
        1 << self.mask.ilog2()
    }

    #[must_use]
    pub fn spent(self) -> u32 {
        1 << self.mask.trailing_zeros()
    }

    /// Returns the bits for the original and the reply direction; `None` with fewer than four bits.
    #[must_use]
    pub fn passed(self) -> Option<[u32; 2]> {
        let lowest = |mask: u32| mask & mask.wrapping_neg();
        let original = lowest(self.mask & !self.done());
        let reply = lowest(self.mask & !self.done() & !original);
        (reply != 0).then_some([original, reply])
    }

    /// Returns the bits that end inspection; one of them is enough.
    #[must_use]
    pub fn done(self) -> u32 {
        self.bypass() | self.spent()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bypass_and_spent_are_the_outer_bits_of_the_mask() {
        let marks = Marks::within(0x6000_0000).unwrap();
        assert_eq!((marks.bypass(), marks.spent()), (0x4000_0000, 0x2000_0000));
        let marks = Marks::within(0x00ff_0000).unwrap();
        assert_eq!((marks.bypass(), marks.spent()), (0x0080_0000, 0x0001_0000));
        assert_eq!((marks.done(), marks.mask()), (0x0081_0000, 0x00ff_0000));
        let marks = Marks::within(u32::MAX).unwrap();
        assert_eq!((marks.bypass(), marks.spent()), (1 << 31, 1));
    }

    #[test]
    fn passed_bits_need_a_mask_of_four_bits() {
        let passed = |mask| Marks::within(mask).unwrap().passed();
        assert_eq!(passed(0x7800_0000), Some([0x1000_0000, 0x2000_0000]));
        assert_eq!(passed(0x8000_0301), Some([0x100, 0x200]));
        assert_eq!(passed(u32::MAX), Some([2, 4]));
        assert_eq!((passed(0x6000_0000), passed(0x7000_0000)), (None, None));
    }

    #[test]
    fn rejects_a_mask_of_one_bit() {
        for mask in [0, 1, 0x80, 1 << 31] {
            assert_eq!(Marks::within(mask), None, "{mask:#x}");
        }
    }
}
