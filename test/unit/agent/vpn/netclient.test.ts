/**
 * Orders to run Netmaker's client. The client is a script that writes down how it was called: the real one needs a
 * server, and root.
 */
import test, { type ExecutionContext } from 'ava';
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { v7 } from 'uuid';
import { NETMAKER_FILE } from '../../../../agent/data-directory.ts';
import { createNetclient, leaveNetmaker, PROBLEM_MS_MAX } from '../../../../agent/vpn/netclient.ts';
import type { NodeId } from '../../../../transport/protocol/ids.ts';
import { createFakeClock } from '../../../support/fake-clock.ts';
import { until } from '../../../support/until.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const TOKEN = 'dG9rZW4tY2FuYXJ5LW9mLXRoaXMtdGVzdA==';

async function open(t: ExecutionContext, script: string | null = 'exit 0') {
  const directory = temporaryDirectory(t);
  const calls = join(directory, 'calls');
  await writeFile(calls, '');
  if (script !== null) {
    await writeFile(join(directory, 'netclient'), `#!/bin/sh\necho "$@" >> ${calls}\n${script}\n`);
    await chmod(join(directory, 'netclient'), 0o755);
  }
  const lines: string[] = [];
  const write = (fields: object, message: string): void => void lines.push(`${message} ${JSON.stringify(fields)}`);
  const log = { debug: write, info: write, warn: write, error: write };
  const clock = createFakeClock();
  const env = { PATH: directory };
  const node = v7() as NodeId;
  const start = () => {
    const netclient = createNetclient({ node, directory, clock, log, env });
    t.teardown(() => netclient.close());
    return netclient;
  };
  return {
    directory,
    env,
    log,
    lines,
    clock,
    node,
    start,
    netclient: start(),
    calls: async () => (await readFile(calls, 'utf8')).split('\n').filter((line) => line !== ''),
  };
}

const order = (network: string, token = TOKEN) => ({ seq: 1, type: 'netmaker-join', network, token }) as const;

test('an order runs the client once, under the name by which the admin knows the host', async (t) => {
  const { netclient, calls, node, lines, clock } = await open(t);

  netclient.told(order('cluster-one'));
  netclient.told(order('cluster-one'));
  await until('the join', () => lines.some((line) => line.includes('cluster-one')));
  clock.pass(60_000);
  netclient.told(order('cluster-one'));
  await netclient.close();

  t.deepEqual(await calls(), [`join -t ${TOKEN} -o node-${node}`]);
  t.is(netclient.note(), null);
});

test('a move to another network leaves the first one, also after a restart of the agent', async (t) => {
  const { start, netclient, calls, node, lines } = await open(t);
  netclient.told(order('cluster-one'));
  await until('the join', () => lines.some((line) => line.includes('cluster-one')));
  await netclient.close();

  start().told(order('cluster-other'));
  await until('the second join', () => lines.some((line) => line.includes('cluster-other')));

  t.deepEqual(await calls(), [
    `join -t ${TOKEN} -o node-${node}`,
    'leave cluster-one',
    `join -t ${TOKEN} -o node-${node}`,
  ]);
});

test('a machine without the client says so in one sentence, and joins when it was installed', async (t) => {
  const { directory, netclient, lines } = await open(t, null);

  netclient.told(order('cluster-one'));
  await until('the sentence', () => netclient.note());
  t.is(netclient.note(), 'This machine joins no VPN: netclient, by which Netmaker lets machines in, is not installed.');
  await writeFile(join(directory, 'netclient'), '#!/bin/sh\nexit 0\n');
  await chmod(join(directory, 'netclient'), 0o755);
  netclient.told(order('cluster-one'));
  await until('the join', () => lines.some((line) => line.includes('has asked Netmaker')));

  t.is(netclient.note(), null);
  t.is(lines.filter((line) => line.includes('does not join')).length, 1);
});

test('what a failing client says is told without the token and addresses', async (t) => {
  const { netclient, lines } = await open(t, 'echo "bad token $3 from 100.64.0.7 and fd00:1::7" >&2; exit 3');

  netclient.told(order('cluster-one'));
  await until('the sentence', () => netclient.note());

  t.is(netclient.note(), 'This machine joins no VPN: netclient failed (3): bad token … from … and ….');
  t.false(lines.join('\n').includes(TOKEN));
});

test('a netclient that failed but joined is no problem once the admin stops asking, and leaves with the agent', async (t) => {
  const { directory, env, log, netclient, calls, clock } = await open(t, '[ "$1" = leave ]');
  netclient.told(order('cluster-one'));
  await until('the sentence', () => netclient.note());

  clock.pass(PROBLEM_MS_MAX - 1);
  t.is(netclient.note(), 'This machine joins no VPN: netclient failed (1).');
  clock.pass(1);
  t.is(netclient.note(), null);
  await leaveNetmaker(directory, 'one', log, env);

  t.deepEqual((await calls()).slice(1), ['leave cluster-one']);
});

