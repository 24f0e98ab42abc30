/** A real Prometheus, as Debian has it, on a port and a directory of its own. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isCrowded } from '../busy.ts';
import { Program } from '../fleet/program.ts';
import { freePort } from '../net/free-ports.ts';
import type { Scope } from '../scope.ts';
import { until } from '../until.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

/** A target as it sees it. */
export interface SeenTarget {
  readonly labels: Readonly<Record<string, string>>;
  readonly scrapeUrl: string;
  readonly health: 'up' | 'down' | 'unknown';
  readonly lastError: string;
}

/** A running one. */
export interface Prometheus {
  readonly program: Program;
  targets(): Promise<readonly SeenTarget[]>;
  /** An instant query: labels and value of each series. */
  query(
    expression: string,
  ): Promise<readonly { readonly labels: Readonly<Record<string, string>>; readonly value: number }[]>;
  /** All values of a range, such as `up[1m]`, of all series. */
  samples(range: string): Promise<readonly number[]>;
}

interface ApiAnswer<Data> {
  readonly status: string;
  readonly data: Data;
}

/** What it complains of. On a crowded machine answers are late, for which it has deadlines of its own, and says so. */
export function complaintsIn(output: string): string[] {
  const late = /Client\.Timeout|context deadline exceeded|HTTP status 503/u;
  return output.split('\n').filter((line) => /level=(?:error|warn)/u.test(line) && !(isCrowded() && late.test(line)));
}

/** Starts it on this configuration. Resolves when it is ready; it ends with the scope. */
export async function startPrometheus(scope: Scope, path: string, configuration: string): Promise<Prometheus> {
  const directory = temporaryDirectory(scope);
  const file = join(directory, 'prometheus.yml');
  await writeFile(file, configuration);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const program = Program.run(scope, path, [
    `--config.file=${file}`,
    `--storage.tsdb.path=${join(directory, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
    '--log.level=warn',
  ]);
  const read = async <Data>(at: string): Promise<Data> =>
    ((await (await fetch(`${url}/api/v1/${at}`)).json()) as ApiAnswer<Data>).data;

  await until('Prometheus', async () => {
    if (program.exit !== null) throw new Error(program.output.slice(-1_000));
    return (await fetch(`${url}/-/ready`)).ok;
  });
  return {
    program,
    targets: async () =>
      (await read<{ readonly activeTargets: readonly SeenTarget[] }>('targets?state=active')).activeTargets,
    query: async (expression) => {
      const { result } = await read<{
        readonly result: readonly {
          readonly metric: Readonly<Record<string, string>>;
          readonly value: readonly [number, string];
        }[];
      }>(`query?query=${encodeURIComponent(expression)}`);
      return result.map(({ metric, value: [, value] }) => ({ labels: metric, value: Number(value) }));
    },
    samples: async (range) => {
      const { result } = await read<{
        readonly result: readonly { readonly values: readonly (readonly [number, string])[] }[];
      }>(`query?query=${encodeURIComponent(range)}`);
      return result.flatMap(({ values }) => values.map(([, value]) => Number(value)));
    },
  };
}

/**
 * A configuration with nothing but the key and where nodes are found. The type is said for Prometheus 2.42, whose
 * discovery leaves it out otherwise.
 */
export function configurationOf(
  adminUrl: string,
  key: string,
  {
    everySeconds,
    sources = ['host', 'agent', 'wireguard'],
  }: { readonly everySeconds: number; readonly sources?: readonly string[] },
): string {
  return `global:
  scrape_interval: ${everySeconds}s
  scrape_timeout: ${everySeconds}s
scrape_configs:
  - job_name: edge
    authorization:
      credentials: ${key}
    http_sd_configs:
${sources
  .map(
    (source) => `      - url: ${adminUrl}/api/v1/nodes/metrics/${source}/discovery
        refresh_interval: 5s
        authorization:
          type: Bearer
          credentials: ${key}
`,
  )
  .join('')}`;
}
