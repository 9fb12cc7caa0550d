// SPDX-License-Identifier: GPL-2.0-or-later
//! The command line of `fastpath-bpf`.

use std::error::Error;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::attach::{Attached, Hook, attached, chain, detach, name, renew};
use crate::devices::{Device, TcReason, attach_all};
use crate::folder::{FOLDER, Folder};
use crate::owner::Owner;
use crate::programs::{Dsa, LoadOptions, Programs};

const OBJECT: &str = "/lib/bpf/fastpath.o";

const USAGE: &str = "\
usage: fastpath-bpf [--folder DIR] COMMAND

  load [--object FILE] [--flows N] [--dsa KIND] [--owner UID:GID]
        load the programs unless they are loaded; attached ones are replaced; the folder is
        given to this user
  attach [--hook HOOK] [--dsa KIND] DEVICE…
        attach them, at the best hook that all of them support
  set [--hook HOOK] [--dsa KIND] [DEVICE…]
        the same, and detach them from all other devices
  detach DEVICE|INDEX…
        detach them
  show  list the attached programs
  unload
        detach all and remove the folder

HOOK: tcx, clsact, xdp, xdp-generic.  KIND: none, mtk, gswip, qca.
Answers are JSON.
";

type Answer = Result<Value, Box<dyn Error>>;

#[derive(Default)]
struct Arguments {
    folder: Option<PathBuf>,
    object: Option<PathBuf>,
    flows: Option<u32>,
    owner: Option<Owner>,
    dsa: Dsa,
    hook: Option<Hook>,
    operands: Vec<String>,
}

/// Runs `fastpath-bpf`. `args` begins with the name of the program.
#[must_use]
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    match parse(args.into_iter().skip(1)).and_then(|arguments| execute(&arguments)) {
        Ok(answer) => {
            println!("{answer}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("fastpath-bpf: {}", chain(&*error));
            ExitCode::FAILURE
        }
    }
}

fn parse(args: impl Iterator<Item = OsString>) -> Result<Arguments, Box<dyn Error>> {
    use lexopt::prelude::*;

    let mut parsed = Arguments::default();
    let mut arguments = lexopt::Parser::from_args(args);
    while let Some(argument) = arguments.next()? {
        match argument {
            Long("folder") => parsed.folder = Some(arguments.value()?.into()),
            Long("object") => parsed.object = Some(arguments.value()?.into()),
            Long("flows") => parsed.flows = Some(arguments.value()?.parse()?),
            Long("owner") => {
                let owner = arguments.value()?.string()?;
                parsed.owner = Some(Owner::read(&owner).ok_or(format!("no owner {owner}"))?);
            }
            Long("hook") => {
                let hook = arguments.value()?.string()?;
                parsed.hook = Some(Hook::from_name(&hook).ok_or(format!("no hook {hook}"))?);
            }
            Long("dsa") => {
                let kind = arguments.value()?.string()?;
                parsed.dsa = Dsa::from_name(&kind).ok_or(format!("no switch {kind}"))?;
            }
            Value(word) => parsed.operands.push(word.string()?),
            other => return Err(other.unexpected().into()),
        }
    }
    Ok(parsed)
}

fn execute(arguments: &Arguments) -> Answer {
    let folder = Folder::new(arguments.folder.clone().unwrap_or_else(|| FOLDER.into()));
    let Some((command, devices)) = arguments.operands.split_first() else {
        return Err(USAGE.into());
    };
    match command.as_str() {
        "load" => load(&folder, arguments),
        "attach" => attach(&folder, arguments, read(devices)?),
        "set" => {
            let found = read(devices)?;
            let wanted = |ifindex| found.iter().any(|device| device.ifindex == ifindex);
            for other in attached(&folder)?.iter().filter(|one| !wanted(one.ifindex)) {
                detach(&folder, other.ifindex)?;
            }
            // Detaching everything does not require loaded programs.
            if found.is_empty() {
                return Ok(json!([]));
            }
            attach(&folder, arguments, found)
        }
        "detach" => {
            for device in devices {
                detach(&folder, number(device)?)?;
            }
            show(&folder)
        }
        "show" => show(&folder),
        "unload" => {
            for one in attached(&folder)? {
                detach(&folder, one.ifindex)?;
            }
            match std::fs::remove_dir_all(folder.path()) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(e.into()),
                _ => Ok(json!([])),
            }
        }
        other => Err(format!("no command {other}\n{USAGE}").into()),
    }
}

fn load(folder: &Folder, arguments: &Arguments) -> Answer {
    let path = arguments.object.clone().unwrap_or_else(|| OBJECT.into());
    let object = std::fs::read(&path).map_err(|e| format!("reading {}: {e}", path.display()))?;
    let settings = LoadOptions { flows: arguments.flows.unwrap_or(65536), dsa: arguments.dsa };
    let is_new = Programs::ensure(&object, folder, settings)?;
    for old in attached(folder)?.into_iter().filter(|old| old.dsa == arguments.dsa) {
        if name(old.ifindex).is_err() {
            detach(folder, old.ifindex)?;
        } else if is_new {
            renew(folder, old)?;
        }
    }
    Programs::note(&object, folder, settings)?;
    if let Some(owner) = arguments.owner {
        let path = folder.path();
        owner.take(path).map_err(|e| format!("changing the owner of {}: {e}", path.display()))?;
    }
    show(folder)
}

fn read(devices: &[String]) -> Result<Vec<Device>, Box<dyn Error>> {
    devices.iter().map(|name| device(name)).collect()
}

fn attach(folder: &Folder, arguments: &Arguments, devices: Vec<Device>) -> Answer {
    let outcomes = attach_all(folder, arguments.dsa, devices, arguments.hook)?;
    Ok(outcomes.iter().map(|one| outcome(one, arguments.dsa)).collect())
}

fn device(name: &str) -> Result<Device, Box<dyn Error>> {
    Device::read(name).map_err(|e| format!("reading the properties of {name}: {e}").into())
}

fn number(name: &str) -> Result<u32, Box<dyn Error>> {
    name.parse().or_else(|_| device(name).map(|device| device.ifindex))
}

fn outcome(o: &crate::devices::DeviceOutcome, dsa: Dsa) -> Value {
    let not_native = o.why.as_ref().map(TcReason::cause);
    let why = not_native.as_ref().map(ToString::to_string);
    let mut answer = json!({
        "device": o.device.name, "ifindex": o.device.ifindex, "dsa": dsa.name(),
        "hook": o.hook.as_ref().ok().map(|hook| hook.name()), "why": why, "cause": not_native,
    });
    if let Err(error) = &o.hook {
        let cause = error.reason().cause();
        (answer["error"], answer["cause"]) = (cause.text.as_str().into(), json!(cause));
    }
    answer
}

fn show(folder: &Folder) -> Answer {
    let line = |one: Attached| {
        json!({
            "device": name(one.ifindex).ok(),
            "ifindex": one.ifindex,
            "hook": one.hook.name(),
            "dsa": one.dsa.name(),
        })
    };
    Ok(attached(folder)?.into_iter().map(line).collect())
}
