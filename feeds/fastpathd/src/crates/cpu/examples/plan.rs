// SPDX-License-Identifier: GPL-2.0-or-later
//! `plan [--lines] [--no-inspection] DEVICE…` prints the CPU plan of this machine as the reply of
//! method `cpu`, or as the lines to write.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;

use cpu::{Machine, Settings, Steering, View, differences, lines, plan};

fn main() -> Result<(), Box<dyn Error>> {
    let (mut devices, mut only_lines, mut inspection) = (BTreeSet::new(), false, true);
    for word in std::env::args().skip(1) {
        match word.as_str() {
            "--lines" => only_lines = true,
            "--no-inspection" => inspection = false,
            _ => drop(devices.insert(word)),
        }
    }
    let root = Path::new("/");
    let machine = Machine::read(root, &devices)?;
    let plan = plan(&machine, &Settings::default(), inspection)
        .map_err(|problems| problems.iter().map(ToString::to_string).collect::<String>())?;
    if only_lines {
        print!("{}", lines(&differences(&plan, &machine)));
    } else {
        let view = View::new(&plan, &machine, &Steering::read(root, None), &[]);
        println!("{}", serde_json::to_string_pretty(&view)?);
    }
    Ok(())
}
