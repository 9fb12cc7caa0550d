// SPDX-License-Identifier: GPL-2.0-or-later
// Made by `npm run types` from feeds/fastpathd/src/schema. Do not edit.

/**
 * The value of an option as UCI keeps it: a text, or a list of texts. A secret is shown as "•••".
 */
export type Setting = string | string[];

/**
 * Arguments and answers of each method of the ubus object `fastpath.change`.
 */
export interface ChangeApi {
  /**
   * Applies a change, which expires after some seconds and is rolled back unless it is confirmed. Refusals: `argument`, `edit` (a section does not exist any more), `denied`, `broken` (with `config` and `line`: the router cannot read this file, or `firewall`, which a change of interfaces reloads), `invalid` (with `problems`), `cuts` (with `cuts`), `exposes` (with `exposes`), `pending` (with `id`, `user`, `since_ms`, `left_s` of the pending change), `unchanged`, `busy`, `failed`.
   */
  apply: {
    request: {
      /**
       * the edits
       *
       * @maxItems 512
       */
      edits: Edit[];
      /**
       * the router's address that the browser uses (location.hostname): clients connected to it are checked for cuts
       */
      via?: string;
      /**
       * time to confirm; default 30
       */
      seconds?: number;
      /**
       * apply it although it may disconnect a client; default false
       */
      cut_ok?: boolean;
      /**
       * apply it although it opens these zones to the Internet: every zone that `check` lists in `exposes`
       */
      accept_exposure?: string[];
      /**
       * when it is confirmed, end the forwarded connections between the zones of the changed sections of `firewall`: they have to pass the new rules as new connections, and programs may have to open again what these allow. Default false: fw4 lets established connections go on
       */
      end_connections?: boolean;
      /**
       * a note for the list of changes
       */
      note?: string;
    };
    reply: {
      /**
       * its number
       */
      id: number;
      /**
       * time to confirm it
       */
      seconds: number;
      /**
       * when it expires, Unix milliseconds by the router's clock
       */
      until_ms: number;
    };
  };
  /**
   * The effects of a change. Nothing is changed. Requires write access to the files: the check runs programs as root on the edits. Refusals: `argument`, `edit` (a section does not exist any more), `denied`, `broken` (with `config` and `line`: the router cannot read this file, or `firewall`, which a change of interfaces reloads).
   */
  check: {
    request: {
      /**
       * the edits
       *
       * @maxItems 512
       */
      edits: Edit[];
      /**
       * the router's address that the browser uses (location.hostname): clients connected to it are checked for cuts
       */
      via?: string;
    };
    reply: {
      /**
       * problems it would cause; with any it is not applied
       */
      problems: Problem[];
      /**
       * its diff
       */
      diff: Line[];
      /**
       * clients it would disconnect
       */
      cuts: Cut[];
      /**
       * what it would open to the Internet; a port forward of single ports to a host is not listed
       */
      exposes: Exposure[];
      /**
       * the access between zones that it would grant or withdraw
       */
      access: Access[];
    };
  };
  /**
   * Keeps the pending change. Only the user who applied it may confirm, from any session. Refusals: `denied`, `gone` (with `state`: how it ended), `not-in-force` (fastpathd does not use the changed configuration; with `problems`).
   */
  confirm: {
    request: {
      /**
       * its number
       */
      id: number;
    };
    reply: {
      /**
       * its number
       */
      id: number;
      /**
       * how it ended
       */
      state: 'confirmed';
    };
  };
  /**
   * Files of /etc/config, without secrets. Refusals: `argument`. Viewers use it, since uci's own get would show secrets.
   */
  get: {
    request: {
      /**
       * the requested files
       */
      configs: (
        | 'dhcp'
        | 'fastpath'
        | 'firewall'
        | 'network'
        | 'rpcd'
        | 'sqm'
        | 'suricata'
        | 'system'
        | 'wireless'
      )[];
    };
    reply: {
      /**
       * sections by file; missing and broken files are left out
       */
      configs: {
        [k: string]: Section[];
      };
      /**
       * files that the router cannot read; edits of them are refused
       */
      broken: Broken[];
    };
  };
  /**
   * The last ten changes.
   */
  list: {
    request: {};
    reply: {
      /**
       * newest first
       *
       * @maxItems 10
       */
      changes: Past[];
    };
  };
  /**
   * The pending change, and the one that ended last. Cheap enough to poll every second.
   */
  pending: {
    request: {};
    reply: {
      /**
       * the pending change
       */
      pending: Pending | null;
      /**
       * the change that ended last
       */
      last: Ended | null;
    };
  };
  /**
   * Rolls the pending change back immediately. Refusals: `denied`, `gone`.
   */
  revert: {
    request: {
      /**
       * its number
       */
      id: number;
    };
    reply: {
      /**
       * its number
       */
      id: number;
      /**
       * how it ended
       */
      state: 'reverted';
    };
  };
  /**
   * The edits that undo a confirmed change, to be checked and applied like any others. Later changes stay, unless `since` is set. In place of a secret they have "•••" and the change's number, and with `since` a plus, by which `apply` finds the secret. Refusals: `gone`, `broken` (with `config` and `line`), `changed` (with `config`, `option` and `section`, its label for people: the value has been changed since).
   */
  undo: {
    request: {
      /**
       * its number
       */
      id: number;
      /**
       * undo every later change, too; default false
       */
      since?: boolean;
    };
    reply: {
      /**
       * the inverse edits
       */
      edits: Edit[];
    };
  };
}
/**
 * One step of a change, applied in order; a section of an earlier `add` is referenced by its section or id.
 */
