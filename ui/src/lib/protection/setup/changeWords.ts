// SPDX-License-Identifier: GPL-2.0-or-later
import { count } from '../../format/units';
import { bareName, textOf, type Change, type Section, type Value } from '../../uci/sections';
import { defaultOf, kindOf, saysOn, writeBytes } from './options';
import { maybe, s } from './words';

/** What people call a section. */
export function sectionWords(section: Section): string {
  const bare = bareName(section);
  if (section.type === 'policy') {
    return s('section.policy', { name: textOf(section, 'name', s('policy.unnamed')) });
  }
  if (section.type === 'rules') return s('section.rules', { name: bare });
  return maybe(`section.${section.type}`) || bare;
}

export function optionWords(type: string, option: string): string {
  return maybe(`option.${type}.${option}`) || option;
}

/** A value as people read it; what is not there is as by default. */
export function valueWords(type: string, option: string, value: Value | undefined): string {
  if (value === undefined || value.length === 0) {
    const otherwise = defaultOf(type, option);
    return otherwise === '' ? s('value.none') : valueWords(type, option, otherwise);
  }
  if (typeof value !== 'string') return value.join(', ');
  const kind = kindOf(option);
  if (kind === 'switch') return s(saysOn(value) ? 'value.on' : 'value.off');
  return kind === 'bytes' ? writeBytes(value) : maybe(`value.${option}.${value}`) || value;
}

/** A change in one line. */
export function changeWords(change: Change): string {
  const { section } = change;
  const name = sectionWords(section);
  if (change.kind === 'removed') return s('change.removed', { name });
  if (change.kind === 'moved') {
    return s('change.moved', { name, from: count(change.from), to: count(change.to) });
  }
  if (change.kind === 'added') {
    const all = Object.entries(section.options).filter(([option]) => option !== 'name');
    const list = all.map(
      ([option, value]) =>
        `${optionWords(section.type, option)}: ${valueWords(section.type, option, value)}`,
    );
    return s('change.added', { name, options: list.join('; ') });
  }
  return s('change.set', {
    name,
    option: optionWords(section.type, change.option),
    from: valueWords(section.type, change.option, change.from),
    to: valueWords(section.type, change.option, change.to),
  });
}
