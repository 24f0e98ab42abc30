/** Logins over SSH as a whole: who must stay outside, who must leave, and what happens while the admin is away. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import ava from 'ava';
import ssh2 from 'ssh2';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { forgedAgent } from './ssh/raw-client.ts';
import { askpass } from '../../support/agent/ssh-fixture.ts';
import { DRAIN_MS_MAX } from '../../../transport/proxies/limits.ts';
import { BUSY_MS, patient } from '../../support/busy.ts';
import { freePort } from '../../support/free-ports.ts';
import { peerTest } from '../../support/peer-test.ts';
import { createScope } from '../../support/scope.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { until } from '../../support/until.ts';
import { target } from '../../support/tunnels-fixture.ts';
import {
  adminOf,
  agentOf,
  allow,
  closedAfterMs,
  keyPair,
  runClient,
  sshWords,
  startClient,
  streamThrough,
  through,
  type Login,
} from '../../support/reach-fixture.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const test = await peerTest('ssh', 'ssh-keygen', 'ncat');
const scope = createScope();
const fleet = sharedFleet(ava, { agents: 1 });
ava.after.always('the files go', () => scope.end());

/** What is deleted ends within this, in ms. Source: docs/promises.md, E5. */
const REVOKED_MS_MAX = 1_000 + BUSY_MS;

/**
 * A login is answered within this though the admin is silent, in ms. Source: VERDICT_MS_MAX of
 * agent/access/ssh/login/admin-verdicts.ts, and a busy machine.
 */
const SILENT_MS_MAX = 15_000;

/** A busy machine is late by this, in ms. */
const SLACK_MS = 3_000;

let directory: string;
let node: NodeResource;

test.before(async () => {
  directory = temporaryDirectory(scope);
  node = await fleet().node(agentOf(fleet()));
});

const port = (): string => String(node.ssh_port);

/** Words of ssh to the machine: through the admin, or straight to the agent as from its LAN. */
const words = (key: string | null, way: 'through' | 'straight'): string[] =>
  way === 'through'
    ? [...sshWords(directory, key), ...through(adminOf(fleet())), '-p', port(), node.vpn_hostname]
    : [...sshWords(directory, key), '-p', port(), '127.0.0.1'];

const results = async (username: string): Promise<string[]> =>
  (
    await fleet().sql<{ result: string }>(
      `select data->>'result' as result from event where type = 'edge.ssh_username.verified' and data->>'username' = $1 order by txid, seq`,
      [username],
    )
  ).map(({ result }) => result);

test.serial('who shows the wrong thing stays outside, and each attempt is told by an event', async (t) => {
  const { path } = await allow(fleet(), node.id, 'ada', directory, { password: 'the right password 1' });
  const other = await keyPair(join(directory, 'other'));
  const ssh = (
    key: string | null,
    username: string,
    more: readonly string[] = [],
    environment: NodeJS.ProcessEnv = {},
  ) => runClient(t, 'ssh', ['-l', username, ...more, ...words(key, 'through'), 'echo in'], '', environment);
  const byPassword = ['-o', 'PreferredAuthentications=password', '-o', 'NumberOfPasswordPrompts=1'];

  const refused = [
    await ssh(other, 'ada'),
    await ssh(path, 'nobody-here'),
    await ssh(null, 'ada', byPassword, askpass(directory, 'the wrong password 1')),
    await ssh(null, 'ada', ['-o', 'PreferredAuthentications=none']),
  ];
  const stream = await streamThrough(adminOf(fleet()).httpProxyPort, `${node.vpn_hostname}:${port()}`);
  const forger = new ssh2.Client();
  t.teardown(() => {
    forger.destroy();
  });
  const forged = new Promise<string>((resolve) => {
    forger.once('ready', () => resolve('in')).once('error', ({ message }) => resolve(message));
  });
  forger.connect({ sock: stream, username: 'ada', agent: forgedAgent(path, other) });

  for (const { status, stdout, stderr } of refused)
    t.deepEqual([status, stdout, /Permission denied/u.test(stderr)], [255, '', true], stderr);
  t.regex(await forged, /authentication/iu);
  t.deepEqual((await ssh(path, 'ada')).stdout, 'in\n');
  await until('its event', async () => (await results('ada')).at(-1) === 'success');
  t.deepEqual(await results('ada'), ['failure', 'failure', 'failure', 'success']);
  t.deepEqual(await results('nobody-here'), ['failure']);
});

