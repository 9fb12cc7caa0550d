// SPDX-License-Identifier: GPL-2.0-or-later
/** Panels and dashboards with the settings that all of them have. */

import * as cog from '@grafana/grafana-foundation-sdk/cog';
import * as common from '@grafana/grafana-foundation-sdk/common';
import * as dashboard from '@grafana/grafana-foundation-sdk/dashboard';
import * as prometheus from '@grafana/grafana-foundation-sdk/prometheus';
import * as stat from '@grafana/grafana-foundation-sdk/stat';
import * as statetimeline from '@grafana/grafana-foundation-sdk/statetimeline';
import * as table from '@grafana/grafana-foundation-sdk/table';
import * as timeseries from '@grafana/grafana-foundation-sdk/timeseries';

/** Chosen at the top of each dashboard: Prometheus or VictoriaMetrics. */
const SOURCE: common.DataSourceRef = { type: 'prometheus', uid: '${datasource}' };
/** Columns of the grid. */
const WIDTH = 24;

/** A query, and the text of its legend. */
export type Query = readonly [expression: string, legend: string];

export interface Look {
  unit?: string;
  /** Columns, of 24. */
  span?: number;
  height?: number;
  description?: string;
  /** From 0 to this value. */
  max?: number;
  stacked?: boolean;
  /** Values from which a figure is yellow, and red. */
  limits?: readonly [warning: number, error: number];
  /** The legend instead of the value. */
  named?: boolean;
}

const RED = 'red';
const YELLOW = 'yellow';
const GREEN = 'green';

function steps(limits: Look['limits']): dashboard.ThresholdsConfigBuilder {
  const [warning, error] = limits ?? [];
  const all: dashboard.Threshold[] = [{ value: null, color: GREEN }];
  if (warning !== undefined && warning !== error) all.push({ value: warning, color: YELLOW });
  if (error !== undefined) all.push({ value: error, color: RED });
  return new dashboard.ThresholdsConfigBuilder().mode(dashboard.ThresholdsMode.Absolute).steps(all);
}

const refOf = (at: number): string => String.fromCharCode(65 + at);

/** The column of a query's values, as Grafana names it. */
const valueOf = (at: number): string => `Value #${refOf(at)}`;

const target = ([expression, legend]: Query, at: number): prometheus.DataqueryBuilder =>
  new prometheus.DataqueryBuilder()
    .datasource(SOURCE)
    .expr(expression)
    .legendFormat(legend)
    .refId(refOf(at));

/** Values over time. */
export function chart(title: string, queries: readonly Query[], look: Look = {}) {
  const stacking = look.stacked ? common.StackingMode.Normal : common.StackingMode.None;
  const panel = new timeseries.PanelBuilder()
    .title(title)
    .datasource(SOURCE)
    .unit(look.unit ?? 'short')
    .span(look.span ?? WIDTH / 2)
    .height(look.height ?? 8)
    .min(0)
    .fillOpacity(look.stacked ? 30 : 0)
    .stacking(new common.StackingConfigBuilder().mode(stacking))
    .legend(
      new common.VizLegendOptionsBuilder()
        .displayMode(common.LegendDisplayMode.Table)
        .placement(common.LegendPlacement.Bottom)
        .showLegend(true)
        .calcs(['lastNotNull', 'max']),
    )
    .targets(queries.map(target));
  if (look.max !== undefined) panel.max(look.max);
  if (look.description !== undefined) panel.description(look.description);
  return panel;
}

/** The present value. */
export function figure(title: string, query: Query, look: Look = {}) {
  const panel = new stat.PanelBuilder()
    .title(title)
    .datasource(SOURCE)
    .unit(look.unit ?? 'short')
    .span(look.span ?? WIDTH / 6)
    .height(look.height ?? 4)
    .thresholds(steps(look.limits))
    .colorMode(common.BigValueColorMode.Value)
    .graphMode(common.BigValueGraphMode.None)
    .reduceOptions(new common.ReduceDataOptionsBuilder().calcs(['lastNotNull']))
    .textMode(look.named ? common.BigValueTextMode.Name : common.BigValueTextMode.Auto)
    .targets([target(query, 0).instant()]);
  if (look.description !== undefined) panel.description(look.description);
  return panel;
}

