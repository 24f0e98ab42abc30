/**
 * What an operator copies from deploy/ is right: the configuration and rules of Prometheus, each alert on both sides,
 * the runbooks, and the dashboards.
 */
import { execFile } from 'node:child_process';
import { cpSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { DASHBOARDS, DASHBOARD_DIRECTORY, dashboardFile } from '../../../deploy/dashboards.ts';
import { grafanaDashboard } from '../../../deploy/grafana/layout.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { promtool } from '../../support/observability/promtool.ts';
import { ROOT } from '../../support/source/source-text.ts';
import { ALERT_CASES } from './alert-cases.ts';
import { expressionsOf, expressionsOfRules } from './expressions.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const test = await peerTest('promtool');

const PROMETHEUS = join(ROOT, 'deploy/prometheus');
const RULE_FILES = globSync(join(PROMETHEUS, '*.rules.yml')).toSorted();
const RUNBOOKS = readFileSync(join(ROOT, 'docs/runbooks.md'), 'utf8');

/** Rules as blocks of text, by the name of the alert. */
const RULES = new Map(
  RULE_FILES.flatMap((path) =>
    readFileSync(path, 'utf8')
      .split(/^ {6}- alert: /mu)
      .slice(1)
      .map((block) => [block.slice(0, block.indexOf('\n')), block.replace(/^ {2}- name:[\s\S]*/mu, '')] as const),
  ),
);

test('Prometheus takes the configuration as it is, once the key is beside it', async (t) => {
  const directory = temporaryDirectory(t);
  cpSync(PROMETHEUS, directory, { recursive: true });
  writeFileSync(join(directory, 'metrics-key'), 'the-key', { mode: 0o600 });

  t.is(await promtool(['check', 'config', join(directory, 'prometheus.yml')]), '');
});

test('Prometheus takes the rules, and each has a severity, a summary and its runbook', async (t) => {
  t.is(await promtool(['check', 'rules', ...RULE_FILES]), '');
  t.true(RULES.size >= 40);
  for (const [alert, block] of RULES) {
    t.regex(block, /^ {8}labels: \{ severity: (?:critical|warning|info) \}$/mu, alert);
    t.regex(block, /^ {10}summary: \S.*\.["']?$/mu, alert);
    t.true(block.includes(`          runbook_url: docs/runbooks.md#${alert.toLowerCase()}\n`), alert);
  }
});

test('every alert fires when it should, and is quiet when what happens is only near it', async (t) => {
  t.deepEqual(Object.keys(ALERT_CASES).toSorted(), [...RULES.keys()].toSorted());
  const directory = temporaryDirectory(t);
  const files = Object.entries(ALERT_CASES).map(([alert, { fires, quiet, stepS = 60 }]) => {
    const rules = join(directory, `${alert}.rules.yml`); // alone: a test runs all the rules that it has, for two hours
    writeFileSync(rules, `groups:\n  - name: one\n    rules:\n      - alert: ${RULES.get(alert)}`);
    const tests = [[fires, 1, 'fires'] as const, [quiet, 0, 'is quiet'] as const].map(([series, firing, word]) => ({
      name: `${alert} ${word}`,
      interval: `${stepS}s`,
      input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
      promql_expr_test: [
        {
          expr: `count(ALERTS{alertname="${alert}",alertstate="firing"}) or vector(0)`,
          eval_time: '2h',
          exp_samples: [{ labels: '{}', value: firing }],
        },
      ],
    }));
    const file = join(directory, `${alert}.yml`);
    writeFileSync(file, JSON.stringify({ rule_files: [rules], evaluation_interval: '1m', tests })); // JSON is YAML
    return file;
  });

  t.is(await promtool(['test', 'rules', ...files]), '');
});

test('there is a runbook for each alert and none for others, and the commands in them exist', async (t) => {
  const sections = [...RUNBOOKS.matchAll(/^## (?<name>.+)$/gmu)].map(({ groups }) => groups?.['name'] ?? '');
  t.deepEqual(sections.toSorted(), [...RULES.keys()].toSorted());
  for (const section of RUNBOOKS.split(/^## /mu).slice(1))
    t.regex(section, /^\w+\n\n\*\*Means\*\* .+\n\n\*\*Look\*\* .+\n\n\*\*Do\*\* .+\n/u, section.slice(0, 40));
  const anchors = new Set(sections.map((name) => name.toLowerCase()));
  t.deepEqual(
    [...RUNBOOKS.matchAll(/\]\(#(?<to>[^)]+)\)/gu)]
      .map(({ groups }) => groups?.['to'] ?? '')
      .filter((to) => !anchors.has(to)),
    [],
  );

  const named = [...RUNBOOKS.matchAll(/`edge (?<group>[a-z-]+)(?: (?<word>[a-z]+))?/gu)].map(
    ({ groups }) => [groups?.['group'] ?? '', groups?.['word']] as const,
  );
  const known = new Map<string, Promise<string>>();
  const help = (...words: readonly string[]) =>
    known.get(words.join()) ?? known.set(words.join(), said('cli/edge.ts', [...words, '--help'])).get(words.join());
  for (const [group, word] of named) {
    t.regex((await help()) ?? '', new RegExp(String.raw`^ {2}${group}\b`, 'mu'), group);
    if (word !== undefined)
      t.regex((await help(group)) ?? '', new RegExp(String.raw`^ {2}${word}\b`, 'mu'), `${group} ${word}`);
  }
  t.true(named.length >= 30);
});

async function said(program: string, words: readonly string[]): Promise<string> {
  return (await promisify(execFile)(process.execPath, [join(ROOT, program), ...words])).stdout;
}

test('the dashboards are those of the code (node deploy/dashboards.ts writes them)', (t) => {
  const files = DASHBOARDS.map(dashboardFile);

  for (const { name, text } of files) t.is(readFileSync(join(DASHBOARD_DIRECTORY, name), 'utf8'), text, name);
  t.deepEqual(
    globSync(join(DASHBOARD_DIRECTORY, '*'))
      .map((path) => basename(path))
      .toSorted(),
    files.map(({ name }) => name).toSorted(),
  );
});

test('the panels of a dashboard have ids of their own, do not lie on each other, and ask the data source that was chosen', (t) => {
  for (const dashboard of DASHBOARDS) {
    const { panels } = grafanaDashboard(dashboard) as {
      panels: {
        id: number;
        title: string;
        type: string;
        gridPos: { x: number; y: number; w: number; h: number };
        datasource?: object;
        targets?: { datasource: object; refId: string }[];
      }[];
    };
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
    );

    t.is(new Set(panels.map(({ id }) => id)).size, panels.length);
    t.is(new Set(cells).size, cells.length, dashboard.title);
    t.true(panels.every(({ gridPos: { x, w } }) => x + w <= 24));
    for (const { targets = [], type, title } of panels) {
      t.true(type === 'row' || targets.length > 0, title);
      t.is(new Set(targets.map(({ refId }) => refId)).size, targets.length);
      for (const { datasource } of targets) t.deepEqual(datasource, { type: 'prometheus', uid: '${datasource}' });
    }
  }
});

test("what an admin tells of itself is asked of admins alone: a node's own metrics may have any name", (t) => {
  const all = [
    ...DASHBOARDS.flatMap((dashboard) => expressionsOf(dashboard)),
    ...RULE_FILES.flatMap(expressionsOfRules),
  ];
  const selectors = all.flatMap(({ where, expression }) =>
    [...expression.matchAll(/\bedge_admin_\w+(?<labels>\{[^}]*\})?/gu)].map((found) => ({ where, found })),
  );

  for (const { where, found } of selectors) t.regex(found[0], /job="edge-admin"/u, where);
  t.true(selectors.length > 100);
});

test('every expression of the dashboards is one, for Prometheus', async (t) => {
  const file = join(temporaryDirectory(t), 'expressions.yml');
  const rules = DASHBOARDS.flatMap((dashboard) => expressionsOf(dashboard)).map(({ expression }, index) => ({
    record: `expression_${index}`,
    expr: expression,
    labels: { number: String(index) },
  }));
  writeFileSync(file, JSON.stringify({ groups: [{ name: 'dashboards', rules }] }));

  t.is(await promtool(['check', 'rules', file]), '');
  t.true(rules.length > 100);
});
