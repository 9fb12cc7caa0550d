// SPDX-License-Identifier: GPL-2.0-or-later
//! Interns sides and host names: each value is stored once and has a 32-bit number.

use std::borrow::Borrow;
use std::hash::Hash;

use hashbrown::HashMap;

/// Number of an interned value; 0 if not set.
pub(crate) type Number = u32;

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
    /// Returns the number of `value`; adds new values.
    pub(crate) fn number(&mut self, value: T) -> Number {
        if let Some(number) = self.numbers.get(&value) {
            return *number;
        }
        self.values.push(value.clone());
        let number = Number::try_from(self.values.len()).unwrap_or(0);
        self.numbers.insert(value, number);
        number
    }

    /// Returns the number of `value`, or 0 if it is unknown.
    pub(crate) fn find<Q>(&self, value: &Q) -> Number
    where
        T: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.numbers.get(value).copied().unwrap_or(0)
    }

    pub(crate) fn get(&self, number: Number) -> Option<&T> {
        self.values.get(usize::try_from(number).ok()?.checked_sub(1)?)
    }

    /// Returns all values, from number 1 up.
    pub(crate) fn values(&self) -> &[T] {
        &self.values
    }
}
