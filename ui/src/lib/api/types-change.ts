// SPDX-License-Identifier: GPL-2.0-or-later
// Made by `npm run types` from feeds/fastpathd/src/schema. Do not edit.

/**
 * The value of an option as UCI keeps it: a text, or a list of texts. A secret is shown as "•••".
 *
 * This interface was referenced by `ChangeApi`'s JSON-Schema
 * via the `definition` "Setting".
 */
export type Setting = string | string[];

/**
 * What each method of the ubus object `fastpath.change` takes and answers.
 */
export interface ChangeApi {
  /**
   * Applies a change for some seconds; unless it is confirmed within, what was before is back. Refusals: `argument`, `edit` (a section is not there any more), `denied`, `invalid` (with `problems`), `cuts` (with `cuts`), `exposes` (with `exposes`), `pending` (with `id`, `user`, `since_ms`, `left_s` of the change that waits), `unchanged`, `busy`, `failed`.
   */
  apply: {
    request: {
      /**
       * what to change
       *
       * @maxItems 512
       */
      edits: Edit[];
      /**
       * the router's address that the browser uses (location.hostname): whose connections are looked at for cuts
       */
      via?: string;
      /**
       * time to confirm; default 30
       */
      seconds?: number;
      /**
       * apply it though it cuts somebody off; default false
       */
      cut_ok?: boolean;
      /**
       * apply it although it opens these zones to the Internet: every zone that `check` names in `exposes`
       */
      accept_exposure?: string[];
      /**
       * a line for the list of changes
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
       * until when, Unix milliseconds by the router's clock
       */
      until_ms: number;
    };
  };
  /**
   * What a change would do. Nothing is changed. For who may write the files: to judge them, programs run as root on what the edits say. Refusals: `argument`, `edit` (a section is not there any more), `denied`.
   */
  check: {
    request: {
      /**
       * what to change
       *
       * @maxItems 512
       */
      edits: Edit[];
      /**
       * the router's address that the browser uses (location.hostname): whose connections are looked at for cuts
       */
      via?: string;
    };
    reply: {
      /**
       * what it would make wrong; with any it is not applied
       */
      problems: Problem[];
      /**
       * what it would do
       */
      diff: Line[];
      /**
       * whom it would cut off
       */
      cuts: Cut[];
      /**
       * what it would open to the Internet; port forwards are not listed
       */
      exposes: Exposure[];
    };
  };
  /**
   * Keeps the change that waits. Only who applied it can, from any session of theirs. Refusals: `denied`, `gone` (with `state`: how it ended), `not-in-force` (fastpathd does not use the changed configuration; with `problems`).
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
   * Files of /etc/config, without secrets: for users who may look, uci's own get would tell them.
   */
  get: {
    request: {
      /**
       * the files wanted
       */
      configs: (
        'dhcp' | 'fastpath' | 'firewall' | 'network' | 'rpcd' | 'suricata' | 'system' | 'wireless'
      )[];
    };
    reply: {
      /**
       * sections by file; a file that there is not is left out
       */
      configs: {
        [k: string]: Section[];
      };
    };
  };
  /**
   * The last ten changes.
   */
  list: {
    request: {};
    reply: {
      /**
       * the newest first
       *
       * @maxItems 10
       */
      changes: Past[];
    };
  };
  /**
   * The change that waits, and which one has ended last. Cheap: for asking every second.
   */
  pending: {
    request: {};
    reply: {
      /**
       * the one that waits
       */
      pending: Pending | null;
      /**
       * the one that has ended last
       */
      last: Ended | null;
    };
  };
  /**
   * Takes the change that waits back at once. Refusals: `denied`, `gone`.
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
   * The edits that take a confirmed change back, to be checked and applied as any others. What came since stays. Instead of a secret they have "•••" and the change's number: `apply` knows the secret. Refusals: `gone`, `changed` (with `config`, `section`, `option`: it was changed again since).
   */
  undo: {
    request: {
      /**
       * its number
       */
      id: number;
    };
    reply: {
      /**
       * the inverse
       */
      edits: Edit[];
    };
  };
}
/**
 * One step of a change. They are carried out in their order; sections of an earlier `add` are called by its section or id.
 *
 * This interface was referenced by `ChangeApi`'s JSON-Schema
 * via the `definition` "Edit".
 */
