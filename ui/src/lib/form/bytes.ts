// SPDX-License-Identifier: GPL-2.0-or-later

const units: Record<string, number> = {
  '': 1,
  k: 1e3,
  m: 1e6,
  g: 1e9,
  ki: 1024,
  mi: 1024 ** 2,
  gi: 1024 ** 3,
};

/** Parses `1 MiB`, `512 kB` or `1048576`; returns `null` for other text and for 4 GiB or more. */
export function parseBytes(text: string): number | null {
  const found = /^(\d+(?:\.\d+)?)\s*([kmg]i?)?b?$/i.exec(text.trim());
  if (!found) return null;
  const bytes = Number(found[1]) * (units[(found[2] ?? '').toLowerCase()] ?? 1);
  return Number.isInteger(bytes) && bytes < 2 ** 32 ? bytes : null;
}

export function writeBytes(text: string): string {
  const bytes = Number(text);
  if (!/^\d+$/.test(text) || bytes === 0) return text;
  for (const [unit, step] of Object.entries({ GiB: 1024 ** 3, MiB: 1024 ** 2, KiB: 1024 })) {
    if (bytes % step === 0) return `${bytes / step} ${unit}`;
  }
  return text;
}
