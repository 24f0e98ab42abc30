/**
 * A broker and an admin that are killed in the middle of the stream, while commands run: what is in JetStream
 * afterwards is all of it, in the order of each subject (V1, V3).
 */
import type { ExecutionContext } from 'ava';
import type { Envelope } from '../../actors/events.ts';
import { startNats, type NatsServer } from '../support/brokers/nats.ts';
import { missingOrDisordered, outbox, published, untilPublished } from '../support/brokers/outbox.ts';
import { column } from '../support/database/columns.ts';
import { startFleet, type Fleet } from '../support/fleet.ts';
import { peerTest } from '../support/run/peer-test.ts';
import { until } from '../support/until.ts';
import { hangAfter, scaled } from '../support/busy.ts';

const test = await peerTest('nats-server');

async function startPublishingFleet(
  t: ExecutionContext,
  server: NatsServer,
  { agents = 0, env = {} }: { readonly agents?: number; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<Fleet> {
  return startFleet(t, {
    agents,
    env: {
      EVENT_BROKER_ENABLED: 'true',
      EVENT_BROKER_ADAPTER: 'nats',
      EVENT_BROKER_NATS_JETSTREAM: 'true',
      LOG_LEVEL: 'info',
      ...server.env,
      ...env,
    },
  });
}

interface Health {
  readonly ok: boolean;
  readonly broker: string | null;
}

async function health(fleet: Fleet): Promise<Health> {
  const answer = await fetch(`${fleet.admin().url}/healthz`);
  const checks = (await answer.json()) as readonly { readonly name: string; readonly error: string | null }[];
  return { ok: answer.ok, broker: checks.find(({ name }) => name === 'event_broker')?.error ?? null };
}

test('kills of broker and admin, in turn and together, lose no event and keep the order of each subject', async (t) => {
  t.timeout(hangAfter(120_000));
  const server = await startNats(t, 'token');
  const fleet = await startPublishingFleet(t, server, { agents: 2 });
  const admin = fleet.admin();
  const asked: Promise<unknown>[] = [];
  const over = new AbortController();
  const load = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const answers = [
        fleet.rest.call('POST', '/commands', { body: { command_text: 'echo done', targeting: { type: 'all' } } }),
        fleet.rest.call('POST', '/events/test'),
      ];
      asked.push(...answers);
      await Promise.allSettled(answers); // refused while the admin is dead
    }
  };
  const loading = load();
  const more = async (): Promise<void> => {
    const before = await count(fleet);
    await until('more events', async () => (await count(fleet)) > before + 10);
  };

  await more();
  server.process().pause(); // what is published now is never confirmed
  await more(); // no command waits for a broker
  await server.kill();
  await server.start();
  await more();
  await admin.kill();
  await admin.start();
  await more();
  server.process().pause();
  await more();
  await Promise.all([server.kill(), admin.kill()]);
  await Promise.all([server.start(), admin.start()]);
  await more();
  over.abort();
  await loading;
  await until(
    'the end of all executions',
    async () => (await fleet.sql('select from command_execution where finished_at is null')).length === 0,
    60_000,
  );
  await untilPublished(fleet);

  const stored = await outbox(fleet);
  const came = await published(server);
  t.log(`${stored.length} events, ${came.length - new Set(came).size} repeats`);
  t.deepEqual([...new Set(came)].toSorted(), column(stored, 'id').toSorted());
  t.deepEqual(missingOrDisordered(stored, came), { missing: [], disordered: [] });
  await until('health', async () => (await health(fleet)).broker === null);
});

test('health shows a lost broker and its backlog; the admin logs, counts and skips stale events and sends the rest', async (t) => {
  const server = await startNats(t);
  const maxAgeSeconds = Math.ceil(scaled(3_000) / 1_000); // what is published at once must not grow so old
  const fleet = await startPublishingFleet(t, server, {
    env: { EVENT_DELIVERY_MAX_AGE_SECONDS: String(maxAgeSeconds) },
  });
  const event = () => fleet.rest.post<Envelope>('/events/test');
  const first = await event();
  await untilPublished(fleet);
  const well = await until('health', async () => {
    const now = await health(fleet);
    return now.ok && now;
  });
  t.deepEqual(well, { ok: true, broker: null });

  await server.kill();
  const old = [await event(), await event(), await event()];
  const unwell = await until('health to notice', async () => {
    const now = await health(fleet);
    return now.broker === null ? null : now;
  });
  t.deepEqual(unwell, { ok: false, broker: `the broker cannot be reached or refuses: ${old.length} events wait` });
  await until('the events to grow old', () => Date.now() > Date.parse(old.at(-1)?.time ?? '') + maxAgeSeconds * 1_000);
  await server.start();
  const young: Envelope[] = [];
  await until('the broker to be reached, with events that come all the while', async () => {
    young.push(await event()); // the back-off of the channel may be longer than an event may be old
    return (await health(fleet)).ok;
  });
  await untilPublished(fleet);

  const line = (await fleet.admin().program.logged('events were too old to be published')) as {
    readonly level: string;
    readonly events: number;
    readonly time: string;
  };
  const skipped = [...old, ...young].slice(0, line.events);
  t.is(line.level, 'warn');
  t.true(
    skipped.length >= old.length &&
      skipped.every(({ time }) => Date.parse(line.time) - Date.parse(time) >= maxAgeSeconds * 1_000),
  );
  t.deepEqual(
    await published(server),
    [first, ...[...old, ...young].slice(line.events)].map(({ id }) => id),
  );
});

async function count(fleet: Fleet): Promise<number> {
  const [row] = await fleet.sql<{ n: number }>('select count(*)::int as n from event');
  return row?.n ?? 0;
}
