// SPDX-License-Identifier: GPL-2.0-or-later
//! Interned values (sides and host names of flows): each is stored once and referred to by a number
//! of 32 bits.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

/// Number of an interned value; 0: not set.
pub(crate) type Number = u32;

/// A list of distinct values.
#[derive(Debug)]
pub(crate) struct Interner<T> {
    values: Vec<T>,
    numbers: HashMap<T, Number>,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Self { values: Vec::new(), numbers: HashMap::new() }
    }
}

impl<T: Clone + Eq + Hash> Interner<T> {
    /// The number of `value`, new or known.
    pub(crate) fn number(&mut self, value: T) -> Number {
        if let Some(number) = self.numbers.get(&value) {
            return *number;
        }
        self.values.push(value.clone());
        let number = Number::try_from(self.values.len()).unwrap_or(0);
        self.numbers.insert(value, number);
        number
    }

    /// The number of `value` if it is known, 0 otherwise.
    pub(crate) fn find<Q>(&self, value: &Q) -> Number
    where
        T: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.numbers.get(value).copied().unwrap_or(0)
    }

    /// The value with this number; `None` for 0.
    pub(crate) fn get(&self, number: Number) -> Option<&T> {
        self.values.get(usize::try_from(number).ok()?.checked_sub(1)?)
    }

    /// All values; the first has number 1.
    pub(crate) fn values(&self) -> &[T] {
        &self.values
    }
}
