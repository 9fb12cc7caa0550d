// SPDX-License-Identifier: GPL-2.0-or-later
//! Answers the methods of object `fastpath`.

use flows::{FlowsQuery, HistoryQuery, QueryError, Request, TopQuery};
use model::Engine;
use ruleset::Settings;
use serde::Serialize;
use serde_json::Value;
use ubus::{Blobmsg, EncodeError, Field, Map};

use crate::api::status;
use crate::core::Core;
use crate::effect::Effect;
use crate::{export, history, ips, metrics, network, offload};

#[derive(Debug, PartialEq)]
pub enum Outcome {
    /// Encoded answer, and the effects to execute.
    Reply(Result<Blobmsg, EncodeError>, Vec<Effect>),
    /// Malformed request; the text is for the log.
    Invalid(String),
    NotFound,
    NoMethod,
    /// Arguments for the doctor, which answers.
    Doctor(Map),
    /// Answered later, with [`AnswerReinspect`](crate::api::Effect::AnswerReinspect).
    Reinspect,
    /// Answered from the history on flash.
    History(Box<history::Query>),
    /// Answered later, with [`AnswerEngine`](crate::api::Effect::AnswerEngine).
    Engine {
        effects: Vec<Effect>,
        engine: Engine,
    },
}

/// Host moves per answer of `flow`.
const MAX_MOVES: usize = 16;

/// Answers a request. `args` match `METHODS`, and may contain uhttpd's session id.
pub fn call(core: &mut Core, method: &str, mut args: Map) -> Outcome {
    // The doctor needs the session id: its answer depends on the session's rights.
    if method == "doctor" {
        return Outcome::Doctor(args);
    }
    args.remove("ubus_rpc_session");
    let args = Value::Object(args);
    let flows = core.conntrack.flows();
    let outcome = match method {
        "status" => Ok(reply(&status::status(core.subsystems()))),
        "topology" => {
            let (planned, bridge) = (core.offload.planned(), core.offload.bridge_flowtable());
            Ok(reply(&network::answer::view(&core.network, planned, bridge, core.now)))
        }
        "flows" => FlowsQuery::parse(&args)
            .and_then(|query| flows.query(&query, core.now))
            .map(|page| reply(&page)),
        "flow" => flow(core, &args),
        "top" => TopQuery::parse(&args).map(|query| reply(&flows.top(&query))),
        "devices" => {
            let (open, network) = (flows.open_hosts(), core.network.view());
            Ok(reply(&core.devices.view(
                &open,
                network,
                core.offload.flowtable().in_force(),
                core.now,
            )))
        }
        "history" => HistoryQuery::parse(&args).map(|query| reply(&flows.history(&query))),
        "usage" => core.history.usage(&args, core.now).map(recorded),
        "journal" => {
            let names = core.devices.names(core.network.view());
            core.history.journal(&args, names, core.now).map(recorded)
        }
        "cpu" => Ok(core.cpu.view().map_or(Outcome::NotFound, |view| reply(&view))),
        "ebpf" => Ok(reply(&offload::answer::view(core.offload.ebpf()))),
        "ips" => Ok(reply(&ips::answer::ips(&core.ips, &core.rules, &core.network, core.now))),
        "metrics" => Ok(reply(&metrics::metrics(core.subsystems()))),
        "alerts" => ips::answer::alerts(&core.ips, flows, core.network.view(), &args)
            .map(|page| reply(&page)),
        "blocks" => Ok(reply(&ips::answer::blocks(&core.ips, core.network.view(), core.now))),
        "exports" => Ok(reply(&export::answer::exports(&core.export))),
        "block_release" => release(core, &args),
        "reinspect" => Ok(Outcome::Reinspect),
        "rules_update" => {
            let effects: Vec<Effect> = core.update_rules().into_iter().collect();
            Ok(reply_with("started", !effects.is_empty(), effects))
        }
        "engine" => engine(core, &args),
        "flush" => {
            let (flushed, effects) = core.flush();
            Ok(reply_with("flushed", flushed, effects))
        }
        "disconnect" => disconnect(core, &args),
        _ => Ok(Outcome::NoMethod),
    };
    outcome.unwrap_or_else(|error| Outcome::Invalid(error.to_string()))
}

fn reply(answer: &impl Serialize) -> Outcome {
    Outcome::Reply(Blobmsg::encode(answer), Vec::new())
}

fn recorded(query: history::Query) -> Outcome {
    Outcome::History(Box::new(query))
}

/// Returns an answer with one field.
fn reply_with(name: &str, value: impl Serialize, effects: Vec<Effect>) -> Outcome {
    Outcome::Reply(Blobmsg::encode(&Field(name, value)), effects)
}

fn flow(core: &Core, args: &Value) -> Result<Outcome, QueryError> {
    let request = Request::new("", args)?;
    let id = request.required("id", request.integer("id", 0, u64::MAX)?)?;
    let Some(mut flow) = core.conntrack.flows().flow(id, core.now) else {
        return Ok(Outcome::NotFound);
    };
    flow.moves = core.network.moves().of(&flow.ends(), flow.began_ms(), MAX_MOVES, core.now);
    Ok(reply(&flow))
}

fn release(core: &mut Core, args: &Value) -> Result<Outcome, QueryError> {
    let request = Request::new("", args)?;
    let address = request.word("address", |word| word.parse().ok(), "an address or network")?;
    let effect = core.unblock(request.required("address", address)?);
    Ok(effect
        .map_or(Outcome::NotFound, |effect| reply_with("address", &args["address"], vec![effect])))
}

fn disconnect(core: &mut Core, args: &Value) -> Result<Outcome, QueryError> {
    let request = Request::new("", args)?;
    let pairs = request.required("pairs", request.zone_pairs("pairs")?)?;
    let (connections, effect) = core.conntrack.disconnect(&pairs);
    Ok(reply_with("connections", connections, effect.into_iter().map(Into::into).collect()))
}

fn engine(core: &mut Core, args: &Value) -> Result<Outcome, QueryError> {
    let request = Request::new("", args)?;
    let engine = request.word("set", |word| word.parse().ok(), "an engine")?;
    let engine: Engine = request.required("set", engine)?;
    let passed = core.configuration.settings().map(Settings::passed);
    if let (Engine::Ebpf, Some(Err(problem))) = (engine, passed) {
        return Ok(Outcome::Invalid(problem.to_string()));
    }
    Ok(Outcome::Engine { effects: core.command(engine), engine })
}
