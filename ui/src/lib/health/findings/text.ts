// SPDX-License-Identifier: GPL-2.0-or-later

// The router sends findings as codes with parameters, and English texts. Translations are here,
// under the keys of the doctor's `texts/en.json`.
import { translated, type Params as Values } from '../../i18n/t';
import { reason } from '../../cause/cause';
import { updateMessage } from '../../cause/rules';
import type { Evidence, Finding, Params } from '../report';

const PART = 'health/findings';

export function inLanguage(finding: Finding): Finding {
  const { group, id, code, severity, gain, fix } = finding;
  const params = withReasons(finding);
  /** Returns the text of the case, by default that of the check. */
  const text = (key: string, english: string) =>
    english && (find(`${group}.${code}.${key}`, params) ?? find(`${group}.${id}.${key}`, params));
  const texts =
    severity === 'ok'
      ? { title: text('ok', finding.title) }
      : severity === 'unknown'
        ? {
            title: text('about', finding.title),
            consequence: find('general.unknown.consequence', params),
          }
        : {
            title: text('title', finding.title),
            consequence: text('consequence', finding.consequence),
            remedy: text('remedy', finding.remedy),
          };
  return {
    ...finding,
    title: texts.title ?? finding.title,
    consequence: texts.consequence ?? finding.consequence,
    remedy: texts.remedy ?? finding.remedy,
    gain: gain && { ...gain, text: text('gain', gain.text) ?? gain.text },
    fix: fix && { ...fix, label: text('fix', fix.label) ?? fix.label },
    evidence: finding.evidence.map((each) => ({
      ...each,
      what: find(`${group}.what.${each.code}`, each.params) ?? each.what,
      value: valueOf(each),
    })),
  };
}

function valueOf({ value, cause }: Evidence): string {
  if (!cause) return value;
  const { kind, code, params, sources = [] } = cause;
  if (kind === 'rules') return updateMessage({ message: value, cause: { code, params }, sources });
  return reason(kind, { why: value, cause: { code, params } });
}

/**
 * Returns the parameters of a finding. A parameter that equals a reason in the evidence gets the
 * reason's translation.
 */
function withReasons({ params, evidence }: Finding): Params {
  const reasons = new Map(
    evidence.filter(({ cause }) => cause).map((of) => [of.value, valueOf(of)]),
  );
  const entries = Object.entries(params);
  return Object.fromEntries(entries.map(([name, of]) => [name, reasons.get(of as string) ?? of]));
}

function find(key: string, params: Params): string | undefined {
  return translated(PART, key, params as Values);
}
