// SPDX-License-Identifier: GPL-2.0-or-later
import type { IpsSource } from '../api/types';
import type { Params } from '../i18n/t';
import { reason } from './cause';

/** A message with a reason, which older routers omit. */
type Reported<T extends { message: string; cause: unknown }> = Pick<T, 'message'> &
  Partial<Pick<T, 'cause'>>;

/** Returns why a source is unused or outdated; empty if it is in use and current. */
export function messageOf({ message: why, cause }: Reported<IpsSource>): string {
  return reason('source', { why, cause });
}

type Rules = {
  message: string;
  cause?: { code: string; params: Params } | undefined;
  sources: readonly (Reported<IpsSource> & Pick<IpsSource, 'name'>)[];
};

/** Returns the progress or result of an update, with the messages of failed sources. */
export function updateMessage({ message: why, cause, sources }: Rules): string {
  if (cause?.code !== 'sources' && cause?.code !== 'no-rules')
    return reason('rules', { why, cause });
  const { code, params } = cause;
  const failed = sources.filter(({ message }) => message !== '');
  const said = failed.map((source) => `${source.name}: ${messageOf(source)}`).join('; ');
  return reason('rules', { why, cause: { code, params: said ? { ...params, said } : params } });
}
