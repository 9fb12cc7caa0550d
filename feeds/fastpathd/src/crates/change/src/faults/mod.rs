// SPDX-License-Identifier: GPL-2.0-or-later
//! Changes on a simulated router: each step fails once, the power is cut after each operation of
//! the kernel, and two administrators work at once.

mod medium;
mod power_tests;
mod router;
mod tests;
