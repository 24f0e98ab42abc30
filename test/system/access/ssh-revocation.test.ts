/** Logins over SSH as a whole: who must stay outside, who must leave, and what happens while the admin is away. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import ava from 'ava';
import ssh2 from 'ssh2';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { forgedAgent } from '../../support/ssh/raw-ssh-client.ts';
import { DRAIN_MS_MAX } from '../../../transport/proxies/limits.ts';
import { BUSY_MS, scaled } from '../../support/busy.ts';
import { settledAnswer } from '../../support/fleet/rest.ts';
import { freePort } from '../../support/net/free-ports.ts';
import { freeze } from '../../support/frozen.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { lives } from '../../support/processes.ts';
import { createScope, type Scope } from '../../support/scope.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { until } from '../../support/until.ts';
import { allow, closedAfterMs, streamThrough, wordsTo } from '../../support/net/reach-fixture.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { echo } from '../../support/net/listening.ts';
import { askpass, BY_PASSWORD, keyPair, options, runClient, startClient } from '../../support/ssh/openssh.ts';

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
  node = await fleet().node();
});

type Person = Parameters<typeof wordsTo>[1];

/** Words of ssh to the machine: through the admin, or straight to the agent as from its LAN. */
const words = (who: Person, way: 'through' | 'straight'): string[] =>
  wordsTo(node, who, way === 'through' ? fleet().admin() : null);

/** A session that says so and waits. */
async function inside(t: Scope, who: Person, way: 'through' | 'straight', command = 'echo begun; cat') {
  const client = startClient(t, 'ssh', [...words(who, way), command]);
  const [said] = (await once(client.stdout, 'data')) as [Buffer];
  return { client, said: String(said) };
}

const login = (t: Scope, who: Person, way: 'through' | 'straight') =>
  runClient(t, 'ssh', [...words(who, way), 'echo in']);

/** Waits until somebody gets in. */
const getsIn = (t: Scope, who: Person, way: 'through' | 'straight') =>
  until('a login', async () => (await login(t, who, way)).stdout === 'in\n');

/** What a session still answers. */
async function answerOf({ client }: Awaited<ReturnType<typeof inside>>): Promise<string> {
  client.stdin.end('still here');
  return String((await once(client.stdout, 'data'))[0]);
}

const results = async (username: string): Promise<string[]> =>
  (
    await fleet().sql<{ result: string }>(
      `select data->>'result' as result from event where type = 'edge.ssh_username.verified' and data->>'username' = $1 order by txid, seq`,
      [username],
    )
  ).map(({ result }) => result);

test.serial('who shows the wrong thing stays outside, and each attempt is told by an event', async (t) => {
  const ada = await allow(fleet(), node.id, 'ada', directory, { password: 'the right password 1' });
  const other = await keyPair(join(directory, 'other'));
  const keyless = words({ username: 'ada', path: null }, 'through');

  const refused = [
    await login(t, { username: 'ada', path: other }, 'through'),
    await login(t, { username: 'nobody-here', path: ada.path }, 'through'),
    await runClient(t, 'ssh', [...BY_PASSWORD, ...keyless, 'echo in'], '', askpass(directory, 'the wrong password 1')),
    await runClient(t, 'ssh', [...options('PreferredAuthentications=none'), ...keyless, 'echo in']),
  ];
  const stream = await streamThrough(fleet().admin().httpProxyPort, `${node.vpn_hostname}:${node.ssh_port}`);
  const forger = new ssh2.Client();
  t.teardown(() => void forger.destroy());
  const forged = new Promise<string>((resolve) => {
    forger.once('ready', () => resolve('in')).once('error', ({ message }) => resolve(message));
  });
  forger.connect({ sock: stream, username: 'ada', agent: forgedAgent(ada.path, other) });

  for (const { status, stdout, stderr } of refused)
    t.deepEqual([status, stdout, /Permission denied/u.test(stderr)], [255, '', true], stderr);
  t.regex(await forged, /authentication/iu);
  t.deepEqual((await login(t, ada, 'through')).stdout, 'in\n');
  await until('its event', async () => (await results('ada')).at(-1) === 'success');
  t.deepEqual(await results('ada'), ['failure', 'failure', 'failure', 'success']);
  t.deepEqual(await results('nobody-here'), ['failure']);
});

