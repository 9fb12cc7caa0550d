// SPDX-License-Identifier: GPL-2.0-or-later
//! A change on a router of which each step fails once, whose power is cut after each operation of
//! the kernel, and on which two administrators work at once.

mod medium;
mod power_tests;
mod router;
mod tests;
