/**
 * Dashboards as data, and how they become what Grafana reads: nothing but a title, a unit and expressions has to be
 * written for a panel.
 */

/** Grafana's names of units. Source: Grafana, "Standard options". */
export type Unit = 'short' | 'bytes' | 'Bps' | 's' | 'ops' | 'percentunit' | 'none';

/** An expression of PromQL and the name of its lines; `{{label}}` stands for the value of a label. */
export type Query = readonly [expression: string, legend: string];

/**
 * A panel. `time`: lines over time; `area`: the same, one upon another; `stat`: the last value, large; `table`: the
 * last values.
 */
export interface Panel {
  readonly kind: 'time' | 'area' | 'stat' | 'table';
  readonly title: string;
  readonly unit: Unit;
  /** What the numbers mean, where the title does not say it. */
  readonly description?: string;
  readonly queries: readonly Query[];
  /** From this value on a stat is red; below it is green. Absent: it is neither. */
  readonly badFrom?: number;
  /** Shows the name of the line in place of its value, such as a version. */
  readonly isName?: boolean;
}

/** Panels under one title, from left to right. */
export interface Row {
  readonly title: string;
  readonly panels: readonly Panel[];
}

/** A choice above the panels, filled from the values of a label. */
export interface Variable {
  readonly name: string;
  readonly label: string;
  /** `label_values(metric, label)`. */
  readonly values: string;
  /** Several, or all, at once. */
  readonly isMany: boolean;
}

/** A dashboard. */
export interface Dashboard {
  /** Part of its address; lasts. */
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  readonly variables: readonly Variable[];
  readonly rows: readonly Row[];
}

/** Version of Grafana's schema of dashboards. Source: Grafana 10, which reads older ones as well. */
const SCHEMA_VERSION = 39;

/** Grafana's grid, in columns; heights in its units of 30 pixels. */
const COLUMNS = 24;
const STAT = { width: 4, height: 4 };
const GRAPH = { width: 8, height: 8 };

const DATASOURCE = { type: 'prometheus', uid: '${datasource}' };

/** Clusters to look at. */
export const CLUSTERS: Variable = {
  name: 'cluster',
  label: 'Cluster',
  values: 'label_values(edge_agent_info, cluster)',
  isMany: true,
};

/** Lines over time. */
export function time(title: string, unit: Unit, ...queries: readonly Query[]): Panel {
  return { kind: 'time', title, unit, queries };
}

/** Lines over time, one upon another. */
export function area(title: string, unit: Unit, ...queries: readonly Query[]): Panel {
  return { kind: 'area', title, unit, queries };
}

/** One number. */
export function stat(
  title: string,
  unit: Unit,
  expression: string,
  more: Pick<Panel, 'badFrom' | 'isName' | 'description'> & { readonly legend?: string } = {},
): Panel {
  const { legend = '', ...rest } = more;
  return { kind: 'stat', title, unit, queries: [[expression, legend]], ...rest };
}

/** What Grafana imports and provisions. */
export function grafanaDashboard({ uid, title, description, variables, rows }: Dashboard): object {
  const panels: object[] = [];
  let y = 0;
  for (const row of rows) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title: row.title,
      collapsed: false,
      gridPos: { x: 0, y, w: COLUMNS, h: 1 },
      panels: [],
    });
    y += 1;
    let x = 0;
    let height = 0;
    for (const panel of row.panels) {
      const size = panel.kind === 'stat' ? STAT : GRAPH;
      if (x + size.width > COLUMNS || (height !== 0 && height !== size.height)) {
        x = 0;
        y += height;
      }
      ({ height } = size);
      panels.push({ id: panels.length + 1, gridPos: { x, y, w: size.width, h: size.height }, ...grafanaPanel(panel) });
      x += size.width;
    }
    y += height;
  }
  return {
    uid,
    title,
    description,
    tags: ['edge'],
    schemaVersion: SCHEMA_VERSION,
    version: 1,
    editable: true,
    graphTooltip: 1,
    timezone: '',
    refresh: '30s',
    time: { from: 'now-1h', to: 'now' },
    links: [{ type: 'dashboards', tags: ['edge'], title: 'Edge', asDropdown: true, includeVars: true, keepTime: true }],
    annotations: { list: [] },
    templating: {
      list: [
        { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
        ...variables.map(grafanaVariable),
      ],
    },
    panels,
  };
}

function grafanaVariable({ name, label, values, isMany }: Variable): object {
  return {
    name,
    label,
    type: 'query',
    datasource: DATASOURCE,
    query: { query: values, refId: name },
    definition: values,
    refresh: 2,
    sort: 1,
    multi: isMany,
    includeAll: isMany,
    ...(isMany && { allValue: '.*', current: { selected: true, text: ['All'], value: ['$__all'] } }),
  };
}

function grafanaPanel(panel: Panel): object {
  const { title, description = '', queries, kind } = panel;
  const isNow = kind === 'stat' || kind === 'table';
  return {
    type: kind === 'stat' || kind === 'table' ? kind : 'timeseries',
    title,
    description,
    datasource: DATASOURCE,
    targets: queries.map(([expr, legendFormat], index) => ({
      refId: String.fromCodePoint('A'.codePointAt(0)! + index),
      datasource: DATASOURCE,
      editorMode: 'code',
      expr,
      legendFormat,
      range: !isNow,
      instant: isNow,
      ...(kind === 'table' && { format: 'table' }),
    })),
    fieldConfig: { defaults: defaultsOf(panel), overrides: [] },
    options: optionsOf(panel),
    ...(kind === 'table' && {
      transformations: [
        {
          id: 'organize',
          options: {
            excludeByName: { Time: true, __name__: true, job: true, instance: true },
            indexByName: {},
            renameByName: {},
          },
        },
      ],
    }),
  };
}

function defaultsOf({ kind, unit, badFrom }: Panel): object {
  const steps =
    badFrom === undefined
      ? [{ color: 'text', value: null }]
      : [
          { color: 'green', value: null },
          { color: 'red', value: badFrom },
        ];
  if (kind === 'stat' || kind === 'table') return { unit, thresholds: { mode: 'absolute', steps } };
  return {
    unit,
    min: 0,
    custom: {
      ...(unit === 'percentunit' && { axisSoftMax: 1 }),
      drawStyle: 'line',
      lineWidth: 1,
      fillOpacity: kind === 'area' ? 40 : 8,
      showPoints: 'never',
      spanNulls: false,
      stacking: { mode: kind === 'area' ? 'normal' : 'none', group: 'A' },
    },
  };
}

function optionsOf({ kind, isName }: Panel): object {
  if (kind === 'stat')
    return {
      reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
      colorMode: 'value',
      graphMode: 'none',
      justifyMode: 'auto',
      textMode: isName === true ? 'name' : 'value',
    };
  if (kind === 'table') return { showHeader: true };
  return {
    legend: { displayMode: 'list', placement: 'bottom', showLegend: true },
    tooltip: { mode: 'multi', sort: 'desc' },
  };
}
