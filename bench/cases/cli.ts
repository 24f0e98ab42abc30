/**
 * `cli`: what `edge` takes from Enter to its end: `edge node ls` of the package that is published, and of a clone. The
 * floor is a Node that does nothing.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startBenchServer, withClient } from '../fleet/database.ts';
import { insertNodes } from '../fleet/nodes.ts';
import { interleave, type Side } from '../method/interleave.ts';
import { quantile } from '../method/statistics.ts';
import { newAdminPlace, startAdmin, type AdminProcess } from '../product/admin.ts';
import { compare, type Target } from './findings.ts';
import type { CaseOptions } from './options.ts';

/** A table that fits a screen. */
const NODES = 20;
const REPEATS = 30;

/** Rounds that do not count: in the first, compiled code is kept. */
const WARM_UPS = 3;

/** Target of the median. Source: docs/performance.md. */
const SECONDS_MAX = 0.15;

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const run = promisify(execFile);

/** One program after the other, in turns. */
export async function cli(options: CaseOptions): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'edge-bench-cli-'));
  const postgres = await startBenchServer();
  let admin: AdminProcess | undefined;
  try {
    const nodes = options.nodes[0] ?? NODES;
    const database = await postgres.create('product');
    await withClient(database, (client) => insertNodes(client, nodes));
    await run(process.execPath, ['deploy/build.ts', join(directory, 'dist')], { cwd: ROOT });
    const place = await newAdminPlace(database);
    admin = await startAdmin(place);
    const env = {
      PATH: process.env['PATH'] ?? '',
      HOME: directory,
      NODE_COMPILE_CACHE: join(directory, 'code'),
      EDGE_URL: `http://127.0.0.1:${place.port}`,
      EDGE_API_KEY: place.masterKey,
    };

    const list = ['node', 'ls'];
    const sides: Side[] = [
      timed('floor', ['-e', '0'], env, 0),
      timed('product', [join(directory, 'dist', 'edge.js'), ...list], env, nodes + 1),
      timed('clone', [join(ROOT, 'cli', 'edge.ts'), ...list], env, nodes + 1),
    ];
    const result = await interleave(
      options.floorOnly ? sides.slice(0, 1) : sides,
      options.repeats ?? REPEATS,
      WARM_UPS,
    );
    const target: Target = ({ series }) => quantile(series, 0.5) <= SECONDS_MAX;
    for (const finding of compare('cli', { nodes }, result, target)) options.report.add(finding);
  } finally {
    await admin?.stop();
    await postgres.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

/** One run of a program, which must print so many lines. */
function timed(name: string, words: readonly string[], env: Readonly<Record<string, string>>, lines: number): Side {
  return {
    name,
    run: async () => {
      const began = performance.now();
      const { stdout } = await run(process.execPath, [...words], { env });
      const seconds = (performance.now() - began) / 1_000;
      const printed = stdout.split('\n').length - 1;
      if (printed !== lines) throw new Error(`${name} printed ${printed} lines, not ${lines}: ${stdout.slice(0, 500)}`);
      return { seconds, readings: {} };
    },
  };
}
