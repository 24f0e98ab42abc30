/**
 * A machine that goes down at any step of an update starts in the old version or the new one, and ends in the new one.
 */
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { build } from 'esbuild';
import { REQUIRE, SHARED } from '../../../deploy/bundles.ts';
import { silentLog } from '../../support/log.ts';
import { createScope } from '../../support/scope.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { askedUpdate } from '../../support/updater/asked-update.ts';
import { updaterFixture } from '../../support/updater/fixture.ts';
import { Supervisor } from '../../support/updater/supervisor.ts';
import { until } from '../../support/until.ts';

/** Machines that are updated at the same time. */
const AT_ONCE = 3;

/** More points than an update has: the search for the last one ends. */
const POINTS_MAX = 400;

interface Run {
  readonly code: number | null;
  readonly signal: string | null;
  readonly text: string;
}

/** As one file, as updaters are: it starts a hundred times. Answers its path. */
async function bundled(directory: string): Promise<string> {
  await build({
    ...SHARED,
    entryPoints: ['test/support/updater/killed-updater.ts'],
    outdir: directory,
    outExtension: { '.js': '.mjs' },
    format: 'esm',
    splitting: true, // what it patches comes before what it brings then
    banner: { js: REQUIRE },
  });
  return join(directory, 'killed-updater.mjs');
}

function run(program: string, env: Readonly<Record<string, string>>): Promise<Run> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [program], { env: { ...process.env, ...env } }, (_error, stdout, stderr) =>
      resolve({ code: child.exitCode, signal: child.signalCode, text: stdout + stderr }),
    );
  });
}

test('an update survives a power cut before every change of the disk, with NULs in what was not synced', async (t) => {
  t.timeout(900_000);
  const template = await updaterFixture(t);
  await template.publish('0.1.0');
  await template.install();
  await until('the agent', () => template.running() === '0.1.0');
  await template.agent.stop();
  await template.publish('0.2.0');
  const place = temporaryDirectory(t);
  const program = await bundled(join(place, 'program'));
  let [last, next] = [POINTS_MAX, 1];
  const seen: string[] = [];

  const cut = async (at: number): Promise<void> => {
    const scope = createScope();
    const directory = join(place, `${at}`);
    const [updater, data, pid] = [join(directory, 'updater'), join(directory, 'agent'), join(directory, 'agent.pid')];
    mkdirSync(data, { recursive: true });
    cpSync(template.layout.directory, updater, { recursive: true, verbatimSymlinks: true });
    const env = {
      ...template.env,
      UPDATER_DIR: updater,
      UPDATER_AGENT_DATA_DIR: data,
      UPDATER_RESTART_COMMAND: (template.env['UPDATER_RESTART_COMMAND'] ?? '').replaceAll(/cat \S+\)/gu, `cat ${pid})`),
    };
    const version = () => {
      const health = join(data, 'health.json');
      return existsSync(health) ? (JSON.parse(readFileSync(health, 'utf8')) as { version: string }).version : null;
    };
    const start = async (): Promise<Supervisor> => {
      rmSync(join(data, 'health.json'), { force: true });
      const agent = new Supervisor(scope, 'agent', { UPDATER_DIR: updater, AGENT_DATA_DIR: data }, pid);
      agent.start();
      await until(`an agent after point ${at}: ${agent.output}`, () => version() !== null);
      return agent;
    };
    try {
      const before = await start();
      const killed = await run(program, { ...env, EDGE_TEST_KILL_AT: `${at}` });
      if (killed.signal !== 'SIGKILL') {
        last = Math.min(last, at);
        t.is(killed.code, 0, killed.text);
        return;
      }
      await before.stop();
      rmSync(join(updater, 'verified'), { force: true }); // the next boot has another id
      await start();
      const after = version();
      const { outcome } = await askedUpdate(env, silentLog);
      seen.push(`${at}:${after}`);

      t.true(after === '0.1.0' || after === '0.2.0', `point ${at}: ${after}`);
      await until(`0.2.0 after point ${at}: ${JSON.stringify(outcome)}`, () => version() === '0.2.0');
    } finally {
      await scope.end();
      rmSync(directory, { recursive: true, force: true });
    }
  };
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (next < last) await cut(next++);
    }),
  );

  t.log(`${last - 1} points; the new version ran at ${seen.filter((one) => one.endsWith('0.2.0')).length} of them`);
  t.true(last > 30 && last < POINTS_MAX, `${last} points`);
});
