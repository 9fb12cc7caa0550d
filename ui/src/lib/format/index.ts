// SPDX-License-Identifier: GPL-2.0-or-later
/** The login and the header import single files instead, because they load first. */

export { default as Button } from './Button.svelte';
export { default as Checkbox } from './Checkbox.svelte';
export { default as CopyButton } from './CopyButton.svelte';
export { default as DetailPanel } from './DetailPanel.svelte';
export { default as Facts, type Fact } from './Facts.svelte';
export { default as Field } from './Field.svelte';
export { default as Figure } from './Figure.svelte';
export { default as FileButton } from './FileButton.svelte';
export { default as FilterChip } from './FilterChip.svelte';
export * from './foreign';
export { default as Foreign } from './Foreign.svelte';
export { default as Heads } from './Heads.svelte';
export { default as Marked } from './Marked.svelte';
export { default as Panel } from './Panel.svelte';
export { default as Select } from './Select.svelte';
export { default as SortButton } from './SortButton.svelte';
export { default as Switch } from './Switch.svelte';
export * from './time';
export * from './units';