for (const what of ['username', 'key'] as const) {
  test.serial(
    `a ${what} that is deleted ends what it opened within a second, whatever way it came: a program that sleeps, and a forwarded stream`,
    async (t) => {
      const login = await allow(fleet(), node.id, `eve-${what}`, directory);
      const stays = await allow(fleet(), node.id, `sam-${what}`, directory);
      const echo = await target(t, (socket) => socket.pipe(socket));
      const clients = (['through', 'straight'] as const).map((way) =>
        startClient(t, 'ssh', ['-l', login.username, ...words(login.path, way), 'echo $$; exec sleep 1009']),
      );
      const other = startClient(t, 'ssh', ['-l', stays.username, ...words(stays.path, 'through'), 'echo begun; cat']);
      const local = await freePort();
      clients.push(
        startClient(t, 'ssh', [
          '-l',
          login.username,
          '-N',
          '-L',
          `${local}:127.0.0.1:${echo}`,
          ...words(login.path, 'through'),
        ]),
      );
      const forwarded = await until('the forward', async () => {
        const socket = connect(local, '127.0.0.1');
        await once(socket, 'connect');
        return socket;
      });
      forwarded.on('error', () => {}).write('there');
      const [[pid]] = await Promise.all([
        ...clients.slice(0, 2).map((client) => once(client.stdout, 'data') as Promise<[Buffer]>),
        once(other.stdout, 'data'),
        once(forwarded, 'data'),
      ]);

      const ends = Promise.all([forwarded.resume(), ...clients].map((one) => closedAfterMs(one)));
      const { status } = await fleet().rest.call(
        'DELETE',
        what === 'username'
          ? `/ssh_usernames/${login.resource.id}`
          : `/ssh_public_keys/${login.resource.public_keys?.[0]?.id}`,
      );
      const deletedMs = performance.now();
      await ends;
      const tookMs = performance.now() - deletedMs;
      await until('the end of the program', () => !isAlive(Number(String(pid))), REVOKED_MS_MAX);
      const again = await runClient(t, 'ssh', ['-l', login.username, ...words(login.path, 'straight'), 'echo in']);
      other.stdin.end('still here');

      t.is(status, 204);
      t.true(tookMs < patient(REVOKED_MS_MAX), `${tookMs} ms`);
      t.deepEqual([again.status, again.stdout], [255, '']);
      t.is(String((await once(other.stdout, 'data'))[0]), 'still here');
    },
  );
}

test.serial(
  'while the admin is silent nobody logs in, however often he did before, and those who are in stay',
  async (t) => {
    const login = await allow(fleet(), node.id, 'una', directory);
    const ssh = () => runClient(t, 'ssh', ['-l', 'una', ...words(login.path, 'straight'), 'echo in']);
    t.is((await ssh()).stdout, 'in\n');
    const inside = startClient(t, 'ssh', ['-l', 'una', ...words(login.path, 'straight'), 'echo begun; cat']);
    await once(inside.stdout, 'data');

    const { program } = adminOf(fleet());
    program.pause();
    t.teardown(() => {
      program.resume();
    });
    const askedMs = performance.now();
    const refused = await ssh();
    const tookMs = performance.now() - askedMs;
    inside.stdin.end('still here');
    const [said] = (await once(inside.stdout, 'data')) as [Buffer];
    program.resume();

    t.deepEqual([refused.status, refused.stdout], [255, '']);
    t.true(tookMs < patient(SILENT_MS_MAX), `${tookMs} ms`);
    t.is(String(said), 'still here');
    t.is(
      (
        await until('a login', async () => {
          const one = await ssh();
          return one.status === 0 ? one : null;
        })
      ).stdout,
      'in\n',
    );
  },
);

test.serial(
  'an admin that is killed ends what goes through it with a word, lets nobody in meanwhile, and ends what was opened with a key that is gone when it is back',
  async (t) => {
    const [kept, gone] = [
      await allow(fleet(), node.id, 'kim', directory),
      await allow(fleet(), node.id, 'gus', directory),
    ];
    const begin = (login: Login, way: 'through' | 'straight') =>
      startClient(t, 'ssh', ['-l', login.username, ...words(login.path, way), 'echo begun; cat']);
    const [over, keptIn, goneIn] = [begin(kept, 'through'), begin(kept, 'straight'), begin(gone, 'straight')];
    const clients = [over, keptIn, goneIn];
    await Promise.all(clients.map((client) => once(client.stdout, 'data')));
    const farewell = text(over);

    const overEnd = closedAfterMs(over);
    await adminOf(fleet()).kill();
    const overMs = await overEnd;
    const refused = await runClient(t, 'ssh', ['-l', 'kim', ...words(kept.path, 'straight'), 'echo in']);
    await fleet().sql('delete from ssh_public_key where ssh_username_id = $1', [gone.resource.id]);
    const goneEnd = closedAfterMs(goneIn);
    await adminOf(fleet()).start();
    await goneEnd;
    keptIn.stdin.end('still here');

    t.true(overMs < patient(5_000), `${overMs} ms`);
    t.regex(await farewell, /closed|reset|broken/iu);
    t.deepEqual([refused.status, refused.stdout], [255, '']);
    t.is(String((await once(keptIn.stdout, 'data'))[0]), 'still here');
    t.is(
      (
        await until('a login', async () => {
          const one = await runClient(t, 'ssh', ['-l', 'kim', ...words(kept.path, 'through'), 'echo in']);
          return one.status === 0 ? one : null;
        })
      ).stdout,
      'in\n',
    );
  },
);

test.serial(
  'an admin that is stopped as systemd does it gives connections a moment, and then ends them and itself',
  async (t) => {
    const login = await allow(fleet(), node.id, 'tom', directory);
    const inside = startClient(t, 'ssh', ['-l', 'tom', ...words(login.path, 'through'), 'echo begun; cat']);
    await once(inside.stdout, 'data');

    const { program } = adminOf(fleet());
    const stoppedMs = performance.now();
    program.terminate();
    const tookMs = await closedAfterMs(inside, stoppedMs);
    const exit = await program.exited;
    await adminOf(fleet()).start();

    t.true(tookMs < patient(DRAIN_MS_MAX + SLACK_MS), `${tookMs} ms`);
    t.deepEqual(exit, { code: 0, signal: null });
    t.is(
      (
        await until('a login', async () => {
          const one = await runClient(t, 'ssh', ['-l', 'tom', ...words(login.path, 'through'), 'echo in']);
          return one.status === 0 ? one : null;
        })
      ).stdout,
      'in\n',
    );
  },
);

async function text(client: ReturnType<typeof startClient>): Promise<string> {
  let said = '';
  client.stderr.on('data', (data: Buffer) => {
    said += String(data);
  });
  await once(client, 'close');
  return said;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/mu.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