export interface Edit {
  /**
   * the file
   */
  config:
    | 'dhcp'
    | 'fastpath'
    | 'firewall'
    | 'network'
    | 'rpcd'
    | 'sqm'
    | 'suricata'
    | 'system'
    | 'wireless';
  /**
   * the operation
   */
  op: 'add' | 'set' | 'delete' | 'rename' | 'order';
  /**
   * the section; for `add` its name, anonymous without
   */
  section?: string | null;
  /**
   * for `add`: its type
   */
  type?: string;
  /**
   * for `add` without a name: the reference for later edits
   */
  id?: string | null;
  /**
   * for `add` and `set`: options; null, an empty text or list removes one. "•••" keeps the value, as for a secret; at most 4096 bytes a text
   */
  values?: {
    [k: string]: Setting | (null | number | boolean);
  };
  /**
   * for `rename`: the new name
   */
  name?: string;
  /**
   * for `order`: these first, in this order
   */
  sections?: string[];
}
/**
 * A problem that a change would cause.
 */
export interface Problem {
  /**
   * the file
   */
  config: string;
  /**
   * the section
   */
  section: string;
  /**
   * the option; empty: all of the section
   */
  option: string;
  /**
   * the code of the problem; fastpathd: reported by another version of fastpathd, with an English text only. Those of /etc/config/fastpath are in ConfigurationProblem
   */
  code:
    | 'address-collides'
    | 'category-name'
    | 'checksum'
    | 'checksum-plain'
    | 'control'
    | 'cpu-largest'
    | 'cpu-list'
    | 'cpu-range'
    | 'cpus-offline'
    | 'cpus-overlap'
    | 'cpus-unknown'
    | 'cpus-unpinned'
    | 'device-name'
    | 'duplicate'
    | 'excludes-all'
    | 'fastpathd'
    | 'forward-host'
    | 'fw4'
    | 'fw4-families'
    | 'fw4-left-out'
    | 'fw4-no-rule'
    | 'fw4-option'
    | 'fw4-ports'
    | 'fw4-set'
    | 'fw4-silent'
    | 'host-bits'
    | 'ids-ports'
    | 'inline-address'
    | 'inline-bridge'
    | 'inline-mtu'
    | 'inline-ports'
    | 'inline-used'
    | 'list-entry'
    | 'list-given'
    | 'mask-ebpf'
    | 'mask-empty'
    | 'mask-inspection'
    | 'mask-width'
    | 'missing'
    | 'mtu-device'
    | 'name-character'
    | 'name-length'
    | 'no-cpu-forwards'
    | 'no-cpu-inspects'
    | 'no-host'
    | 'no-ports'
    | 'no-sections'
    | 'no-type'
    | 'no-zones'
    | 'not-a-folder'
    | 'not-a-list'
    | 'not-a-network'
    | 'not-a-number'
    | 'not-a-port'
    | 'not-a-section'
    | 'not-a-switch'
    | 'not-an-address'
    | 'not-an-option'
    | 'not-listed'
    | 'other-family'
    | 'out-of-range'
    | 'plain-password'
    | 'port-twice'
    | 'ports-descend'
    | 'prefix'
    | 'prefix-length'
    | 'protocol'
    | 'public-key'
    | 'pvid-twice'
    | 'reads-file'
    | 'redis-removed'
    | 'reverse-enterprise'
    | 'selector'
    | 'source-name'
    | 'source-reserved'
    | 'source-twice'
    | 'too-large'
    | 'too-long'
    | 'too-many-ports'
    | 'type-twice'
    | 'unknown-device'
    | 'unknown-interface'
    | 'unknown-option'
    | 'unknown-port'
    | 'unknown-type'
    | 'unknown-vlan'
    | 'unknown-zone'
    | 'unreadable'
    | 'unverified'
    | 'unverified-plain'
    | 'update-hour'
    | 'url-characters'
    | 'url-host'
    | 'url-scheme'
    | 'value'
    | 'vlan-duplicate'
    | 'vlan-range'
    | 'zone-twice';
  /**
   * parameters of the text: value, expected, port, vlan, other, device, interface, zone, needed, longest, label, and those of ConfigurationProblem
   */
  params: {
    [k: string]: string;
  };
  /**
   * English text
   */
  text: string;
}
/**
 * One line of a change's diff, without secrets.
 */
