// SPDX-License-Identifier: GPL-2.0-or-later
//! The ubus object `network.interface`: interfaces of `/etc/config/network`, with the kernel's
//! state.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use ubus::{Map, Method, PolicyType, Status};

use crate::reply::{Answer, text};
use crate::routes::{self, Route};
use crate::uci::{Package, Section, Store};

const SESSION: ubus::Argument = ("ubus_rpc_session", PolicyType::String);

pub const METHODS: &[Method] = &[
    Method { name: "dump", policy: &[SESSION] },
    Method { name: "status", policy: BY_NAME },
    Method { name: "up", policy: BY_NAME },
    Method { name: "down", policy: BY_NAME },
    Method { name: "renew", policy: BY_NAME },
];

pub const INTERFACE_METHODS: &[Method] = &[
    Method { name: "status", policy: &[SESSION] },
    Method { name: "up", policy: &[SESSION] },
    Method { name: "down", policy: &[SESSION] },
    Method { name: "renew", policy: &[SESSION] },
];

/// Path prefix of an interface's own object.
pub const PATH: &str = "network.interface.";
const BY_NAME: &[ubus::Argument] = &[("interface", PolicyType::String), SESSION];

/// Addresses and prefix lengths by device.
pub type Addresses = BTreeMap<String, Vec<(IpAddr, u8)>>;

/// Time when an interface came up, and its device's index, which detects a recreated device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Up {
    index: u32,
    since: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub interface: String,
    /// False if the interface went down.
    pub up: bool,
}

#[derive(Debug)]
pub struct Network {
    store: Store,
    sys: PathBuf,
    up: BTreeMap<String, Up>,
    /// File that keeps `up` across restarts.
    memory: PathBuf,
    /// Folder with a file for each interface that was brought down.
    down: PathBuf,
    /// Whether an interface was brought up or down since the last reload.
    reload: bool,
}

impl Network {
    /// Returns the interfaces of the configuration in `store`. `down` is the folder of interfaces
    /// that must stay down.
    #[must_use]
    pub fn new(store: Store, down: PathBuf) -> Network {
        let memory = store.run.join("interfaces.json");
        let up = remembered(&memory);
        let sys = PathBuf::from("/sys/class/net");
        Network { store, sys, up, memory, down, reload: false }
    }

    fn config(&self) -> Package {
        let changes = PathBuf::from("/dev/null");
        self.store.load("network", &changes).unwrap_or_else(|error| {
            log::debug!("reading the network's configuration: {error}");
            Package::default()
        })
    }

    /// Returns the interfaces, sorted by name like netifd's (cbb83a1, `interfaces`).
    fn interfaces(config: &Package) -> impl Iterator<Item = &Section> {
        let mut all: Vec<&Section> =
            config.sections.iter().filter(|section| section.kind == "interface").collect();
        all.sort_by_key(|section| &section.name);
        all.into_iter()
    }

    /// Returns the index of a device that is up and has carrier.
    fn index_if_up(&self, device: &str) -> Option<u32> {
        let file = |name| std::fs::read_to_string(self.sys.join(device).join(name)).ok();
        // Running PPP devices report the state "unknown".
        let state = file("operstate")?;
        let running = matches!(state.trim(), "up" | "unknown");
        running.then(|| file("ifindex")?.trim().parse().ok()).flatten()
    }

    /// Updates all interfaces and returns the changes. `now` is the time since boot.
    pub fn update(&mut self, now: Duration) -> Vec<Change> {
        let config = self.config();
        let mut changes = Vec::new();
        for section in Self::interfaces(&config) {
            let index = self.index_if_up(&layer3(section, &config));
            let known = self.up.get(&section.name).map(|up| up.index);
            if index == known {
                continue;
            }
            if let Some(index) = index {
                self.up.insert(section.name.clone(), Up { index, since: now });
            } else {
                self.up.remove(&section.name);
            }
            changes.push(Change { interface: section.name.clone(), up: index.is_some() });
        }
        if !changes.is_empty() {
            self.remember();
        }
        changes
    }

