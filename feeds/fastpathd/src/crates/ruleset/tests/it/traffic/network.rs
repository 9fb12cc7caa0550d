// SPDX-License-Identifier: GPL-2.0-or-later
//! A gateway between two hosts, each in its own network namespace.
//!
//! ```text
//!   left: 10.1.0.2, fd00:1::2 ── lan0 [gateway] wan0 ── 10.2.0.2, fd00:2::2 :right
//! ```
//! The thread that creates the network is the gateway; the programs that it starts (`ip`, `nft`)
//! run in its namespace.
#![expect(unsafe_code, reason = "the test runs in a network namespace of its own")]

use std::fs;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

type Job = Box<dyn FnOnce() + Send>;

/// A thread in a network namespace that runs the functions it receives.
pub(crate) struct Host {
    thread: i32,
    jobs: mpsc::Sender<Job>,
}

impl Host {
    fn new() -> Self {
        let (jobs, received) = mpsc::channel::<Job>();
        let (started, thread) = mpsc::channel();
        thread::spawn(move || {
            enter_new_namespace().unwrap();
            // SAFETY: the call takes no pointers.
            started.send(unsafe { libc::gettid() }).unwrap();
            for job in received {
                job();
            }
        });
        Self { thread: thread.recv().unwrap(), jobs }
    }

    fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> T {
        let (done, result) = mpsc::channel();
        self.jobs.send(Box::new(move || drop(done.send(job())))).unwrap();
        result.recv().unwrap()
    }

    /// Opens a socket of this host with a receive timeout of 1 s.
    pub(crate) fn socket(&self, address: &str) -> UdpSocket {
        let address: SocketAddr = address.parse().unwrap();
        let socket = self.run(move || UdpSocket::bind(address)).unwrap();
        // Generous, because only lost packets take this long.
        socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
        socket
    }
}

pub(crate) struct Network {
    pub(crate) left: Host,
    pub(crate) right: Host,
}

impl Network {
    /// Prints a message and returns `None` if namespaces cannot be created.
    pub(crate) fn new() -> Option<Self> {
        if let Err(error) = enter_new_namespace() {
            eprintln!("skipped: no new network namespace: {error}");
            return None;
        }
        let network = Self { left: Host::new(), right: Host::new() };
        for (device, host, net) in [("lan0", &network.left, 1), ("wan0", &network.right, 2)] {
            let thread = host.thread;
            let [ours, theirs] = [1, 2].map(|end| format!("02:00:00:00:0{net}:0{end}"));
            ip(&format!(
                "link add {device} address {ours} type veth \
                 peer name eth0 address {theirs} netns {thread}"
            ));
            ip(&format!("addr add 10.{net}.0.1/24 dev {device}"));
            ip(&format!("addr add fd00:{net}::1/64 dev {device} nodad"));
            ip(&format!("link set {device} up"));
            // A device may miss the first solicitation after it comes up.
            ip(&format!("neigh add fd00:{net}::2 lladdr {theirs} dev {device}"));
            host.run(move || {
                ip(&format!("addr add 10.{net}.0.2/24 dev eth0"));
                ip(&format!("addr add fd00:{net}::2/64 dev eth0 nodad"));
                ip("link set eth0 up");
                ip(&format!("neigh add fd00:{net}::1 lladdr {ours} dev eth0"));
                ip(&format!("route add default via 10.{net}.0.1"));
                ip(&format!("-6 route add default via fd00:{net}::1"));
            });
        }
        for switch in ["ipv4/ip_forward", "ipv6/conf/all/forwarding", "netfilter/nf_conntrack_acct"]
        {
            fs::write(format!("/proc/sys/net/{switch}"), "1").unwrap();
        }
        Some(network)
    }

    /// Opens a UDP connection from left to right or back, with this port at both ends.
    pub(crate) fn connection(&self, left_opens: bool, port: u16) -> Connection {
        self.between(left_opens, ["10.1.0.2", "10.2.0.2"], [port; 2])
    }

    /// Like [`Self::connection`], with separate ports for left and right.
    pub(crate) fn connection_of_ports(&self, left_opens: bool, ports: [u16; 2]) -> Connection {
        self.between(left_opens, ["10.1.0.2", "10.2.0.2"], ports)
    }

    /// Like [`Self::connection`], over IPv6.
    pub(crate) fn connection6(&self, left_opens: bool, port: u16) -> Connection {
        self.between(left_opens, ["[fd00:1::2]", "[fd00:2::2]"], [port; 2])
    }

    /// Opens a connection from left to this port of the gateway.
    pub(crate) fn asks_gateway(&self, port: u16) -> Connection {
        let responder = own_socket(SocketAddr::from(([10, 1, 0, 1], port)));
        Connection { initiator: self.left.socket(&format!("10.1.0.2:40{port}")), responder }
    }

    /// Opens a connection from the gateway to this port of right.
    pub(crate) fn gateway_asks(&self, port: u16) -> Connection {
        let initiator = own_socket(SocketAddr::from(([10, 2, 0, 1], 4000)));
        Connection { initiator, responder: self.right.socket(&format!("10.2.0.2:{port}")) }
    }

    fn between(&self, left_opens: bool, hosts: [&str; 2], ports: [u16; 2]) -> Connection {
        let left = self.left.socket(&format!("{}:{}", hosts[0], ports[0]));
        let right = self.right.socket(&format!("{}:{}", hosts[1], ports[1]));
        if left_opens {
            Connection { initiator: left, responder: right }
        } else {
            Connection { initiator: right, responder: left }
        }
    }
}

pub(crate) struct Connection {
    initiator: UdpSocket,
    responder: UdpSocket,
}

impl Connection {
    pub(crate) fn initiator(&self) -> IpAddr {
        self.initiator.local_addr().unwrap().ip()
    }

    pub(crate) fn ends(&self) -> [SocketAddr; 2] {
        [&self.initiator, &self.responder].map(|socket| socket.local_addr().unwrap())
    }

    /// Sends a packet from the initiator; returns whether it arrives.
    pub(crate) fn send(&self, bytes: usize) -> bool {
        pass(&self.initiator, &self.responder, bytes)
    }

    /// Sends a packet from the responder; returns whether it arrives.
    pub(crate) fn reply(&self, bytes: usize) -> bool {
        pass(&self.responder, &self.initiator, bytes)
    }
}

fn own_socket(address: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind(address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    socket
}

fn pass(from: &UdpSocket, to: &UdpSocket, bytes: usize) -> bool {
    from.send_to(&vec![b'x'; bytes], to.local_addr().unwrap()).unwrap();
    let mut buffer = [0; 2000];
    to.recv_from(&mut buffer).is_ok_and(|(got, sender)| {
        assert_eq!((got, sender), (bytes, from.local_addr().unwrap()), "another packet");
        true
    })
}

fn ip(arguments: &str) {
    let done = Command::new("ip").args(arguments.split(' ')).status().unwrap();
    assert!(done.success(), "ip {arguments}");
}

fn enter_new_namespace() -> std::io::Result<()> {
    // SAFETY: the call takes no pointers, and only this thread changes its namespace.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } == 0 {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error())
    }
}
