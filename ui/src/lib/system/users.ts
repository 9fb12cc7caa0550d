// SPDX-License-Identifier: GPL-2.0-or-later

import type { Draft } from '../form/draft.svelte';
import { list, text, type Section } from '../form/sections';

type Sections = Pick<Draft, 'all' | 'set' | 'add' | 'remove'>;

export const roles = ['administrator', 'viewer'] as const;
export type Role = (typeof roles)[number];

export interface User {
  section: string;
  name: string;
  role: Role;
  /** A viewer who may list all folders, and so read administrators' session ids. */
  exposed: boolean;
}

/** Access groups of a viewer: the page, and the calls without a login. */
const VIEWER = ['unauthenticated', 'luci-app-fastpath'];

/**
 * LuCI's own group may list all folders. /var/run/rpcd has subfolders of staged changes that are
 * named by session ids, and a session id suffices to act as that administrator.
 */
const LISTS_FOLDERS = 'luci-base';

/** Reports whether an rpcd pattern with `*` and `?` matches a group. */
function covers(pattern: string, group: string): boolean {
  const letters = pattern.replace(/[.+^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`^${letters.replaceAll('*', '.*').replaceAll('?', '.')}$`).test(group);
}

/** Reports whether a login may read a group. As in rpcd, exclusions with `!` take precedence. */
function reads(login: Section, group: string): boolean {
  const patterns = list(login, 'read');
  const excluded = patterns
    .filter((each) => each.startsWith('!'))
    .some((each) => covers(each.slice(1).trim(), group));
  return !excluded && patterns.some((each) => covers(each, group));
}

const roleOf = (login: Section): Role =>
  list(login, 'write').some((group) => ['*', 'luci-app-fastpath'].includes(group))
    ? 'administrator'
    : 'viewer';

export const usersOf = (draft: Pick<Sections, 'all'>): User[] =>
  draft.all('rpcd', 'login').map((login) => {
    const role = roleOf(login);
    return {
      section: login.section,
      name: text(login, 'username'),
      role,
      exposed: role === 'viewer' && reads(login, LISTS_FOLDERS),
    };
  });

export const rightsOf = (role: Role): { read: string[]; write: string[] } =>
  role === 'administrator' ? { read: ['*'], write: ['*'] } : { read: VIEWER, write: [] };

export function addUser(draft: Sections, username: string, role: Role, password: string): void {
  draft.add('rpcd', 'login', { username, password, timeout: '300', ...rightsOf(role) });
}

export function restrict(draft: Sections, section: string): void {
  draft.set('rpcd', section, rightsOf('viewer'));
}

/** Sets a new password. An exposed viewer loses the exposing rights, too. */
export function setPassword(draft: Sections, { section, exposed }: User, password: string): void {
  draft.set('rpcd', section, { password });
  if (exposed) restrict(draft, section);
}

/** Reports whether rpcd accepts the name, and it is safe in logs. */
export const isName = (name: string): boolean => /^[a-z_][\w.-]{0,31}$/i.test(name);

export const hasAdministrator = (draft: Pick<Sections, 'all'>): boolean =>
  usersOf(draft).some(({ role }) => role === 'administrator');