    fn remember(&self) {
        let entry = |(name, up): (&String, &Up)| {
            (name.clone(), json!([up.index, up.since.as_millis().to_string()]))
        };
        let map: Map = self.up.iter().map(entry).collect();
        if let Err(error) = std::fs::write(&self.memory, Value::Object(map).to_string()) {
            log::debug!("writing {}: {error}", self.memory.display());
        }
    }

    /// Answers a call.
    ///
    /// # Errors
    /// Returns the status for the caller.
    pub fn answer(
        &mut self,
        (method, args): (&str, &Map),
        addresses: &Addresses,
        now: Duration,
    ) -> Answer {
        let config = self.config();
        let routes = routes::read();
        if matches!(method, "up" | "down" | "renew") {
            let name = text(args, "interface").ok_or(Status::InvalidArgument)?;
            return self.request(name, method, &config);
        }
        let one = |section: &Section| self.describe(section, &config, addresses, &routes, now);
        match method {
            "dump" => {
                let all: Vec<Value> = Self::interfaces(&config).map(one).collect();
                Ok(Map::from_iter([("interface".to_owned(), Value::Array(all))]))
            }
            "status" => {
                let name = text(args, "interface").ok_or(Status::InvalidArgument)?;
                let section = Self::interfaces(&config).find(|section| section.name == name);
                match one(section.ok_or(Status::NotFound)?) {
                    Value::Object(map) => Ok(map),
                    _ => Err(Status::UnknownError),
                }
            }
            _ => Err(Status::MethodNotFound),
        }
    }

    #[must_use]
    pub fn names(&self) -> Vec<String> {
        Self::interfaces(&self.config()).map(|section| section.name.clone()).collect()
    }

    /// Returns and clears the flag that an interface was brought up or down, so that the caller
    /// reloads the services.
    pub fn take_reload(&mut self) -> bool {
        std::mem::take(&mut self.reload)
    }

    fn request(&mut self, name: &str, method: &str, config: &Package) -> Answer {
        let known = Self::interfaces(config).any(|section| section.name == name);
        if !known {
            return Err(Status::NotFound);
        }
        let flag = self.down.join(name);
        let done = match method {
            "down" => std::fs::create_dir_all(&self.down).and_then(|()| std::fs::write(flag, "")),
            "up" if flag.exists() => std::fs::remove_file(flag),
            _ => return Ok(Map::new()),
        };
        done.map_err(|_| Status::UnknownError)?;
        self.reload = true;
        Ok(Map::new())
    }