export interface Line {
  /**
   * the file
   */
  config: string;
  /**
   * the section; null for an order
   */
  section: string | null;
  /**
   * display name
   */
  label: string | null;
  /**
   * its type
   */
  type: string | null;
  /**
   * the operation; the options of an added or removed section follow as `set`
   */
  what: 'add' | 'remove' | 'rename' | 'order' | 'set';
  /**
   * for `set`: the option
   */
  option: string | null;
  /**
   * for `set` and `rename`: old value; null: none
   */
  from: Setting | null;
  /**
   * new value; null: none
   */
  to: Setting | null;
}
/**
 * How a change would disconnect a client that uses the page now.
 */
export interface Cut {
  /**
   * its interface is removed, the router's address changes, the interface moves to another device, its port no longer leads to it, the firewall closes
   */
  code: 'interface' | 'address' | 'device' | 'port' | 'firewall';
  /**
   * client, interface, from, to, device, port
   */
  params: {
    [k: string]: string;
  };
  /**
   * English text
   */
  text: string;
}
/**
 * A zone that a change opens to the Internet and that was closed before.
 */
export interface Exposure {
  /**
   * `input`: the zone's input policy (or the default) is ACCEPT; `forward`: a forwarding or the default policy leads to another zone; `rule`: a rule accepts everybody, to services of the router or to a zone; `redirect`: a port forward leads everybody to services of the router, or to every port of a host
   */
  code: 'input' | 'forward' | 'rule' | 'redirect';
  /**
   * the zone that leads to the Internet
   */
  zone: string;
  /**
   * the zone that can be reached; *: every zone; empty: the router itself; for `redirect` to a host its address
   */
  to: string;
  /**
   * English text
   */
  text: string;
}
/**
 * Access that a change grants or withdraws, by a setting of the firewall.
 */
