// SPDX-License-Identifier: GPL-2.0-or-later
//! The methods of the ubus object: requests in, answers out.

use flows::{FlowsQuery, HistoryQuery, QueryError, TopQuery};
use model::Engine;
use ruleset::Settings;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::bus::status;
use crate::core::Core;
use crate::effect::Effect;
use crate::{ips, network, offload};

/// Outcome of a request.
#[derive(Debug, PartialEq)]
pub(crate) enum Outcome {
    /// The answer.
    Reply(Value),
    /// The request cannot be understood; the text is for the log.
    Invalid(String),
    /// What was asked for does not exist.
    NotFound,
    /// No such method.
    NoMethod,
    /// The answer, and its effects.
    Done(Map<String, Value>, Vec<Effect>),
    /// The doctor answers, with these arguments.
    Doctor(Map<String, Value>),
    /// The answer follows with [`AnswerReinspect`](crate::bus::Effect::AnswerReinspect).
    Reinspect,
    /// The answer follows with [`AnswerEngine`](crate::bus::Effect::AnswerEngine).
    Engine { effects: Vec<Effect>, engine: Engine },
}

/// Answers one request. `args` as they came, with the session id that uhttpd adds.
pub(crate) fn call(core: &mut Core, method: &str, mut args: Map<String, Value>) -> Outcome {
    // What the doctor shows depends on whose session it is.
    if method == "doctor" {
        return Outcome::Doctor(args);
    }
    args.remove("ubus_rpc_session");
    let args = Value::Object(args);
    match method {
        "status" => nothing(&args).unwrap_or_else(|| reply(&status::status(core))),
        "topology" => nothing(&args).unwrap_or_else(|| reply(&network::answer::view(core))),
        "flows" => answer(
            FlowsQuery::parse(&args).and_then(|q| core.conntrack.flows().query(&q, core.now)),
        ),
        "flow" => flow(core, &args),
        "top" => answer(TopQuery::parse(&args).map(|query| core.conntrack.flows().top(&query))),
        "history" => {
            answer(HistoryQuery::parse(&args).map(|query| core.conntrack.flows().history(&query)))
        }
        "cpu" => nothing(&args)
            .unwrap_or_else(|| core.cpu.view().map_or(Outcome::NotFound, |v| reply(&v))),
        "ebpf" => nothing(&args)
            .unwrap_or_else(|| Outcome::Reply(offload::answer::view(core.offload.ebpf()))),
        "ips" => nothing(&args).unwrap_or_else(|| reply(&ips::answer::ips(core))),
        "alerts" => alerts(core, &args),
        "blocks" => nothing(&args).unwrap_or_else(|| reply(&ips::answer::blocks(core))),
        "block_release" => release(core, &args),
        "reinspect" => nothing(&args).unwrap_or(Outcome::Reinspect),
        "rules_update" => nothing(&args).unwrap_or_else(|| update(core)),
        "engine" => engine(core, &args),
        "flush" => nothing(&args).unwrap_or_else(|| flush(core)),
        _ => Outcome::NoMethod,
    }
}

fn nothing(args: &Value) -> Option<Outcome> {
    let name = args.as_object()?.keys().next()?;
    Some(Outcome::Invalid(format!("{name}: this method takes no arguments")))
}

fn reply(answer: &impl Serialize) -> Outcome {
    match serde_json::to_value(answer) {
        Ok(value) => Outcome::Reply(value),
        Err(error) => Outcome::Invalid(format!("the answer cannot be written as JSON: {error}")),
    }
}

fn answer(result: Result<impl Serialize, QueryError>) -> Outcome {
    match result {
        Ok(value) => reply(&value),
        Err(error) => Outcome::Invalid(error.to_string()),
    }
}

fn flow(core: &Core, args: &Value) -> Outcome {
    let surplus = args.as_object().and_then(|m| m.keys().find(|k| *k != "id"));
    if let Some(name) = surplus {
        return Outcome::Invalid(format!("{name}: unknown argument"));
    }
    let Some(id) = args.get("id").and_then(Value::as_u64) else {
        return Outcome::Invalid("id: the flow's number is missing".to_owned());
    };
    core.conntrack.flows().flow(id, core.now).map_or(Outcome::NotFound, |detail| reply(&detail))
}

fn alerts(core: &Core, args: &Value) -> Outcome {
    let none = Map::new();
    match ips::answer::alerts(core, args.as_object().unwrap_or(&none)) {
        Ok(page) => reply(&page),
        Err(why) => Outcome::Invalid(why),
    }
}

fn release(core: &mut Core, args: &Value) -> Outcome {
    let surplus = args.as_object().and_then(|m| m.keys().find(|k| *k != "address"));
    if let Some(name) = surplus {
        return Outcome::Invalid(format!("{name}: unknown argument"));
    }
    let Some(word) = args.get("address").and_then(Value::as_str) else {
        return Outcome::Invalid("address: is missing".to_owned());
    };
    let Ok(address) = word.parse() else {
        return Outcome::Invalid(format!("address: '{word}' is none"));
    };
    match core.unblock(address) {
        Some(effect) => Outcome::Done(one("address", word.into()), vec![effect]),
        None => Outcome::NotFound,
    }
}

fn update(core: &mut Core) -> Outcome {
    let effects: Vec<Effect> = core.update_rules().into_iter().collect();
    Outcome::Done(one("started", (!effects.is_empty()).into()), effects)
}

fn flush(core: &mut Core) -> Outcome {
    let (flushed, effects) = core.flush();
    Outcome::Done(one("flushed", flushed.into()), effects)
}

fn one(name: &str, value: Value) -> Map<String, Value> {
    Map::from_iter([(name.to_owned(), value)])
}

fn engine(core: &mut Core, args: &Value) -> Outcome {
    let surplus = args.as_object().and_then(|m| m.keys().find(|k| *k != "set"));
    if let Some(name) = surplus {
        return Outcome::Invalid(format!("{name}: unknown argument"));
    }
    let Some(word) = args.get("set").and_then(Value::as_str) else {
        return Outcome::Invalid("set: the engine is missing".to_owned());
    };
    let engine: Engine = match word.parse() {
        Ok(engine) => engine,
        Err(what) => return Outcome::Invalid(format!("set: '{word}' {what}")),
    };
    let passed = core.configuration.settings().map(Settings::passed);
    if let (Engine::Ebpf, Some(Err(problem))) = (engine, passed) {
        return Outcome::Invalid(problem.to_string());
    }
    let effects = core.command(engine);
    Outcome::Engine { effects, engine }
}
