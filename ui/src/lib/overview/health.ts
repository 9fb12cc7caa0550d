// SPDX-License-Identifier: GPL-2.0-or-later
import type { Health, Open } from '../api/types';
import { t, translated, type MessageKey } from '../i18n/t';

/** A finding of the daemon's in the page's language; in English where it has no text for it. */
export function textOf({ code, params, text, open }: Health): string {
  if (open?.length) return t('health.open', { reached: open.map(reached).join(', ') });
  return translated('i18n', keyOf(code, params), params) ?? text;
}

function keyOf(code: Health['code'], params: Health['params']): MessageKey {
  if (code === 'system-wan-open') return 'health.open';
  if (code !== 'wan-down') return `health.${code}`;
  if (params['hindrance'] === 'port-down') return 'health.wan-down.port-down';
  if (params['hindrance'] === 'no-link') return 'health.wan-down.no-link';
  return 'health.wan-down';
}

function reached({ zone, to }: Open): string {
  if (to === '') return t('health.open.router', { zone });
  if (to === '*') return t('health.open.all', { zone });
  return t('health.open.zone', { to, zone });
}