/** States over time: series that are 1 for the current state. */
export function states(title: string, queries: readonly Query[], look: Look = {}) {
  const panel = new statetimeline.PanelBuilder()
    .title(title)
    .datasource(SOURCE)
    .span(look.span ?? WIDTH / 2)
    .height(look.height ?? 8)
    .thresholds(steps(look.limits))
    .targets(queries.map(target));
  if (look.description !== undefined) panel.description(look.description);
  return panel;
}

/** Titles of the columns that labels make. */
const LABELS = { instance: 'Gateway', host: 'Host', name: 'Name', version: 'Version' };

/**
 * A row for each set of labels, a column for each query. A query without a legend adds its labels
 * only, such as those of an info metric. SORTED: the column that sorts the rows, largest first.
 */
export function list(title: string, queries: readonly Query[], sorted = '') {
  const columns = queries.map(([, column], at) => [valueOf(at), column] as const);
  const shown = columns.filter(([, column]) => column !== '');
  const hidden = columns.filter(([, column]) => column === '');
  const panel = new table.PanelBuilder()
    .title(title)
    .datasource(SOURCE)
    .span(WIDTH)
    .height(10)
    .targets(
      queries.map((query, at) =>
        target(query, at).instant().format(prometheus.PromQueryFormat.Table),
      ),
    )
    .withTransformation({ id: 'merge', options: {} })
    .withTransformation({
      id: 'organize',
      options: {
        excludeByName: Object.fromEntries([
          ['Time', true],
          ...hidden.map(([value]) => [value, true]),
        ]),
        renameByName: { ...LABELS, ...Object.fromEntries(shown) },
      },
    });
  if (sorted !== '') {
    const by = new common.TableSortByFieldStateBuilder().displayName(sorted).desc(true);
    panel.sortBy([by]);
  }
  return panel;
}

/** Columns of a list with a unit. */
export function units(panel: table.PanelBuilder, columns: Record<string, string>) {
  for (const [name, unit] of Object.entries(columns)) {
    panel.overrideByName(name, [{ id: 'unit', value: unit }]);
  }
  return panel;
}

type Panel = cog.Builder<dashboard.Panel>;

export interface Section {
  title: string;
  panels: readonly Panel[];
}

/** A dashboard; `one` gateway is chosen, or any number of them. */
export function board(uid: string, title: string, one: boolean, sections: readonly Section[]) {
  const gateways = new dashboard.QueryVariableBuilder('gateway')
    .label('Gateway')
    .datasource(SOURCE)
    .query('label_values(fastpath_build_info, instance)')
    .refresh(dashboard.VariableRefresh.OnTimeRangeChanged)
    .sort(dashboard.VariableSort.AlphabeticalAsc);
  if (!one) gateways.multi(true).includeAll(true).allValue('.*').current(ALL);
  const builder = new dashboard.DashboardBuilder(title)
    .uid(uid)
    .tags(['fastpath'])
    .time({ from: 'now-6h', to: 'now' })
    .timezone('browser')
    .refresh('1m')
    .tooltip(dashboard.DashboardCursorSync.Crosshair)
    .withVariable(
      new dashboard.DatasourceVariableBuilder('datasource').label('Source').type('prometheus'),
    )
    .withVariable(gateways)
    .link(
      new dashboard.DashboardLinkBuilder('fastpath')
        .type(dashboard.DashboardLinkType.Dashboards)
        .tags(['fastpath'])
        .asDropdown(true)
        .includeVars(true)
        .keepTime(true),
    );
  for (const section of sections) {
    builder.withRow(new dashboard.RowBuilder(section.title));
    for (const panel of section.panels) builder.withPanel(panel);
  }
  const built = builder.build();
  // Links to a panel name its number.
  built.panels?.forEach((panel, at) => (panel.id = at + 1));
  return built;
}

const ALL: dashboard.VariableOption = { selected: true, text: 'All', value: '$__all' };
