// SPDX-License-Identifier: GPL-2.0-or-later
//! Parses the command line.

use std::ffi::OsString;

use lexopt::Arg::{Long, Short, Value as Word};
use lexopt::ValueExt;
use serde_json::{Map, Value, json};

use crate::device::Verb;
use crate::doctor::Request;
use crate::{cpu_plan, ebpf, export, protection, show, usage};

#[derive(Debug)]
pub(crate) struct Args {
    pub(crate) socket: String,
    pub(crate) json: bool,
    pub(crate) command: Command,
}

#[derive(Debug)]
pub(crate) enum Command {
    Help,
    Version,
    Ask(Query),
    /// Redraws `status` and the busiest flows of this request every second.
    Watch(Map<String, Value>),
    Doctor(Request),
    /// Sets the engine. `None` shows it.
    Engine(Option<EngineChange>),
    Device(Verb),
}

#[derive(Debug)]
pub(crate) struct Query {
    pub(crate) method: &'static str,
    pub(crate) args: Value,
    pub(crate) show: fn(&Value) -> String,
}

#[derive(Debug, PartialEq)]
pub(crate) struct EngineChange {
    pub(crate) set: String,
    pub(crate) persist: bool,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ArgsError {
    #[error("{0}")]
    Syntax(#[from] lexopt::Error),
    #[error("no command given")]
    NoCommand,
    #[error("unknown command '{0}'")]
    UnknownCommand(String),
    #[error("{command} needs {what}")]
    Missing { command: &'static str, what: &'static str },
    #[error("{0} needs more words")]
    NoWord(String),
    #[error("{command} does not accept '{word}'")]
    Surplus { command: String, word: String },
}

pub(crate) const USAGE: &str = "\
usage: fastpathctl [--json] [--socket PATH] COMMAND

  status                 engine, offload ratio, WAN, flows by path
  flows [FILTER]         one page of the flow table, busiest first
  flow ID                one flow and its history
  watch [FILTER]         status and the busiest flows, updated every second
  top [host|service|vlan|path|traffic]
  devices                machines behind the router, with all of their addresses
  device WHO name|kind|group|inspect|quota VALUE
                         say what a device is, inspect it always or never, or its
                         quota in MB per day; an empty VALUE, or 0, removes it
  limit WHO DOWN UP      limit the rate to and from a device, kbit/s; 0: no limit
  pause WHO [1h|30m|until 21:30|morning]
                         forward nothing for a device, until then or resumed
  resume WHO             end a pause
  forget WHO             remove what was said about a device
  usage [MAC] [--days N] bytes by quarter hour, or by day, of a device or of all
  journal [--limit N] [--after ID]
                         events: WAN, engine, inspection, configuration, devices,
                         alerts; after an event: oldest first, in columns with tabs
  notifications          receivers of notifications, numbers waiting, last errors
  topology               devices, VLANs, PPPoE sessions and fast path membership
  engine [off|flowtable|flowtable-hw|ebpf] [--persist]
                         show or select the offload engine
  flush                  empty the fast path; flows return with their next packet
  ips                    inspection state, queues and rules
  alerts [FILTER]        alerts, newest first
  blocks                 blocked addresses
  release ADDRESS        unblock an address
  reinspect              re-inspect bypassed connections
  update-rules           fetch, test and load rules now
  cpu                    CPU assignment: forwarding, inspection
  doctor [--check ID]… [--fix ID|all]… [--yes]
                         run diagnostics and suggest fixes; exit status, without
                         accepted findings: 0 no problems, 1 recommendations or
                         warnings, 2 errors, 3 failed to run
  ebpf                   eBPF hooks and packet verdicts
  exports                collectors of flow records and events, numbers sent and lost

WHO: a MAC, the name of one device, or for pause and resume @GROUP
FILTER: --path P  --reason R  --inspection I  --proto P  --vlan N  --zone Z  --device D
        --host ADDRESS  --family 4|6  --text TEXT  --sort COLUMN  --ascending
        --limit N  --offset N
alerts: --text TEXT  --action allowed|blocked  --severity N  --address A  --sid N
        --flow ID  --since ID  --limit N
";

pub(crate) const DEFAULT_SOCKET: &str = "/var/run/ubus/ubus.sock";

/// Words and options before the command is known.
#[derive(Default)]
struct Seen {
    words: Vec<String>,
    filter: Map<String, Value>,
    page: Map<String, Value>,
    persist: bool,
    days: Option<u64>,
    doctor: Request,
}

pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Args, ArgsError> {
    let mut parser = lexopt::Parser::from_args(args);
    let mut seen = Seen::default();
    let mut socket = DEFAULT_SOCKET.to_owned();
    let mut json = false;
    let mut special = None;
    while let Some(arg) = parser.next()? {
        match arg {
            Short('h') | Long("help") => special = Some(Command::Help),
            Short('V') | Long("version") => special = Some(Command::Version),
            Short('j') | Long("json") => json = true,
            Short('s') | Long("socket") => socket = parser.value()?.string()?,
            Long("persist") => seen.persist = true,
            Long("days") => seen.days = Some(parser.value()?.parse()?),
            Long("yes") => seen.doctor.yes = true,
            Long("fix") => seen.doctor.fixes.push(parser.value()?.string()?),
            Long("check") => seen.doctor.checks.push(parser.value()?.string()?),
            Long("ascending") => drop(seen.page.insert("desc".into(), false.into())),
            Word(word) => seen.words.push(word.string()?),
            Long(name) => {
                let name = name.to_owned();
                seen.option(&name, &mut parser)?;
            }
            other @ Short(_) => return Err(other.unexpected().into()),
        }
    }
    let command = match special {
        Some(command) => command,
        None => seen.command()?,
    };
    Ok(Args { socket, json, command })
}

impl Seen {
    /// Adds an option to the filter or to the page parameters.
    fn option(&mut self, name: &str, parser: &mut lexopt::Parser) -> Result<(), ArgsError> {
        let value: Value = match name {
            "vlan" | "family" => parser.value()?.parse::<u16>()?.into(),
            "severity" | "sid" | "flow" | "limit" | "offset" | "since" | "after" => {
                parser.value()?.parse::<u64>()?.into()
            }
            "path" | "reason" | "inspection" | "proto" => {
                let value = Value::String(parser.value()?.string()?);
                if let Value::Array(list) = self.filter.entry(name).or_insert_with(|| json!([])) {
                    list.push(value);
                }
                return Ok(());
            }
            "sort" | "zone" | "device" | "host" | "text" | "action" | "address" => {
                parser.value()?.string()?.into()
            }
            _ => return Err(lexopt::Error::UnexpectedOption(format!("--{name}")).into()),
        };
        let paged = matches!(name, "sort" | "limit" | "offset" | "since" | "after");
        let part = if paged { &mut self.page } else { &mut self.filter };
        part.insert(name.to_owned(), value);
        Ok(())
    }

    fn command(mut self) -> Result<Command, ArgsError> {
        let mut words = std::mem::take(&mut self.words).into_iter();
        let name = words.next().ok_or(ArgsError::NoCommand)?;
        let command = match name.as_str() {
            "status" => ask("status", json!({}), show::status),
            "flows" => ask("flows", self.request(), show::flows),
            "watch" => Command::Watch(self.request()),
            "topology" => ask("topology", json!({}), show::topology),
            "flow" => {
                let missing = ArgsError::Missing { command: "flow", what: "a flow ID" };
                let id = words.next().ok_or(missing)?;
                let id: u64 = OsString::from(id).parse()?;
                ask("flow", json!({"id": id}), show::flow)
            }
            "ips" => ask("ips", json!({}), protection::ips),
            "alerts" => ask("alerts", self.request(), protection::alerts),
            "blocks" => ask("blocks", json!({}), protection::blocks),
            "exports" => ask("exports", json!({}), export::exports),
            "reinspect" => ask("reinspect", json!({}), protection::reinspected),
            "update-rules" => ask("rules_update", json!({}), protection::rules_update),
            "cpu" => ask("cpu", json!({}), cpu_plan::cpu),
            "ebpf" => ask("ebpf", json!({}), ebpf::ebpf),
            "doctor" => Command::Doctor(std::mem::take(&mut self.doctor)),
            "release" => {
                let missing = ArgsError::Missing { command: "release", what: "an address" };
                let address = words.next().ok_or(missing)?;
                ask("block_release", json!({"address": address}), protection::released)
            }
            "top" => {
                let by = words.next().unwrap_or_else(|| "host".into());
                ask("top", json!({"by": by}), show::top)
            }
            "device" | "limit" | "pause" | "resume" | "forget" => {
                let verb = Verb::parse(&name, &words.by_ref().collect::<Vec<_>>());
                let wrong = |word: Option<String>| match word {
                    Some(word) => ArgsError::Surplus { command: name.clone(), word },
                    None => ArgsError::NoWord(name.clone()),
                };
                Command::Device(verb.map_err(wrong)?)
            }
            "devices" => ask("devices", json!({}), show::devices),
            "usage" => ask("usage", usage::request(words.next(), self.days), usage::usage),
            "journal" if self.page.contains_key("after") => {
                ask("journal", self.request(), usage::columns)
            }
            "journal" => ask("journal", self.request(), usage::journal),
            "notifications" => ask("notifications", json!({}), export::notifications),
            "flush" => ask("flush", json!({}), show::flushed),
            "engine" => {
                let persist = self.persist;
                Command::Engine(words.next().map(|set| EngineChange { set, persist }))
            }
            _ => return Err(ArgsError::UnknownCommand(name)),
        };
        match words.next() {
            Some(word) => Err(ArgsError::Surplus { command: name, word }),
            None => Ok(command),
        }
    }

    fn request(&mut self) -> Map<String, Value> {
        let mut request = std::mem::take(&mut self.page);
        if !self.filter.is_empty() {
            request.insert("filter".into(), std::mem::take(&mut self.filter).into());
        }
        request
    }
}

fn ask(method: &'static str, args: impl Into<Value>, show: fn(&Value) -> String) -> Command {
    Command::Ask(Query { method, args: args.into(), show })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query_of(args: &Args) -> (&str, &Value) {
        let Command::Ask(query) = &args.command else { panic!("{args:?}") };
        (query.method, &query.args)
    }

    fn parsed(line: &str) -> Result<Args, ArgsError> {
        parse(line.split(' ').map(OsString::from))
    }

    #[test]
    fn converts_filters_to_a_request() {
        let args = parsed(
            "flows --path slow --path inspect --inspection spent --vlan 10 --limit 5 \
             --ascending -j",
        );
        let args = args.unwrap();
        assert!(args.json);
        let want = json!({"limit": 5, "desc": false,
            "filter": {"path": ["slow", "inspect"], "inspection": ["spent"], "vlan": 10}});
        assert_eq!(query_of(&args), ("flows", &want));
    }

    #[test]
    fn converts_filters_of_alerts() {
        let args = parsed("alerts --sid 7 --action blocked --since 3 --limit 9").unwrap();
        let want = json!({"since": 3, "limit": 9, "filter": {"sid": 7, "action": "blocked"}});
        assert_eq!(query_of(&args), ("alerts", &want));
    }

    #[test]
    fn accepts_ids_above_32_bits() {
        let twin = (1_u64 << 32) + 7;
        for (line, method, want) in [
            ("flow 4294967303", "flow", json!({"id": twin})),
            ("alerts --flow 4294967303", "alerts", json!({"filter": {"flow": twin}})),
        ] {
            assert_eq!(query_of(&parsed(line).unwrap()), (method, &want));
        }
    }

    #[test]
    fn engine_without_a_name_shows_the_engine() {
        assert!(matches!(parsed("engine").unwrap().command, Command::Engine(None)));
        let set = parsed("engine off --persist").unwrap();
        let Command::Engine(Some(change)) = set.command else { panic!("{set:?}") };
        assert_eq!(change, EngineChange { set: "off".into(), persist: true });
    }

    #[test]
    fn parses_checks_and_fixes_of_the_doctor() {
        let args = parsed("doctor --check a --check b --fix c --yes --json").unwrap();
        let request =
            Request { checks: vec!["a".into(), "b".into()], fixes: vec!["c".into()], yes: true };
        assert!(matches!(args.command, Command::Doctor(found) if found == request) && args.json);
    }

    #[test]
    fn reports_the_mistake_in_an_invalid_command_line() {
        for (line, says) in [
            ("", "unknown command ''"),
            ("fly", "unknown command 'fly'"),
            ("release", "release needs an address"),
            ("flow", "flow needs a flow ID"),
            ("pause tv 5", "pause does not accept '5'"),
            ("forget", "forget needs more words"),
            ("status now", "status does not accept 'now'"),
            ("flows --vlan x", "cannot parse argument \"x\""),
            ("flows --nosuch", "invalid option '--nosuch'"),
        ] {
            let error = parsed(line).unwrap_err().to_string();
            assert!(error.contains(says), "{line}: {error}");
        }
    }
}
