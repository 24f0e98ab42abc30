/**
 * The whole round of a lost database server (C3, V4): dumped under load, gone, restored into an empty one that counts
 * transactions from below, and the same agents, webhook, feed and broker go on.
 */
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExecutionContext } from 'ava';
import type { Envelope } from '../../../actors/events.ts';
import type { CommandResource } from '../../../actors/resources/command.ts';
import { socketClient } from '../../support/api/trpc-clients.ts';
import { startNats } from '../../support/brokers/nats.ts';
import { FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import { settledAnswer } from '../../support/fleet/rest.ts';
import { startMovableServer } from '../../support/database/movable-server.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { openReceiver } from '../../support/webhooks/receiver.ts';
import { until } from '../../support/until.ts';
import { hangAfter } from '../../support/busy.ts';

const test = await peerTest('nats-server');

const ENCRYPTION_KEY = randomBytes(32).toString('base64');

/** Transactions that the first server counts before anything is stored, so that the second one is far below. */
const LEAD = 30_000;

/** What every script that started wrote: its execution. */
async function started(fleet: Fleet): Promise<readonly string[]> {
  return (await readFile(join(fleet.directory, 'ledger'), 'utf8').catch(() => ''))
    .split('\n')
    .filter((line) => line !== '');
}

/** The executions of these commands whose scripts did not start, each with its node, and as it is stored. */
async function unstarted(fleet: Fleet, commands: readonly CommandResource[]): Promise<readonly string[]> {
  const ran = new Set(await started(fleet));
  const rows = await fleet.sql<{ id: string; node_id: string; status: string }>(
    'select id, node_id, status from command_execution where command_id = any($1)',
    [commands.map(({ id }) => id)],
  );
  return rows.filter(({ id }) => !ran.has(id)).map(({ id, node_id: node, status }) => `${id} on ${node}: ${status}`);
}

/** Commands, one after another, until told to stop. */
interface Load {
  /** Those that were answered with 201. */
  readonly created: readonly CommandResource[];
  /** Waits as `until`, and no longer than commands are taken: rejects with the failure of the one that was not. */
  until(what: string, look: () => Promise<boolean> | boolean): Promise<void>;
  stop(): Promise<void>;
}

function load(fleet: Fleet): Load {
  const created: CommandResource[] = [];
  const over = new AbortController();
  const running = (async () => {
    while (!over.signal.aborted)
      created.push(await fleet.run(`echo "$EDGE_EXECUTION_ID" >> ${join(fleet.directory, 'ledger')}; sleep 0.3`));
  })();
  running.catch(() => {}); // whoever waits is told
  return {
    created,
    until: async (what, look) => {
      await Promise.race([until(what, look), running]);
    },
    stop: () => {
      over.abort();
      return running;
    },
  };
}

/** A client of `events.watch` that goes on from the last id that it saw. */
function watching(t: ExecutionContext, url: string) {
  const seen: Envelope[] = [];
  let lastEventId: string | null = null;
  let end: (() => void) | null = null;
  t.teardown(() => end?.());
  return {
    seen,
    get lastEventId() {
      return lastEventId;
    },
    leave(): void {
      end?.();
      end = null;
    },
    join(): Promise<void> {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const client = socketClient(t, url, FLEET_KEYS.API_KEY);
      const subscription = client.events.watch.subscribe(
        { lastEventId: lastEventId ?? undefined },
        {
          onData({ id, data }) {
            lastEventId = id;
            if (data.type === 'started') resolve();
            else seen.push(...data.events);
          },
          onError: reject,
        },
      );
      end = () => subscription.unsubscribe();
      return promise;
    },
  };
}

/** Resolves when something came of each of these commands' executions, in its end. */
async function completed(
  what: string,
  envelopes: () => readonly Envelope[],
  executions: readonly string[],
): Promise<void> {
  await until(
    `${what} to tell of ${executions.length} ends`,
    () => {
      const told = new Set(
        envelopes()
          .filter(({ type }) => type === 'edge.command_execution.completed')
          .map(({ data }) => data['command_execution_id']),
      );
      return executions.every((id) => told.has(id));
    },
    40_000,
  );
}

test('a database dumped under load and restored elsewhere goes on: nothing is lost or run twice, and events flow', async (t) => {
  t.timeout(hangAfter(180_000));
  const place = await startMovableServer(t);
  const backup = join(place.directory, 'edge.backup');
  const nats = await startNats(t, 'token');
  const receiver = await openReceiver(t);
  const endpoint = receiver.endpoint();
  const fleet = await startFleet(t, {
    agents: 2,
    connection: place.connection,
    env: {
      ENCRYPTION_KEY,
      WEBHOOK_ALLOW_PRIVATE_IPS: 'true',
      EVENT_BROKER_ENABLED: 'true',
      EVENT_BROKER_ADAPTER: 'nats',
      EVENT_BROKER_NATS_JETSTREAM: 'true',
      LOG_LEVEL: 'info',
      ...nats.env,
    },
  });
  const [admin] = fleet.admins;
  await fleet.sql(place.lead(LEAD));
  await fleet.rest.post('/webhooks', {
    url: endpoint.url,
    secret: 'a-secret-of-the-receiver-with-32-characters',
    subscribed_events: ['edge.command_execution.completed'],
  });
  const reader = await nats.read('edge.>');
  const atBroker = (): readonly Envelope[] => reader.messages.map(({ text }) => JSON.parse(text) as Envelope);
  const atWebhook = (): readonly Envelope[] => endpoint.arrivals.map(({ body }) => JSON.parse(body) as Envelope);
  const feed = watching(t, admin?.url ?? '');
  await feed.join();

  const before = load(fleet);
  await before.until('some ends', async () => (await started(fleet)).length >= 8);
  const [, late] = fleet.agents;
  late?.program.pause(); // what is created for it now is pending in the dump, and done soon after
  const pendingFrom = before.created.length;
  await before.until('executions that wait', () => before.created.length >= pendingFrom + 3);
  const dumpedFrom = before.created.length;
  await place.backup(backup, ENCRYPTION_KEY);
  late?.program.resume();
  await before.until('more that no dump has, and all that was pending', async () => {
    const missing = await unstarted(fleet, before.created.slice(0, dumpedFrom + 4));
    if (missing.length > 0) throw new Error(`not started, of ${before.created.length} commands: ${missing.join(', ')}`);
    return before.created.length >= dumpedFrom + 4;
  });
  await before.stop();
  feed.leave();
  await admin?.kill();
  const ranBefore = await started(fleet);
  await place.restore(backup, ENCRYPTION_KEY);
  await admin?.start().catch((error: unknown) => {
    throw new Error(admin.program.output.slice(-3_000), { cause: error });
  });
  await Promise.all(fleet.agents.map((agent) => fleet.reaches(agent, 'healthy')));

  await feed.join();
  const after = [
    await fleet.run(`echo "$EDGE_EXECUTION_ID" >> ${join(fleet.directory, 'ledger')}`),
    await fleet.run('true'),
  ];
  const ends: string[] = [];
  for (const command of after) ends.push(...(await fleet.settled(command)).map(({ id }) => id));
  t.is(ends.length, 4);
  await until(
    'the end of all executions',
    async () => (await fleet.sql('select from command_execution where finished_at is null')).length === 0,
    40_000,
  );

  const known = new Set((await fleet.sql<{ id: string }>('select id from command')).map(({ id }) => id));
  t.deepEqual(
    before.created.slice(0, dumpedFrom).filter(({ id }) => !known.has(id)),
    [],
    'what was acknowledged before the dump is there',
  );
  const ran = await started(fleet);
  t.deepEqual(
    ran.filter((id, index) => ran.indexOf(id) !== index),
    [],
    'nothing ran twice',
  );
  t.log(
    `${ranBefore.length} scripts before, ${ran.length - ranBefore.length} after the restore; ${before.created.length} commands, of which ${known.size - after.length} are in the dump`,
  );
  const all = (await fleet.sql<{ id: string }>(`select id from command_execution where status = 'completed'`)).map(
    ({ id }) => id,
  );
  await completed('the webhook', atWebhook, all);
  await completed('the broker', atBroker, all);
  await completed('the feed', () => feed.seen, all);
  await until('health', async () => (await fetch(`${admin?.url}/healthz`)).status === 200);
});

test('an admin whose database is restored beneath it starts anew by itself, and its events go on', async (t) => {
  t.timeout(hangAfter(120_000));
  const place = await startMovableServer(t);
  const backup = join(place.directory, 'edge.backup');
  const fleet = await startFleet(t, {
    agents: 1,
    connection: place.connection,
    env: { ENCRYPTION_KEY, LOG_LEVEL: 'info' },
  });
  const [admin] = fleet.admins;
  await fleet.sql(place.lead(LEAD));
  await fleet.settled(await fleet.run('true'));
  const gate = join(fleet.directory, 'gate');
  // sent in the dump, and ended soon after
  const running = await fleet.run(`until [ -e '${gate}' ]; do sleep 0.1; done; echo done; exit 7`);
  await fleet.settled(running, ([one]) => one?.status === 'sent');
  await place.backup(backup, ENCRYPTION_KEY);
  await writeFile(gate, '');
  t.like((await fleet.settled(running))[0], { status: 'completed', exit_code: 7 });
  const feed = watching(t, admin?.url ?? '');
  await feed.join();
  const forgotten = await fleet.run('true');
  await fleet.settled(forgotten);
  feed.leave();
  const from = admin?.program.output.length ?? 0;

  await place.restore(backup, ENCRYPTION_KEY);
  await admin?.program.logged(
    'The database is not the one that it was: it was restored, set back or promoted. The admin starts anew, from its rows',
    from,
  );
  await admin?.program.logged('edge-admin is ready', from);
  await Promise.all(fleet.agents.map((agent) => fleet.reaches(agent, 'healthy')));

  t.is((await settledAnswer(() => fleet.rest.call('GET', `/commands/${forgotten.id}`))).status, 404);
  const [recalled] = await fleet.settled(running);
  t.like(recalled, { status: 'completed', exit_code: 7 });
  t.regex(recalled?.output ?? '', /ended on this machine before.*it had 5 bytes/u);
  await feed.join();
  const ends = (await fleet.settled(await fleet.run('true'))).map(({ id, status }) => [id, status]);
  t.deepEqual(
    ends.map(([, status]) => status),
    ['completed'],
  );
  await completed(
    'the feed',
    () => feed.seen,
    ends.map(([id]) => String(id)),
  );
});