for (const what of ['username', 'key'] as const) {
  test.serial(
    `a deleted ${what} ends its sleeping programs and forwarded streams within a second, through an admin or direct`,
    async (t) => {
      const eve = await allow(fleet(), node.id, `eve-${what}`, directory);
      const stays = await allow(fleet(), node.id, `sam-${what}`, directory);
      const [port, local] = [await echo(t), await freePort()];
      const ways = ['through', 'straight'] as const;
      const sleeping = await Promise.all(ways.map((way) => inside(t, eve, way, 'echo $$; exec sleep 1009')));
      const other = await inside(t, stays, 'through');
      const clients = [
        ...sleeping.map(({ client }) => client),
        startClient(t, 'ssh', ['-N', '-L', `${local}:127.0.0.1:${port}`, ...words(eve, 'through')]),
      ];
      const forwarded = await until('the forward', async () => {
        const socket = connect(local, '127.0.0.1');
        await once(socket, 'connect');
        return socket;
      });
      forwarded.on('error', () => {}).write('there');
      await once(forwarded, 'data');

      const ends = Promise.all([forwarded.resume(), ...clients].map((one) => closedAfterMs(one)));
      const path =
        what === 'username'
          ? `/ssh_usernames/${eve.resource.id}`
          : `/ssh_public_keys/${eve.resource.public_keys?.[0]?.id}`;
      const { status } = await settledAnswer(() => fleet().rest.call('DELETE', path));
      const deletedMs = performance.now();
      await ends;
      const tookMs = performance.now() - deletedMs;
      await until('the end of the program', () => !sleeping.some(({ said }) => lives(Number(said))), REVOKED_MS_MAX);
      const again = await login(t, eve, 'straight');

      t.is(status, 204);
      t.true(tookMs < scaled(REVOKED_MS_MAX), `${tookMs} ms`);
      t.deepEqual([again.status, again.stdout], [255, '']);
      t.is(await answerOf(other), 'still here');
    },
  );
}

test.serial(
  'while the admin is silent nobody logs in, however often he did before, and those who are in stay',
  async (t) => {
    const una = await allow(fleet(), node.id, 'una', directory);
    t.is((await login(t, una, 'straight')).stdout, 'in\n');
    const session = await inside(t, una, 'straight');

    const { program } = fleet().admin();
    await freeze(program);
    t.teardown(() => program.resume());
    const askedMs = performance.now();
    const refused = await login(t, una, 'straight');
    const tookMs = performance.now() - askedMs;
    const said = await answerOf(session);
    program.resume();

    t.deepEqual([refused.status, refused.stdout], [255, '']);
    t.true(tookMs < scaled(SILENT_MS_MAX), `${tookMs} ms`);
    t.is(said, 'still here');
    t.true(await getsIn(t, una, 'straight'));
  },
);

test.serial(
  'a killed admin ends its connections with a message, admits nobody, and back again ends those of gone keys',
  async (t) => {
    const [kept, gone] = [
      await allow(fleet(), node.id, 'kim', directory),
      await allow(fleet(), node.id, 'gus', directory),
    ];
    const [over, keptIn, goneIn] = [
      await inside(t, kept, 'through'),
      await inside(t, kept, 'straight'),
      await inside(t, gone, 'straight'),
    ];
    const farewell = text(over.client.stderr);

    const overEnd = closedAfterMs(over.client);
    await fleet().admin().kill();
    const overMs = await overEnd;
    const refused = await login(t, kept, 'straight');
    await fleet().sql('delete from ssh_public_key where ssh_username_id = $1', [gone.resource.id]);
    const goneEnd = closedAfterMs(goneIn.client);
    await fleet().admin().start();
    await goneEnd;

    t.true(overMs < scaled(5_000), `${overMs} ms`);
    t.regex(await farewell, /closed|reset|broken/iu);
    t.deepEqual([refused.status, refused.stdout], [255, '']);
    t.is(await answerOf(keptIn), 'still here');
    t.true(await getsIn(t, kept, 'through'));
  },
);

test.serial(
  'an admin that is stopped as systemd does it gives connections a moment, and then ends them and itself',
  async (t) => {
    const tom = await allow(fleet(), node.id, 'tom', directory);
    const { client } = await inside(t, tom, 'through');

    const { program } = fleet().admin();
    const stoppedMs = performance.now();
    program.terminate();
    const tookMs = await closedAfterMs(client, stoppedMs);
    const exit = await program.ended();
    await fleet().admin().start();

    t.true(tookMs < scaled(DRAIN_MS_MAX + SLACK_MS), `${tookMs} ms`);
    t.deepEqual(exit, { code: 0, signal: null });
    t.true(await getsIn(t, tom, 'through'));
  },
);
