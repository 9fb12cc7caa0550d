// SPDX-License-Identifier: GPL-2.0-or-later
//! The network around the router.

pub(crate) mod answer;
#[cfg(test)]
pub(crate) mod fixture;
pub(crate) mod interfaces;
pub(crate) mod names;
pub(crate) mod stations;
pub(crate) mod view;
pub(crate) mod wan;
pub(crate) mod zones;
