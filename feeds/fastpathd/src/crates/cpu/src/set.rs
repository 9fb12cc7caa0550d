// SPDX-License-Identifier: GPL-2.0-or-later
//! Sets of CPUs in the kernel's two notations: lists (`0-3,8`) and masks (`f,00000001`).

use config::sort::Collect;
use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::str::FromStr;

use config::Fault;
use serde::{Serialize, Serializer};

/// Largest CPU number: the kernel's own limit (`NR_CPUS` of x86-64 is at most 8192).
const MAX_CPU: u32 = 8191;

/// A set of CPU numbers, displayed in the kernel's list form.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CpuSet(BTreeSet<u32>);

impl CpuSet {
    #[must_use]
    pub const fn new() -> Self {
        Self(BTreeSet::new())
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    #[must_use]
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.contains(&cpu)
    }

    pub fn insert(&mut self, cpu: u32) {
        self.0.insert(cpu);
    }

    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    #[must_use]
    pub fn first(&self) -> Option<u32> {
        self.0.first().copied()
    }

    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.0.union(&other.0).copied().collect()
    }

    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.0.intersection(&other.0).copied().collect()
    }

    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.0.difference(&other.0).copied().collect()
    }

    /// Formats the mask as the kernel prints it: hexadecimal, groups of 32 bits separated by
    /// commas, no leading zeros, `0` for the empty set.
    #[must_use]
    pub fn mask(&self) -> String {
        let Some(&largest) = self.0.last() else { return "0".to_owned() };
        let words = largest / 32 + 1;
        let word = |index: u32| {
            let in_word = self.0.range(index * 32..(index + 1) * 32);
            in_word.fold(0_u32, |bits, cpu| bits | 1 << (cpu % 32))
        };
        let mut text = format!("{:x}", word(words - 1));
        for index in (0..words - 1).rev() {
            let _ = write!(text, ",{:08x}", word(index));
        }
        text
    }

    /// Parses a mask in the kernel's format. Leading zeros are optional.
    pub fn from_mask(text: &str) -> Result<Self, String> {
        let wrong = || "is not a CPU mask such as f or 1,00000000".to_owned();
        let text = text.trim();
        let groups = text.split(',').count();
        let mut set = Self::new();
        for (index, group) in text.rsplit(',').enumerate() {
            // Only the leftmost group may be short; a single group may be long (`ffffffffff`).
            let width_fits = groups == 1 || group.len() == 8 || index + 1 == groups;
            if group.is_empty() || !width_fits || (groups > 1 && group.len() > 8) {
                return Err(wrong());
            }
            for (place, digit) in group.bytes().rev().enumerate() {
                let bits = char::from(digit).to_digit(16).ok_or_else(wrong)?;
                let base = u32::try_from(index * 32 + place * 4).map_err(|_| wrong())?;
                set.0.extend((0..4).filter(|bit| bits & (1 << bit) != 0).map(|bit| base + bit));
            }
        }
        if set.0.last().is_some_and(|last| *last > MAX_CPU) { Err(wrong()) } else { Ok(set) }
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<T: IntoIterator<Item = u32>>(cpus: T) -> Self {
        Self(cpus.into_iter().into_set())
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for cpu in self.iter() {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == cpu => *last = cpu,
                _ => ranges.push((cpu, cpu)),
            }
        }
        for (index, (first, last)) in ranges.into_iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            if first == last {
                write!(f, "{comma}{first}")?;
            } else {
                write!(f, "{comma}{first}-{last}")?;
            }
        }
        Ok(())
    }
}

impl FromStr for CpuSet {
    type Err = Fault;

    /// Parses the kernel's list form, except strides (`0-15:2/4`).
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let mut set = Self::new();
        for part in text.split(',').filter(|_| !text.is_empty()) {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(Fault::CpuRange { range: part.to_owned() });
            }
            set.0.extend(first..=last);
        }
        Ok(set)
    }
}

fn number(text: &str) -> Result<u32, Fault> {
    let digits = text.trim();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Fault::CpuList);
    }
    digits.parse().ok().filter(|cpu| *cpu <= MAX_CPU).ok_or(Fault::CpuLargest { largest: MAX_CPU })
}

impl Serialize for CpuSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests;
