// SPDX-License-Identifier: GPL-2.0-or-later
// records.mjs read FILE: prints the flow records of a capture or IPFIX file as tshark decodes them:
// ports, bytes and packets per direction, offloaded bytes, path, reason, zones, addresses after
// NAT, devices, VLANs. Fields are separated by spaces; - is an empty field.
// records.mjs count FILE: prints the number of flow records.
// records.mjs replay FILE PORT: sends the datagrams of a capture to a local UDP port.

import { execFileSync } from 'node:child_process';
import { createSocket } from 'node:dgram';

const [task, file, port] = process.argv.slice(2);

function tshark(...args) {
  const all = ['-r', file, '-d', 'udp.port==4739,cflow', ...args];
  const options = { encoding: 'utf8', maxBuffer: 1 << 30, stdio: ['ignore', 'pipe', 'ignore'] };
  return execFileSync('tshark', all, options).split('\n');
}

/** Patterns of tshark's output; the group is the value. */
const FIELDS = {
  sport: /^SrcPort: (\d+)/,
  dport: /^DstPort: (\d+)/,
  up: /^Octets: (\d+)$/,
  down: /^Octets: (\d+) \(Reverse/,
  packetsUp: /^Packets: (\d+)$/,
  packetsDown: /^Packets: (\d+) \(Reverse/,
  src: /^Post NAT Source IPv. Address: (\S+)/,
  dst: /^Post NAT Destination IPv. Address: (\S+)/,
  from: /^InputInt: (\d+)/,
  to: /^OutputInt: (\d+)/,
  vlan: /^Vlan Id: (\d+)/,
  postVlan: /^Post Vlan Id: (\d+)/,
};
/** Our enterprise elements, which tshark prints as bytes. */
const OWN = /^Enterprise Private entry: .* Type (10[1-6]): Value \(hex bytes\): ([0-9a-f ]+)/;

const row = (flow) => {
  const { sport, dport, up, down, packetsUp, packetsDown, src, dst, from, to } = flow;
  const text = (id) => flow[id]?.toString() || '-';
  const carried = flow[101]?.readBigUInt64BE() ?? 0;
  const own = [102, 103, 105, 106].map(text);
  const counts = [up, down, packetsUp, packetsDown, carried];
  return [sport, dport, ...counts, ...own, src, dst, from, to, flow.vlan, flow.postVlan].join(' ');
};

function read() {
  const flows = [];
  for (const line of tshark('-V').map((text) => text.trim())) {
    if (/^Flow \d+$/.test(line)) flows.push({});
    const flow = flows.at(-1);
    if (!flow) continue;
    for (const [name, pattern] of Object.entries(FIELDS)) {
      const found = pattern.exec(line);
      if (found) flow[name] = found[1];
    }
    const own = OWN.exec(line);
    if (own) flow[own[1]] = Buffer.from(own[2].replaceAll(' ', ''), 'hex');
  }
  // Records of device names have no ports.
  for (const flow of flows) if (flow.sport !== undefined) console.log(row(flow));
}

function count() {
  // Each line has the ports of all records of a message.
  const ports = tshark('-T', 'fields', '-e', 'cflow.srcport').join(',').split(/[,\n]/);
  console.log(ports.filter(Boolean).length);
}

async function replay() {
  const socket = createSocket('udp4');
  for (const payload of tshark('-T', 'fields', '-e', 'udp.payload').filter(Boolean)) {
    const message = Buffer.from(payload, 'hex');
    await new Promise((sent) => socket.send(message, Number(port), '127.0.0.1', sent));
  }
  socket.close();
}

await { read, count, replay }[task]();
