/** `console run`: one command on the whole fleet, from Enter to its last result, on the page and by `edge run`. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import type { CaseOptions } from '../cases/options.ts';
import { compare, type Target } from '../cases/findings.ts';
import { nowMs } from '../method/clock.ts';
import { interleave, type Side } from '../method/interleave.ts';
import { quantile } from '../method/statistics.ts';
import type { Product } from '../product/contestant.ts';
import { openPage, originOf, signIn } from './browser.ts';
import { trueAt } from './frames.ts';

const REPEATS = 3;

/** How much later the page may be than the command line, in s. Source: docs/performance.md. */
const BEHIND_SECONDS_MAX = 0.5;

/** Timeout of one run, in ms. */
const RUN_MS_MAX = 60_000;

/** What `edge run` prints of 10,000 nodes, in bytes. */
const PRINTED_BYTES_MAX = 67_108_864;

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const execute = promisify(execFile);

/** Both in turns: they are on one fleet. */
export async function run(options: CaseOptions, browser: Browser, product: Product, nodes: number): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'edge-bench-console-'));
  try {
    await execute(process.execPath, ['deploy/build.ts', join(directory, 'dist')], { cwd: ROOT });
    const sides: Side[] = [
      commandLine(directory, product, nodes),
      page(browser, product, await signIn(product.place), nodes),
    ];
    const result = await interleave(options.floorOnly ? sides.slice(0, 1) : sides, options.repeats ?? REPEATS);
    const [line] = [result.samples.get('edge run') ?? []];
    const lineMedian = quantile(
      line.map(({ seconds }) => seconds),
      0.5,
    );
    const target: Target = ({ series }) => quantile(series, 0.5) - lineMedian <= BEHIND_SECONDS_MAX;
    for (const finding of compare('console run', { nodes }, result, target, 'edge run'))
      options.report.add({ ...finding, behind_ms: (finding.seconds - lineMedian) * 1_000 });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** The program as it is published. */
function commandLine(directory: string, { place }: Product, nodes: number): Side {
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: directory,
    NODE_COMPILE_CACHE: join(directory, 'code'),
    EDGE_URL: originOf(place),
    EDGE_API_KEY: place.masterKey,
  };
  const words = [join(directory, 'dist', 'edge.js'), 'run', '--all', '--', 'true'];
  return {
    name: 'edge run',
    run: async () => {
      const began = performance.now();
      const { stdout } = await execute(process.execPath, words, {
        env,
        maxBuffer: PRINTED_BYTES_MAX,
        timeout: RUN_MS_MAX,
      });
      const seconds = (performance.now() - began) / 1_000;
      const printed = stdout.split('\n').length - 1;
      if (printed < nodes) throw new Error(`edge run printed ${printed} lines: ${stdout.slice(0, 500)}`);
      await delay(1_000);
      return { seconds, readings: {} };
    },
  };
}

/**
 * The form, sent by its button in the dialog that asks once more; the page it leads to is followed to the last result.
 */
function page(browser: Browser, { place }: Product, cookie: string, nodes: number): Side {
  const all = nodes.toLocaleString('en');
  return {
    name: 'product',
    run: async () => {
      const open = await openPage(browser, `${originOf(place)}/console/run`, cookie);
      try {
        await open.page.getByLabel('Command', { exact: true }).fill('true');
        await open.page.getByRole('radio', { name: 'All nodes' }).check();
        await open.page.keyboard.press('Control+Enter');
        const button = open.page.getByRole('dialog').getByRole('button', { name: `Run on ${all} nodes` });
        await button.focus();
        const isEnded = `document.querySelector('.command h1 ~ .soft, .command .soft')?.textContent.startsWith('${all} of ${all} nodes')`;
        const isGrouped = `[...document.querySelectorAll('.command .grid .cell')].some(({ textContent }) => textContent === '${all}')`;
        const ended = trueAt(open, isEnded, RUN_MS_MAX);
        const grouped = trueAt(open, `${isEnded} && ${isGrouped}`, RUN_MS_MAX);
        const beganMs = nowMs();
        await open.page.keyboard.press('Enter');
        const [endedMs, groupedMs] = [await ended, await grouped];
        if (endedMs === null || groupedMs === null) throw new Error('the page did not show the end of the command');
        return { seconds: (groupedMs - beganMs) / 1_000, readings: { ended_ms: endedMs - beganMs } };
      } finally {
        await open.close();
        await delay(1_000);
      }
    },
  };
}
