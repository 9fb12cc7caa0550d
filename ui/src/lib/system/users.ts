// SPDX-License-Identifier: GPL-2.0-or-later
/** Logins in `/etc/config/rpcd`: rights of administrators and viewers, viewers with dangerous
 * rights, names. */

import type { Draft } from '../form/draft.svelte';
import { list, text, type Section } from '../form/sections';

type Sections = Pick<Draft, 'all' | 'set' | 'add' | 'remove'>;

export const roles = ['administrator', 'viewer'] as const;
export type Role = (typeof roles)[number];

/** Somebody who may log in to the page, as rpcd has them. */
export interface User {
  section: string;
  name: string;
  role: Role;
  /** A viewer who may list every folder, and so finds the sessions of administrators. */
  exposed: boolean;
}

/** Access groups of a viewer: the page, and everybody's rights before a login. */
const VIEWER = ['unauthenticated', 'luci-app-fastpath'];

/**
 * LuCI's own group lists all folders. In /var/run/rpcd are the sessions that have staged something,
 * by their ids, and who has such an id is who logged in: an administrator.
 */
const LISTS_FOLDERS = 'luci-base';

/** Whether one of rpcd's patterns, of letters, `*` and `?`, is for a group. */
function covers(pattern: string, group: string): boolean {
  const letters = pattern.replace(/[.+^${}()|[\]\\]/g, '\\$&');
  return new RegExp(`^${letters.replaceAll('*', '.*').replaceAll('?', '.')}$`).test(group);
}

/** Whether a login reads a group. As in rpcd a pattern after `!` excludes, and goes before all. */
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

/** Everybody who may log in. */
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

/** Somebody new, with the hash of a password. */
export function enrol(draft: Sections, username: string, role: Role, password: string): void {
  draft.add('rpcd', 'login', { username, password, timeout: '300', ...rightsOf(role) });
}

/** The rights that the page gives a viewer, and no others. */
export function narrow(draft: Sections, section: string): void {
  draft.set('rpcd', section, rightsOf('viewer'));
}

/** Another password. An exposed viewer who is saved again has the rights of a new one. */
export function renew(draft: Sections, { section, exposed }: User, password: string): void {
  draft.set('rpcd', section, { password });
  if (exposed) narrow(draft, section);
}

/** Names that rpcd and a log accept: letters, digits, and characters that join them. */
export const isName = (name: string): boolean => /^[a-z_][\w.-]{0,31}$/i.test(name);

/** Whether somebody is left who may change something. */
export const hasAdministrator = (draft: Pick<Sections, 'all'>): boolean =>
  usersOf(draft).some(({ role }) => role === 'administrator');