    fn describe(
        &self,
        section: &Section,
        config: &Package,
        addresses: &Addresses,
        routes: &[Route],
        now: Duration,
    ) -> Value {
        let device = layer3(section, config);
        let up = self.up.get(&section.name);
        let option = |name| section.option(name).and_then(|value| value.text()).unwrap_or_default();
        let wanted = option("auto") != "0" && !self.down.join(&section.name).exists();
        // Interfaces with a session can be pending; static ones are up or have no device.
        let pending = wanted && up.is_none() && matches!(option("proto"), "pppoe" | "dhcp");
        let metric: u32 = option("metric").parse().unwrap_or(0);
        let mut map = Map::from_iter([
            ("interface".to_owned(), json!(section.name)),
            ("up".to_owned(), json!(up.is_some())),
            ("pending".to_owned(), json!(pending)),
            ("available".to_owned(), json!(true)),
            ("autostart".to_owned(), json!(wanted)),
            ("dynamic".to_owned(), json!(false)),
        ]);
        if let Some(up) = up {
            map.insert("uptime".to_owned(), json!(now.saturating_sub(up.since).as_secs()));
            map.insert("l3_device".to_owned(), json!(device));
        }
        map.insert("proto".to_owned(), json!(option("proto")));
        // netifd hides the device of an alias while the aliased interface is down.
        if up.is_some() || !option("device").starts_with('@') {
            map.insert("device".to_owned(), json!(layer2(section, config)));
        }
        map.insert("metric".to_owned(), json!(metric));
        if up.is_some() {
            let own = addresses.get(&device).map(Vec::as_slice).unwrap_or_default();
            let of = |v6: bool| {
                let family = own.iter().filter(|(address, _)| address.is_ipv6() == v6);
                family
                    .map(|(address, mask)| json!({"address": address, "mask": mask}))
                    .collect::<Vec<Value>>()
            };
            let routes = routes.iter().filter(|route| route.device == device);
            let routes: Vec<Value> = routes.map(Route::to_json).collect();
            map.insert("ipv4-address".to_owned(), json!(of(false)));
            map.insert("ipv6-address".to_owned(), json!(of(true)));
            map.insert("route".to_owned(), json!(routes));
            let dns = section.option("dns").map(|value| value.words()).unwrap_or_default();
            map.insert("dns-server".to_owned(), json!(dns));
        }
        map.insert("data".to_owned(), json!({}));
        Value::Object(map)
    }
}

fn remembered(memory: &std::path::Path) -> BTreeMap<String, Up> {
    let text = std::fs::read_to_string(memory).unwrap_or_default();
    let map: Map = serde_json::from_str(&text).unwrap_or_default();
    let entry = |(name, value): (String, Value)| {
        let index = u32::try_from(value[0].as_u64()?).ok()?;
        let since = Duration::from_millis(value[1].as_str()?.parse().ok()?);
        Some((name, Up { index, since }))
    };
    map.into_iter().filter_map(entry).collect()
}

/// Returns the configured device. `@other` refers to the device of interface `other`.
fn layer2(section: &Section, config: &Package) -> String {
    let device = section.option("device").and_then(|value| value.text()).unwrap_or_default();
    match device.strip_prefix('@').and_then(|other| config.section(other)) {
        Some(other) if other.name != section.name => layer3(other, &without(config, section)),
        _ => device.to_owned(),
    }
}

/// Returns the configuration without `section`, so that a cycle of interfaces ends.
fn without(config: &Package, section: &Section) -> Package {
    let mut rest = config.clone();
    rest.sections.retain(|known| known.name != section.name);
    rest
}

/// Returns the device for IP packets; PPPoE and tunnels create their own.
fn layer3(section: &Section, config: &Package) -> String {
    match section.option("proto").and_then(|value| value.text()) {
        Some("pppoe") => format!("pppoe-{}", section.name),
        Some("wireguard") => section.name.clone(),
        _ => layer2(section, config),
    }
}

#[must_use]
pub fn addresses() -> Addresses {
    let mut all = Addresses::new();
    let Ok(list) = nix::ifaddrs::getifaddrs() else { return all };
    for entry in list {
        let address = entry.address.as_ref().and_then(ip);
        let mask = entry.netmask.as_ref().and_then(ip).map(prefix_length);
        if let (Some(address), Some(mask)) = (address, mask) {
            all.entry(entry.interface_name).or_default().push((address, mask));
        }
    }
    all
}

fn ip(storage: &nix::sys::socket::SockaddrStorage) -> Option<IpAddr> {
    match (storage.as_sockaddr_in(), storage.as_sockaddr_in6()) {
        (Some(v4), _) => Some(v4.ip().into()),
        (_, Some(v6)) => Some(v6.ip().into()),
        _ => None,
    }
}

fn prefix_length(mask: IpAddr) -> u8 {
    let ones = match mask {
        IpAddr::V4(mask) => u32::from(mask).count_ones(),
        IpAddr::V6(mask) => u128::from(mask).count_ones(),
    };
    u8::try_from(ones).unwrap_or(128)
}
