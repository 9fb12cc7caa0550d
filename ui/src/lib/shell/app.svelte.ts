// SPDX-License-Identifier: GPL-2.0-or-later
/** Options that a host page gives, and the objects that all screens share. */

import { createContext } from 'svelte';
import { Fastpath } from '../api/fastpath';
import { RequestPace } from '../api/pace';
import { Ubus } from '../api/ubus';
import { HealthList } from '../health/health.svelte';
import { Live } from '../live/live.svelte';
import { Session } from '../session/session.svelte';
import { Language } from './language.svelte';
import { Route } from './route.svelte';
import { Theme } from './theme.svelte';

export interface AppOptions {
  /** A session of the host page; without it the app asks for a login. */
  session?: string;
  /** Where uhttpd answers; default `/ubus`. */
  ubusUrl?: string;
  /** Language; default the user's choice or the browser's. */
  lang?: string;
  /** Dark or light as the host page has it; default as the system or the user wants. */
  dark?: boolean;
  /** Below this address each screen has its own, such as `/cgi-bin/luci/admin/fastpath`. */
  base?: string;
  /** Called when another screen is shown. */
  onScreen?: (screen: string, title: string) => void;
}

/** The parts every screen shares. */
export class App {
  readonly ubus: Ubus;
  readonly api: Fastpath;
  readonly session: Session;
  readonly live: Live;
  readonly health: HealthList;
  readonly route: Route;
  readonly theme: Theme;
  readonly language: Language;
  /** The root of the app: the document, or the shadow root that a host page gave. */
  readonly root: ParentNode;
  readonly onScreen: (screen: string, title: string) => void;

  constructor(options: AppOptions, root: ParentNode) {
    this.root = root;
    this.ubus = new Ubus({ url: options.ubusUrl ?? '/ubus', pace: new RequestPace() });
    this.api = new Fastpath(this.ubus);
    this.session = new Session(this.ubus, options.session, sessionStorage, localStorage);
    this.live = new Live(this.api, () => this.session.expire());
    this.health = new HealthList();
    this.route = new Route(window, options.base);
    this.theme = new Theme(options.dark, localStorage);
    this.language = new Language(options.lang, navigator.languages, localStorage);
    this.onScreen = options.onScreen ?? (() => undefined);
  }
}

export const [getApp, setApp] = createContext<App>();
