// SPDX-License-Identifier: GPL-2.0-or-later

import type { Health, Open, Status } from '../api/types';
import { reason } from '../cause/cause';
import { localized } from '../form/messages';
import { t, translated, type MessageKey } from '../i18n/t';

type Reasons = Pick<Status, 'problems' | 'engine'>;

/** Returns the text of a condition; in English if the page has no translation. */
export function textOf({ code, params, text, open }: Health, of: Reasons): string {
  if (open?.length) return t('health.open', { reached: open.map(reached).join(', ') });
  const values = { ...params, ...why(code, params, of) };
  return translated('i18n', keyOf(code, params), values) ?? text;
}

function why(
  code: Health['code'],
  params: Health['params'],
  { problems, engine }: Reasons,
): { why?: string } {
  if ((code === 'config-refused' || code === 'config-left-out') && problems.length > 0)
    return { why: problems.map(problem).join(' ') };
  if (code === 'flowtable-differs' || code === 'nft-refused')
    return { why: reason('engine', engine) };
  if (code === 'ebpf-partly') return { why: withoutProgram(params) };
  return {};
}

/**
 * Returns why a device has no program. `inner` is the code of the reason, followed by nested codes.
 */
function withoutProgram({ why, inner, ...params }: Health['params']): string {
  const [code = '', ...within] = String(inner ?? '').split(' ');
  const all = within.length > 0 ? { ...params, inner: within.join(' ') } : params;
  return reason('ebpf', { why: String(why), cause: { code, params: all } });
}

function problem(each: Status['problems'][number]): string {
  const place = [each.section, each.option].filter(Boolean).join('.');
  return (place && `${place}: `) + localized('problem', each);
}

function keyOf(code: Health['code'], params: Health['params']): MessageKey {
  if (code === 'system-wan-open') return 'health.open';
  if (code !== 'wan-down') return `health.${code}`;
  if (params['hindrance'] === 'port-down') return 'health.wan-down.port-down';
  if (params['hindrance'] === 'no-link') return 'health.wan-down.no-link';
  if (params['hindrance'] === 'failed') return keyOfError(String(params['error'] ?? ''));
  return 'health.wan-down';
}

/** Returns the key of the text for an error of netifd, which includes a remedy. */
export function keyOfError(error: string): MessageKey {
  if (error === 'DEVICE_CLAIM_FAILED') return 'health.wan-down.claim';
  if (error === 'AUTH_TOPEER_FAILED') return 'health.wan-down.login';
  return 'health.wan-down.failed';
}

function reached({ zone, to }: Open): string {
  if (to === '') return t('health.open.router', { zone });
  if (to === '*') return t('health.open.all', { zone });
  return t('health.open.zone', { to, zone });
}
