// SPDX-License-Identifier: GPL-2.0-or-later

use gateway::api::Effect;
use gateway::core::calls::{self, Outcome};
use gateway::effect::Effect as AnyEffect;
use gateway::{configuration, ips, network};

use crate::bus::requests::log_failure;
use crate::bus::{Event, connection};
use crate::daemon::Daemon;
use crate::run;
use crate::sys::task::spawn_local;

impl Daemon {
    pub(crate) fn bus_event(&mut self, event: Event) -> Vec<AnyEffect> {
        match event {
            Event::Up(handle) => {
                self.io.bus = Some(handle);
                self.unread = true;
                vec![AnyEffect::Configuration(configuration::Effect::Read)]
            }
            Event::Down => {
                self.io.bus = None;
                self.subscribed = false;
                Vec::new()
            }
            Event::Invoked(request) => {
                let (known, now) = (self.core.network().is_known(), self.core.now().mono);
                let request = self.requests.hold_update(*request);
                let request = request.and_then(|of| self.requests.hold_for_network(of, known, now));
                request.map_or_else(Vec::new, |request| self.invoke(request))
            }
            Event::Subscribed(active) => {
                self.subscribed = active;
                Vec::new()
            }
            Event::InterfacesChanged => self.core.handle(network::Event::InterfacesChanged.into()),
        }
    }

    pub(crate) fn api_effect(&mut self, effect: Effect) {
        match effect {
            Effect::AnswerEngine => {
                let report = self.core.offload().report(self.core.now());
                self.requests.answer_engine(&report);
            }
            Effect::AnswerReinspect(result) => self.requests.answer_reinspect(&result),
        }
    }

    pub(crate) fn invoke(&mut self, request: ubus::Request) -> Vec<AnyEffect> {
        let ubus::Request { method, args, reply, .. } = request;
        match calls::call(&mut self.core, &method, args) {
            Outcome::Reply(answer, effects) => {
                log_failure(&method, reply.table(answer));
                effects
            }
            Outcome::NoMethod => {
                reply.status(ubus::Status::MethodNotFound);
                Vec::new()
            }
            Outcome::NotFound => {
                reply.status(ubus::Status::NotFound);
                Vec::new()
            }
            Outcome::Invalid(why) => {
                self.requests.log_refusal(&method, &why, self.core.now().mono);
                reply.status(ubus::Status::InvalidArgument);
                Vec::new()
            }
            Outcome::Doctor(args) => {
                match &self.io.bus {
                    Some(bus) => spawn_local(connection::doctor(bus.clone(), args, reply)),
                    None => reply.status(ubus::Status::NotFound),
                }
                Vec::new()
            }
            Outcome::History(query) => {
                let ledger = self.io.ledger.clone();
                spawn_local(run::history::answer(method, *query, ledger, reply));
                Vec::new()
            }
            Outcome::Reinspect => {
                self.requests.hold_reinspect(reply);
                vec![AnyEffect::Ips(ips::Effect::Reinspect)]
            }
            Outcome::Engine { effects, engine } => {
                log::info!("engine {engine} by command");
                self.requests.hold_engine(reply);
                effects
            }
        }
    }
}
