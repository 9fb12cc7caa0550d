// SPDX-License-Identifier: GPL-2.0-or-later
import type { Health, Open } from '../api/types';
import { t } from '../i18n/t';

/** A finding of the daemon in the page's language, where the page has a message for its code. */
export function textOf(finding: Health): string {
  if (!finding.open?.length) return finding.text;
  return t('health.open', { reached: finding.open.map(reached).join(', ') });
}

function reached({ zone, to }: Open): string {
  if (to === '') return t('health.open.router', { zone });
  if (to === '*') return t('health.open.all', { zone });
  return t('health.open.zone', { to, zone });
}
