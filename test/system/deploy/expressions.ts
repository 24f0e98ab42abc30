/** Expressions of PromQL in dashboards and rules, as Prometheus gets them, and the metrics that they name. */
import { readFileSync } from 'node:fs';
import type { Dashboard } from '../../../deploy/grafana/layout.ts';

/** One, and where it stands. */
export interface Expression {
  readonly where: string;
  readonly expression: string;
}

/** What Grafana puts in place of its variables: everything, over such a time. */
export function filled(
  expression: string,
  {
    rateInterval = '5m',
    values = {},
  }: { readonly rateInterval?: string; readonly values?: Readonly<Record<string, string>> } = {},
): string {
  return expression
    .replaceAll('$__rate_interval', rateInterval)
    .replaceAll(/\$(?<name>[a-z]+)/gu, (_, name: string) => values[name] ?? '.*');
}

/** All of a dashboard, filled. */
export function expressionsOf(dashboard: Dashboard, how: Parameters<typeof filled>[1] = {}): Expression[] {
  return dashboard.rows.flatMap((row) =>
    row.panels.flatMap((panel) =>
      panel.queries.map(([expression]) => ({
        where: `${dashboard.title} / ${row.title} / ${panel.title}`,
        expression: filled(expression, how),
      })),
    ),
  );
}

/** All of a file of rules. */
export function expressionsOfRules(path: string): Expression[] {
  return readFileSync(path, 'utf8')
    .split(/^ {6}- alert: /mu)
    .slice(1)
    .map((block) => {
      const [, folded, plain] = /^ {8}expr: (?:>-\n((?: {10}.*\n)+)|(.*)\n)/mu.exec(block) ?? [];
      return {
        where: block.slice(0, block.indexOf('\n')),
        expression: (folded ?? plain ?? '').replaceAll(/\s+/gu, ' ').trim(),
      };
    });
}

/** Words of PromQL that are no metrics and have no parenthesis behind them. */
const WORDS: ReadonlySet<string> = new Set([
  'and',
  'or',
  'unless',
  'bool',
  'offset',
  'by',
  'without',
  'on',
  'ignoring',
  'group_left',
  'group_right',
]);

/** The metrics that an expression names. */
export function metricsOf(expression: string): string[] {
  const bare = expression
    .replaceAll(/\{[^}]*\}|\[[^\]]*\]|"[^"]*"/gu, ' ')
    .replaceAll(/\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)/gu, ' ');
  return [
    ...new Set(
      [...bare.matchAll(/(?<![\w.])(?<name>[a-zA-Z_]\w*)(?!\w|\s*\()/gu)]
        .map(({ groups }) => groups?.['name'] ?? '')
        .filter((name) => !WORDS.has(name)),
    ),
  ];
}
