// SPDX-License-Identifier: GPL-2.0-or-later
// Made by `npm run types` from feeds/fastpathd/src/schema. Do not edit.

/**
 * Arguments and answers of each method of the ubus object `fastpath.wireless`.
 */
export interface WirelessApi {
  /**
   * Radios and their SSIDs as netifd has them, without keys: its own network.wireless status has every key.
   */
  status: {
    request: {};
    reply: {
      /**
       * by name; none: no radio, or a netifd without wireless
       */
      radios: Radio[];
    };
  };
}
/**
 * A radio: a section wifi-device of /etc/config/wireless that is known to netifd.
 */
export interface Radio {
  /**
   * the section
   */
  name: string;
  /**
   * `2g`, `5g`, `6g`, `60g`; empty: not configured
   */
  band: string;
  /**
   * a number, or `auto`
   */
  channel: string;
  /**
   * two letters; empty: not configured
   */
  country: string;
  /**
   * by its configuration
   */
  disabled: boolean;
  up: boolean;
  /**
   * it is being set up or taken down
   */
  pending: boolean;
  /**
   * netifd failed to set it up; the system log has the reason
   */
  failed: boolean;
  /**
   * enabled ones
   */
  ssids: Ssid[];
}
/**
 * A network of a radio, without its key.
 */
export interface Ssid {
  /**
   * the section wifi-iface
   */
  section: string;
  /**
   * its name; with a station or a mesh chosen by its operator
   */
  ssid: string;
  /**
   * `ap`, `sta`, `mesh`, …
   */
  mode: string;
  /**
   * as configured: `none`, `sae-mixed`, …
   */
  encryption: string;
  /**
   * interfaces of /etc/config/network
   */
  networks: string[];
  /**
   * the network device, a port of the bridge; empty: none
   */
  device: string;
}