export interface Access {
  /**
   * possible after the change, by this setting; otherwise possible before it
   */
  granted: boolean;
  /**
   * `zone`: a forwarding or a forward policy; `router`: an input policy; `port`: a port forward; `rule`: a rule that accepts or denies
   */
  code: 'zone' | 'router' | 'port' | 'rule';
  /**
   * the zone of the initiator; *: every zone
   */
  from: string;
  /**
   * the zone of the responder, *: every zone, empty: the router itself; of a port forward the host and its port
   */
  to: string;
  /**
   * protocols and destination ports, such as tcp udp 53; empty: all
   */
  ports: string;
  /**
   * the name of the port forward or the rule; empty: none
   */
  name: string;
  /**
   * English text
   */
  text: string;
}
/**
 * A section of a file, in the order of the file.
 */
export interface Section {
  /**
   * its name; for an anonymous one uci's generated name, which changes with every change of the file
   */
  section: string;
  /**
   * display name
   */
  label: string;
  /**
   * anonymous in the file
   */
  anonymous: boolean;
  /**
   * its type
   */
  type: string;
  /**
   * its options
   */
  values: {
    [k: string]: Setting;
  };
}
/**
 * A file that rpcd cannot read, since libuci cannot parse it. Services keep their settings until they start again, the firewall until its next reload.
 */
export interface Broken {
  /**
   * the file
   */
  config: string;
  /**
   * line at which the faulty statement begins; 0 if only rpcd knows
   */
  line: number;
  /**
   * the problem
   */
  text: string;
  /**
   * the problem, by which the page has its own text
   */
  cause: {
    /**
     * as of a refusal
     */
    code: string;
    /**
     * values of the text; `inner` is the code of the fault
     */
    params: {
      [k: string]: string;
    };
  };
}
/**
 * A change that has ended.
 */
export interface Past {
  /**
   * its number
   */
  id: number;
  /**
   * when it was applied, Unix milliseconds
   */
  at_ms: number;
  /**
   * user who applied it
   */
  user: string;
  /**
   * the note
   */
  note: string;
  /**
   * confirmed; reverted by a user; expired; rolled back at boot after a power cut, or before an upgrade
   */
  state: 'confirmed' | 'reverted' | 'expired' | 'power-cut';
  /**
   * its values have not been changed since
   */
  undoable: boolean;
  /**
   * it can be undone with every later change
   */
  undoable_since: boolean;
  /**
   * its diff
   */
  diff: Line[];
}
/**
 * A change that was applied and is rolled back unless it is confirmed.
 */
export interface Pending {
  /**
   * its number
   */
  id: number;
  /**
   * when it was applied, Unix milliseconds by the router's clock
   */
  at_ms: number;
  /**
   * user who applied it; `root (local)` on the router itself
   */
  user: string;
  /**
   * the note
   */
  note: string;
  /**
   * time to confirm it
   */
  seconds: number;
  /**
   * remaining time, by the monotonic clock
   */
  left_s: number;
  /**
   * whether the network, the firewall and the daemon work by the change; null: unknown. It stays false if a part can never be in force
   */
  in_force: boolean | null;
  /**
   * why fastpathd does not use the changed configuration; empty: it uses it, or has not read it yet
   */
  problems: Problem[];
  /**
   * the caller may confirm it
   */
  mine: boolean;
  /**
   * its diff
   */
  diff: Line[];
}
/**
 * How a change ended.
 */
export interface Ended {
  /**
   * its number
   */
  id: number;
  /**
   * when it was applied, Unix milliseconds
   */
  at_ms: number;
  /**
   * who applied it
   */
  user: string;
  /**
   * their note
   */
  note: string;
  /**
   * as of `Past`
   */
  state: 'confirmed' | 'reverted' | 'expired' | 'power-cut';
}
