// SPDX-License-Identifier: GPL-2.0-or-later

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
  /** Session of the host page; without it, the app shows a login. */
  session?: string;
  /** Address of the ubus interface; `/ubus` by default. */
  ubusUrl?: string;
  /** Language; by default the user's choice or the browser's. */
  lang?: string;
  /** Colour scheme of the host page; by default the user's or the system's. */
  dark?: boolean;
  /** Base address of the screens, such as `/cgi-bin/luci/admin/fastpath`. */
  base?: string;
  onScreen?: (screen: string, title: string) => void;
}

export class App {
  readonly ubus: Ubus;
  readonly api: Fastpath;
  readonly session: Session;
  readonly live: Live;
  readonly health: HealthList;
  readonly route: Route;
  readonly theme: Theme;
  readonly language: Language;
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
