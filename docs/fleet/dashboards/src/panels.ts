// SPDX-License-Identifier: GPL-2.0-or-later

import * as cog from '@grafana/grafana-foundation-sdk/cog';
import * as common from '@grafana/grafana-foundation-sdk/common';
import * as dashboard from '@grafana/grafana-foundation-sdk/dashboard';
import * as prometheus from '@grafana/grafana-foundation-sdk/prometheus';
import * as stat from '@grafana/grafana-foundation-sdk/stat';
import * as statetimeline from '@grafana/grafana-foundation-sdk/statetimeline';
import * as table from '@grafana/grafana-foundation-sdk/table';
import * as timeseries from '@grafana/grafana-foundation-sdk/timeseries';

/** Data source selected at the top of each dashboard: Prometheus or VictoriaMetrics. */
const SOURCE: common.DataSourceRef = { type: 'prometheus', uid: '${datasource}' };
/** Columns of Grafana's grid. */
const WIDTH = 24;

/** A query and its legend. */
export type Query = readonly [expression: string, legend: string];

export interface Look {
  unit?: string;
  /** Width in columns of the grid. */
  span?: number;
  height?: number;
  description?: string;
  /** Upper end of the range, which starts at 0. */
  max?: number;
  stacked?: boolean;
  /** Thresholds for yellow and red. */
  limits?: readonly [warning: number, error: number];
  /** Shows the legend instead of the value. */
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

/** Grafana's name for the column of a query's values. */
const valueOf = (at: number): string => `Value #${refOf(at)}`;

const target = ([expression, legend]: Query, at: number): prometheus.DataqueryBuilder =>
  new prometheus.DataqueryBuilder()
    .datasource(SOURCE)
    .expr(expression)
    .legendFormat(legend)
    .refId(refOf(at));

/** A panel with values over time. */
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

/** A panel with the current value. */
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

/** A panel with states over time, from series that are 1 for the current state. */
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

/** Column titles of labels. */
const LABELS = { instance: 'Gateway', host: 'Host', name: 'Name', version: 'Version' };

/**
 * A table with a row per set of labels and a column per query. A query with an empty legend only
 * adds labels, like an info metric. SORTED is the column that sorts the rows, largest first.
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

/** Sets units of columns in a list. */
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

/** A dashboard for `one` selected gateway, or for any number. */
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
  // Links to a panel contain its number, so keep the numbers stable.
  built.panels?.forEach((panel, at) => (panel.id = at + 1));
  return built;
}

const ALL: dashboard.VariableOption = { selected: true, text: 'All', value: '$__all' };
