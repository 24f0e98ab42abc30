/**
 * The guide pages are true: every command on them is pasted where the page says, in a real fleet, and shows what the
 * page promises.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import ava from 'ava';
import { createDatabase } from '../../support/database.ts';
import { peerTest } from '../../support/peer-test.ts';
import { isPromised } from './guide-blocks.ts';
import type { TriedBlock } from './guide-program.ts';
import { hangAfter } from '../../support/busy.ts';

const test = await peerTest('curl', 'ssh', 'scp', 'ssh-keygen', 'prometheus', 'promtool', 'ps');

/** Eight pages of commands, each of which starts programs, on a busy machine, in ms. */
const FIXTURE_MS_MAX = 300_000;

/** Blocks of all pages together, at least. Less means that they were not found. */
const BLOCKS_MIN = 50;

const ended: (() => void | Promise<void>)[] = [];
let tried: readonly TriedBlock[] | null = null;
let problem: string | null = null;

/** A network and mounts of its own. Needs root, or user namespaces, and `ip`. */
async function inside(
  command: string,
): Promise<{ readonly status: number | null; readonly stdout: string; readonly stderr: string }> {
  const child = spawn(
    'unshare',
    [process.getuid?.() === 0 ? '-nm' : '-rnm', 'sh', '-c', `ip link set lo up && ${command}`],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  ended.push(() => {
    child.kill();
  });
  const [[status], stdout, stderr] = await Promise.all([
    once(child, 'close') as Promise<[number | null]>,
    text(child.stdout),
    text(child.stderr),
  ]);
  return { status, stdout, stderr };
}

ava.before(async (t) => {
  t.timeout(hangAfter(FIXTURE_MS_MAX));
  const network = await inside('ip link add a0 type veth peer name b0');
  if (network.status !== 0) {
    problem = network.stderr.trim();
    return;
  }
  const connection = await createDatabase({
    teardown: (task) => {
      ended.unshift(task);
    },
  });
  const { stdout, stderr } = await inside(
    `exec '${process.execPath}' '${import.meta.dirname}/guide-program.ts' '${JSON.stringify(connection)}'`,
  );
  if (stdout === '') throw new Error(stderr);
  tried = JSON.parse(stdout) as readonly TriedBlock[];
});

ava.after.always(async () => {
  for (const task of ended.toReversed()) await task();
});

for (const path of [
  '/',
  '/guide/clusters',
  '/guide/nodes',
  '/guide/commands',
  '/guide/proxy',
  '/guide/ssh',
  '/guide/metrics',
  '/guide/events',
]) {
  test(`every command of ${path} works when it is pasted, and prints what the page says`, (t) => {
    t.pass();
    if (tried === null) return t.log(`left out, for want of networks of its own (unshare, ip, veth): ${problem}`);
    for (const { commands, prints, lasts, untested, pasted } of tried.filter((block) => block.path === path)) {
      if (pasted === null) {
        t.truthy(untested, commands);
        t.log(`not tried, as ${untested}: ${commands}`);
        continue;
      }
      if (lasts === null) t.is(pasted.status, 0, `${commands}\n${pasted.printed}`);
      if (prints !== null)
        t.true(
          isPromised(prints, pasted.printed, lasts === null),
          `${commands}\npromised: ${prints}\nprinted: ${pasted.printed}`,
        );
    }
  });
}

test('the pages have their commands, and those that ask for something do so last', (t) => {
  t.pass();
  if (tried === null) return t.log(`left out: ${problem}`);
  t.true(tried.length >= BLOCKS_MIN, `${tried.length}`);
  // What is pasted after such a line would be read by it.
  for (const { commands, asks } of tried)
    t.is(/\bread -rs/u.test(commands.split('\n').at(-1) ?? ''), asks !== null, commands);
  for (const { commands } of tried)
    t.false(
      commands
        .split('\n')
        .slice(0, -1)
        .some((line) => line.includes('read -rs')),
      commands,
    );
});
