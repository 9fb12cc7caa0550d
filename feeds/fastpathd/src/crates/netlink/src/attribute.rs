// SPDX-License-Identifier: GPL-2.0-or-later
//! Reads and writes attributes (`struct nlattr`).

/// Size of `struct nlattr`.
const HEADER: usize = 4;
/// Mask of the type, without `NLA_F_NESTED` and `NLA_F_NET_BYTEORDER`.
const TYPE: u16 = 0x3fff;
/// `NLA_F_NESTED`.
const NESTED: u16 = 1 << 15;

/// Iterates over types and values of attributes. Stops at the first malformed attribute.
pub fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let [l0, l1, k0, k1] = *bytes.first_chunk()?;
        let length = usize::from(u16::from_ne_bytes([l0, l1]));
        let value = bytes.get(HEADER..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((u16::from_ne_bytes([k0, k1]) & TYPE, value))
    })
}

/// Returns the value of the first attribute of this type.
#[must_use]
pub fn attribute(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes).find_map(|(found, value)| (found == kind).then_some(value))
}

/// Converts a value, for example with `u32::from_be_bytes`. Returns `None` if it is too short.
pub fn number<const N: usize, T>(value: &[u8], convert: fn([u8; N]) -> T) -> Option<T> {
    value.first_chunk().copied().map(convert)
}

/// Appends an attribute, padded to four bytes.
pub fn push_attribute(bytes: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let length = u16::try_from(HEADER + value.len()).unwrap_or(u16::MAX);
    bytes.extend(length.to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

/// Appends a nested attribute; `fill` appends its contents.
pub fn push_nested(bytes: &mut Vec<u8>, kind: u16, fill: impl FnOnce(&mut Vec<u8>)) {
    let start = bytes.len();
    push_attribute(bytes, kind | NESTED, &[]);
    fill(bytes);
    let length = u16::try_from(bytes.len() - start).unwrap_or(u16::MAX);
    bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn finds_the_first_attribute_of_a_type() {
        let mut both = Vec::new();
        push_attribute(&mut both, 1, &[7; 5]);
        push_attribute(&mut both, 0x8003, &[9; 8]);
        push_attribute(&mut both, 3, &[1]);
        assert_eq!(attribute(&both, 1), Some(&[7; 5][..]));
        assert_eq!(attribute(&both, 3), Some(&[9; 8][..]));
        assert_eq!(attribute(&both, 2), None);
        assert_eq!(attribute(&both[..14], 3), None, "cut short");
        assert_eq!(attribute(&[0, 0, 1, 0], 1), None, "shorter than its header");
    }

    #[test]
    fn length_of_a_nested_attribute_includes_padding() {
        let mut bytes = Vec::new();
        push_nested(&mut bytes, 1, |nest| push_attribute(nest, 2, &[7]));
        push_nested(&mut bytes, 3, |_| ());
        let headers = [12, 0x8001, 5, 2, u16::from_ne_bytes([7, 0]), 0, 4, 0x8003];
        assert_eq!(bytes, headers.map(u16::to_ne_bytes).concat());
        assert_eq!(attribute(&bytes, 1).and_then(|nest| attribute(nest, 2)), Some(&[7][..]));
    }

    #[test]
    fn number_ignores_trailing_bytes() {
        assert_eq!(number(&[1, 2, 3], u16::from_be_bytes), Some(0x102));
        assert_eq!(number(&[1], u16::from_be_bytes), None);
    }

    proptest! {
        #[test]
        fn attributes_round_trip(
            written in prop::collection::vec(
                (0..TYPE, prop::collection::vec(any::<u8>(), 0..40)), 0..8,
            ),
        ) {
            let mut bytes = Vec::new();
            for (kind, value) in &written {
                push_attribute(&mut bytes, *kind, value);
            }
            let read: Vec<_> =
                attributes(&bytes).map(|(kind, value)| (kind, value.to_vec())).collect();
            prop_assert_eq!(read, written);
        }

        #[test]
        fn reads_any_bytes_without_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let total: usize = attributes(&bytes).map(|(_, value)| HEADER + value.len()).sum();
            prop_assert!(total <= bytes.len());
        }
    }
}
