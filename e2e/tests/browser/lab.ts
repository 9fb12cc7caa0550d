// SPDX-License-Identifier: GPL-2.0-or-later
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { test } from '@playwright/test';
import { inOwnLab } from '../labs';

const run = promisify(execFile);
const verbs = fileURLToPath(new URL('verbs.sh', import.meta.url));

/** Timeout of a verb; longer than the timeout of any condition inside. */
const VERB_MS = 400_000;

/** Exit status of a verb that this gateway does not support; stdout has the reason. */
const SKIPPED_STATUS = 77;

export const hosts = {
  h10: '10.10.10.10',
  h20: '10.10.20.10',
  isp: '203.0.113.1',
} as const;

export type Port = 'lan1' | 'lan2' | 'lan3' | 'wan';

/** Runs the lab's shell verbs. After the first one, `touched` is true and the lab needs a reset. */
export class Lab {
  touched = false;

  /** `config` or `inspect`: the configuration before and after a test. */
  constructor(private readonly config: 'config' | 'inspect' = 'config') {}

  async verb(...words: string[]): Promise<string> {
    this.touched = true;
    const args = ['-c', '. "$0"; "$@"', verbs, ...words];
    try {
      const { stdout } = await run('bash', args, {
        timeout: VERB_MS,
        maxBuffer: 1 << 26,
        env: { ...inOwnLab(), CONFIG: this.config },
      });
      return stdout;
    } catch (error) {
      const { code, stdout } = error as { code?: unknown; stdout?: string };
      test.skip(code === SKIPPED_STATUS, stdout?.trim().replace(/^skipped: /, ''));
      throw error;
    }
  }
}

export class Router {
  constructor(private readonly lab: Lab) {}

  run(command: string): Promise<string> {
    return this.lab.verb('gw', command);
  }

  async signal(signal: 'term' | 'kill' | 'stop' | 'cont', name: string): Promise<void> {
    await this.lab.verb('instance', signal, name);
  }

  async ask(command: string): Promise<unknown> {
    return JSON.parse(await this.lab.verb('ask', command));
  }

  async engine(): Promise<{ active: string; wanted: string; source: string }> {
    const status = (await this.ask('status')) as { engine: Awaited<ReturnType<Router['engine']>> };
    return status.engine;
  }

  /** Returns the offset of the router's clock in ms, accurate to about 100 ms. */
  async clockOffset(): Promise<number> {
    const asked = Date.now();
    const { now_ms } = (await this.ask('status')) as { now_ms: number };
    return Math.round(now_ms - (asked + Date.now()) / 2);
  }

  /** Enables inline inspection. `lines` follow `config ips`: options first, then sections. */
  async inspectInline(lines = ''): Promise<void> {
    await this.lab.verb('protect', lines);
    // Suricata reads its rules first, which is slow on an emulated machine.
    await this.lab.verb('soon', '110', 'ips_is', 'inline');
  }

  async event(event: object): Promise<void> {
    await this.lab.verb('eve_line', JSON.stringify(event));
  }

  async cutPppoe(): Promise<void> {
    await this.lab.verb('pppoe_end', 'KILL');
  }

  async cable(port: Port, state: 'on' | 'off'): Promise<void> {
    await this.lab.verb('cable', port, state);
  }

  async addConnections(number: number): Promise<void> {
    await this.lab.verb('add_connections', String(number));
  }

  async removeConnections(): Promise<void> {
    await this.lab.verb('remove_connections');
  }
}

/** The hosts around the gateway. The end of the test kills their programs. */
export class Lan {
  private static lastPort = 51000 + Math.floor(Math.random() * 8000);

  constructor(private readonly lab: Lab) {}

  async download(from: string, rate = '200k'): Promise<number> {
    Lan.lastPort += 1;
    await this.lab.verb('download', 'h10', String(Lan.lastPort), from, rate);
    return Lan.lastPort;
  }

  /** Waits until h10 reaches the ISP: fw4 handles the WAN's event after netifd. */
  async reachesInternet(): Promise<void> {
    await this.lab.verb('wait_for', '120', 'internet');
  }

  /** Sends 32 MiB to h10 from the host with `address` over a connection that stays open. */
  async holdDownload(host: 'h20' | 'isp', address: string): Promise<void> {
    await this.lab.verb('begin', host, 'pour', 'exec busybox nc -ll -p 9000 -e /tmp/e2e/pour');
    const drink = `exec /tmp/e2e/drink ${address} 9000 ${DOWNLOAD_BYTES}`;
    await this.lab.verb('begin', 'h10', 'drink', drink);
    await this.lab.verb('wait_for', '60', 'peers', 'grep -q received /tmp/e2e/drink.log');
  }

  /** Starts a request by h10 whose response matches a drop rule. */
  async badPage(from: string = hosts.isp): Promise<void> {
    const ask = `curl -gs -m 8 -o /dev/null -w '%{size_header} %{size_download}'`;
    await this.lab.verb('begin', 'h10', 'bad', `${ask} http://${from}/id.txt`);
  }

  /** Returns the received bytes of header and body of the last `badPage`. */
  async badBytes(): Promise<string> {
    await this.lab.verb('wait_for', '15', 'ended', 'bad');
    return (await this.lab.verb('peers', 'cat /tmp/e2e/bad.log')).trim();
  }

  async begin(host: string, name: string, command: string): Promise<void> {
    await this.lab.verb('begin', host, name, command);
  }
}

export const DOWNLOAD_BYTES = 33_554_432;
