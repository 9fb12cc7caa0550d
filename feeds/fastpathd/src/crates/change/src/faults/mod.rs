// SPDX-License-Identifier: GPL-2.0-or-later
//! Tests changes on a simulated router with failing steps, power cuts and concurrent
//! administrators.

mod medium;
mod power_tests;
mod router;
mod tests;
