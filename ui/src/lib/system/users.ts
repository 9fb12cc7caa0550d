// SPDX-License-Identifier: GPL-2.0-or-later
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
}

/** What a viewer reads: LuCI's own frame and the page; and what everybody may before a login. */
const VIEWER = ['unauthenticated', 'luci-base', 'luci-app-fastpath'];

const roleOf = (login: Section): Role =>
  list(login, 'write').some((group) => ['*', 'luci-app-fastpath'].includes(group))
    ? 'administrator'
    : 'viewer';

/** Everybody who may log in. */
export const usersOf = (draft: Pick<Sections, 'all'>): User[] =>
  draft.all('rpcd', 'login').map((login) => ({
    section: login.section,
    name: text(login, 'username'),
    role: roleOf(login),
  }));

export const rightsOf = (role: Role): { read: string[]; write: string[] } =>
  role === 'administrator' ? { read: ['*'], write: ['*'] } : { read: VIEWER, write: [] };

/** Somebody new, with the hash of a password. */
export function enrol(draft: Sections, username: string, role: Role, password: string): void {
  draft.add('rpcd', 'login', { username, password, timeout: '300', ...rightsOf(role) });
}

/** Names that rpcd and a log take: of letters, digits, and what joins them. */
export const isName = (name: string): boolean => /^[a-z_][\w.-]{0,31}$/i.test(name);

/** Whether somebody is left who may change something. */
export const hasAdministrator = (draft: Pick<Sections, 'all'>): boolean =>
  usersOf(draft).some(({ role }) => role === 'administrator');