test('a move whose joins fail leaves the former network each time, until another is entered', async (t) => {
  const { directory, netclient, calls, node, lines, clock } = await open(t, '[ ! -e "${0%/*}/broken" ]');
  const broken = join(directory, 'broken');
  netclient.told(order('cluster-a'));
  await until('the join', () => lines.some((line) => line.includes('cluster-a')));
  await writeFile(broken, '');

  for (const token of ['one', 'two', 'three']) {
    netclient.told(order('cluster-b', token));
    await until('the join', async () => (await calls()).some((call) => call.includes(`-t ${token} `)));
    clock.pass(60_000);
  }
  await until('the sentence', () => netclient.note());
  await rm(broken);
  netclient.told(order('cluster-b', 'four'));
  await until('the join', () => lines.some((line) => line.includes('cluster-b')));
  netclient.told(order('cluster-b', 'five'));
  await until('the last', async () => (await calls()).some((call) => call.includes('-t five ')));

  const joins = (token: string) => `join -t ${token} -o node-${node}`;
  t.deepEqual(await calls(), [
    joins(TOKEN),
    ...['one', 'two', 'three', 'four'].flatMap((token) => ['leave cluster-a', joins(token)]),
    joins('five'),
  ]);
});

test('a network whose join failed is left as well when the machine is asked into another: it may have entered', async (t) => {
  const { directory, netclient, calls, lines } = await open(t, '[ "$1" = leave ] || [ ! -e "${0%/*}/broken" ]');
  const broken = join(directory, 'broken');
  netclient.told(order('cluster-a'));
  await until('the join', () => lines.some((line) => line.includes('cluster-a')));
  await writeFile(broken, '');
  netclient.told(order('cluster-b'));
  await until('the sentence', () => netclient.note());
  await rm(broken);

  netclient.told(order('cluster-c'));
  await until('the next join', () => lines.some((line) => line.includes('cluster-c')));

  t.deepEqual(
    (await calls()).filter((call) => call.startsWith('leave')),
    ['leave cluster-a', 'leave cluster-b'],
  );
});

test('an agent that is stopped while it leaves the former network leaves it with its next order', async (t) => {
  const script = '[ "$1" != leave ] || [ -e "${0%/*}/fast" ] || exec sleep 600';
  const { directory, start, netclient, calls, node, lines } = await open(t, script);
  netclient.told(order('cluster-a'));
  await until('the join', () => lines.some((line) => line.includes('cluster-a')));
  netclient.told(order('cluster-b'));
  await until('the leave', async () => (await calls()).includes('leave cluster-a'));

  await netclient.close();
  await writeFile(join(directory, 'fast'), '');
  start().told(order('cluster-b'));
  await until('the join', () => lines.some((line) => line.includes('cluster-b')));

  const joins = `join -t ${TOKEN} -o node-${node}`;
  t.deepEqual(await calls(), [joins, 'leave cluster-a', 'leave cluster-a', joins]);
});

test('a network that cannot be noted is told once, however often the machine is asked in', async (t) => {
  const { directory, netclient, calls, lines } = await open(t, 'exit 1');
  await mkdir(join(directory, NETMAKER_FILE)); // where nothing can be written, as with a full disk

  for (const token of ['one', 'two', 'three']) {
    netclient.told(order('cluster-a', token));
    await until('the join', async () => (await calls()).some((call) => call.includes(`-t ${token} `)));
  }
  await netclient.close();

  t.is(lines.filter((line) => line.includes('could not be noted')).length, 1);
});

test('leaving the agent leaves its network, once', async (t) => {
  const { directory, env, log, netclient, calls, lines, node } = await open(t);
  netclient.told(order('cluster-one'));
  await until('the join', () => lines.some((line) => line.includes('cluster-one')));

  await leaveNetmaker(directory, 'one', log, env);
  await leaveNetmaker(directory, 'one', log, env);

  t.deepEqual(await calls(), [`join -t ${TOKEN} -o node-${node}`, 'leave cluster-one']);
});

test('leaving the agent also leaves the network of its new cluster, without a warning if the old one is left already', async (t) => {
  const { directory, env, log, netclient, calls, lines } = await open(t, '[ "$2" != cluster-one ]');
  netclient.told(order('cluster-one'));
  await until('the join', () => lines.some((line) => line.includes('cluster-one')));
  lines.length = 0;

  await leaveNetmaker(directory, 'other', log, env);

  t.deepEqual((await calls()).slice(1), ['leave cluster-one', 'leave cluster-other']);
  t.deepEqual(lines, [
    'netclient did not leave the network that this machine was in before {"problem":"netclient failed (1)."}',
  ]);
});

test('an agent that never entered a network leaves none', async (t) => {
  const { directory, env, log, calls } = await open(t);

  await leaveNetmaker(directory, 'one', log, env);

  t.deepEqual(await calls(), []);
});

test('a client that the system does not start is told without its token, and ends nothing', async (t) => {
  const { netclient, lines } = await open(t);

  netclient.told(order('cluster-one', `${TOKEN}\0`));
  await until('the sentence', () => netclient.note());
  t.is(netclient.note(), 'This machine joins no VPN: netclient failed (ERR_INVALID_ARG_VALUE).');
  netclient.told(order('cluster-one'));
  await until('the join', () => lines.some((line) => line.includes('has asked Netmaker')));

  t.is(netclient.note(), null);
  t.false(lines.join('\n').includes(TOKEN));
});