export interface Edit {
  /**
   * the file
   */
  config:
    'dhcp' | 'fastpath' | 'firewall' | 'network' | 'rpcd' | 'suricata' | 'system' | 'wireless';
  /**
   * what is done
   */
  op: 'add' | 'set' | 'delete' | 'rename' | 'order';
  /**
   * the section; of `add` the name that it gets, anonymous without
   */
  section?: string | null;
  /**
   * of `add`: its type
   */
  type?: string;
  /**
   * of `add` without a name: what later edits call it
   */
  id?: string | null;
  /**
   * of `add` and `set`: options; null, an empty text or list removes one. "•••" for a secret leaves it as it is; at most 4096 bytes a text
   */
  values?: {
    [k: string]: Setting | (null | number | boolean);
  };
  /**
   * of `rename`: the new name
   */
  name?: string;
  /**
   * of `order`: these first, in this order
   */
  sections?: string[];
}
/**
 * Something that a change makes wrong.
 *
 * This interface was referenced by `ChangeApi`'s JSON-Schema
 * via the `definition` "Problem".
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
   * what is wrong
   */
  code:
    | 'address-collides'
    | 'control'
    | 'duplicate'
    | 'fastpathd'
    | 'forward-host'
    | 'fw4'
    | 'missing'
    | 'mtu-device'
    | 'name-length'
    | 'no-host'
    | 'no-ports'
    | 'plain-password'
    | 'port-twice'
    | 'prefix'
    | 'pvid-twice'
    | 'reads-file'
    | 'too-long'
    | 'unknown-device'
    | 'unknown-interface'
    | 'unknown-port'
    | 'unknown-vlan'
    | 'unknown-zone'
    | 'value'
    | 'vlan-duplicate'
    | 'vlan-range'
    | 'zone-twice';
  /**
   * what fills the words: value, expected, port, vlan, other, device, interface, zone, needed, longest, what
   */
  params: {
    [k: string]: string;
  };
  /**
   * in English
   */
  text: string;
}
/**
 * One line of what a change does, without secrets.
 *
 * This interface was referenced by `ChangeApi`'s JSON-Schema
 * via the `definition` "Line".
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
   * what to call it for people
   */
  label: string | null;
  /**
   * its type
   */
  type: string | null;
  /**
   * what happens; the options of a section that is added or removed follow as `set`
   */
  what: 'add' | 'remove' | 'rename' | 'order' | 'set';
  /**
   * of `set`: the option
   */
  option: string | null;
  /**
   * of `set` and `rename`: before; null: not there
   */
  from: Setting | null;
  /**
   * after; null: not there
   */
  to: Setting | null;
}
/**
 * A way in which a change would cut off somebody who uses the page now.
 *
 * This interface was referenced by `ChangeApi`'s JSON-Schema
 * via the `definition` "Cut".
 */
export interface Cut {
  /**
   * their interface is gone, the router's address is another, the interface moves to another device, their port does not lead to it, the firewall closes
   */
  code: 'interface' | 'address' | 'device' | 'port' | 'firewall';
  /**
   * client, interface, from, to, device, port
   */
  params: {
    [k: string]: string;
  };
  /**
   * in English
   */
  text: string;
}
/**
 * What a change opens to the Internet that was closed before.
 *
 * This interface was referenced by `ChangeApi`'s JSON-Schema
 * via the `definition` "Exposure".
 */
export interface Exposure {
  /**
   * `input`: the zone's input policy (or the default) is ACCEPT; `forward`: a forwarding or the default policy leads to another zone; `rule`: a rule without port and address accepts all
   */
  code: 'input' | 'forward' | 'rule';
  /**
   * the zone that leads to the Internet
   */
  zone: string;
  /**
   * the zone that can be reached; *: every zone; empty: the router itself
   */
  to: string;
  /**
   * in English
   */
  text: string;
}
/**
 * A section of a file, in the order of the file.
 *
 * This interface was referenced by `ChangeApi`'s JSON-Schema
 * via the `definition` "Section".
 */
export interface Section {
  /**
   * its name; of an anonymous one what uci made up, which changes with every change of the file
   */
  section: string;
  /**
   * what to call it for people
   */
  label: string;
  /**
   * the file gives it no name
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
 * A change that has ended.
 *
 * This interface was referenced by `ChangeApi`'s JSON-Schema
 * via the `definition` "Past".
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
   * who applied it
   */
  user: string;
  /**
   * what they said of it
   */
  note: string;
  /**
   * kept; taken back by somebody; because nobody confirmed it; at boot, since the power went before
   */
  state: 'confirmed' | 'reverted' | 'expired' | 'power-cut';
  /**
   * what it wrote is still as it wrote it
   */
  undoable: boolean;
  /**
   * what it did
   */
  diff: Line[];
}
/**
 * A change that was applied and is taken back unless it is confirmed.
 *
 * This interface was referenced by `ChangeApi`'s JSON-Schema
 * via the `definition` "Pending".
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
   * who applied it; `root (local)` on the router itself
   */
  user: string;
  /**
   * what they said of it
   */
  note: string;
  /**
   * time to confirm it
   */
  seconds: number;
  /**
   * what is left of it, by a clock that nobody sets
   */
  left_s: number;
  /**
   * whether network, firewall and daemon are seen to be as the change wants them; null: that cannot be told. False may last where a part of it can never be
   */
  in_force: boolean | null;
  /**
   * why fastpathd does not use the changed configuration; empty: it does, or has not read it
   */
  problems: Problem[];
  /**
   * the caller may confirm it
   */
  mine: boolean;
  /**
   * what it does
   */
  diff: Line[];
}
/**
 * How a change ended.
 *
 * This interface was referenced by `ChangeApi`'s JSON-Schema
 * via the `definition` "Ended".
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
   * what they said of it
   */
  note: string;
  /**
   * as of `Past`
   */
  state: 'confirmed' | 'reverted' | 'expired' | 'power-cut';
}
