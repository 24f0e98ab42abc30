/**
 * Events by NATS, end to end: a whole admin, a real server in every way of signing in, and a reader in the raw
 * protocol.
 */
import { readFileSync } from 'node:fs';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import type { Envelope } from '../../../../actors/events.ts';
import { NATS_MODES, startNats } from '../../../support/brokers/nats.ts';
import type { NatsMessage, NatsReader } from '../../../support/brokers/nats-reader.ts';
import { COMMAND_EVENT_TYPES, startPublishingAdmin } from '../../../support/brokers/publishing-admin.ts';
import { brokerSettings } from '../../../support/brokers/settings.ts';
import { openGate } from '../../../support/gate.ts';
import { peerTest } from '../../../support/peer-test.ts';
import { until } from '../../../support/until.ts';

const { serial: test } = await peerTest('nats-server'); // serial: an admin each

/** Without repeats, as at least once is promised. */
function envelopes(messages: readonly NatsMessage[]): Envelope[] {
  return [
    ...new Map(
      messages.map(({ text }) => JSON.parse(text) as Envelope).map((envelope) => [envelope.id, envelope]),
    ).values(),
  ];
}

/** All that is in a stream, in order. */
async function stored(reader: NatsReader, stream: string): Promise<Envelope[]> {
  const info = (await reader.ask(`$JS.API.STREAM.INFO.${stream}`)) as { readonly state: { readonly messages: number } };
  const rows = await Promise.all(
    Array.from({ length: info.state.messages }, async (_, index) =>
      reader.ask(`$JS.API.STREAM.MSG.GET.${stream}`, { seq: index + 1 }),
    ),
  );
  return rows.map(
    (row) => JSON.parse(Buffer.from((row['message'] as { data: string }).data, 'base64').toString()) as Envelope,
  );
}

for (const mode of NATS_MODES) {
  test(`signed in by ${mode}, the admin publishes what happens under its type`, async (t) => {
    const server = await startNats(t, mode);
    const reader = await server.read('edge.>');
    if (server.certificates)
      setDefaultCACertificates([...getCACertificates('default'), readFileSync(server.certificates.ca, 'utf8')]);
    const admin = await startPublishingAdmin(t, 'nats', {
      ...server.env,
      EVENT_BROKER_NATS_JETSTREAM: String(mode !== 'none'),
    });

    const [event] = await admin.testEvents(1);
    const execution = await admin.command();

    const told = await until('the end of the execution', () => {
      const seen = envelopes(reader.messages).filter(({ data }) => data['command_execution_id'] === execution.id);
      return seen.length >= COMMAND_EVENT_TYPES.length ? seen : null;
    });
    t.deepEqual(
      told.map(({ type }) => type),
      [...COMMAND_EVENT_TYPES],
    );
    t.deepEqual(
      envelopes(reader.messages).find(({ id }) => id === event?.id),
      event,
    );
    t.deepEqual(
      reader.messages.map(({ subject }) => subject),
      reader.messages.map(({ text }) => (JSON.parse(text) as Envelope).type),
    );
    t.is(await admin.brokerProblem(), null);
  });
}

test('a server that is killed while events flow has them all in its stream afterwards, once each and in order', async (t) => {
  const server = await startNats(t, 'token');
  const admin = await startPublishingAdmin(t, 'nats', { ...server.env, EVENT_BROKER_NATS_JETSTREAM: 'true' });
  const events = [...(await admin.testEvents(30))];
  const flowing = admin.testEvents(150);

  await server.kill();
  await until('the admin to notice', async () => (await admin.brokerProblem()) !== null);
  await server.start();
  events.push(...(await flowing), ...(await admin.testEvents(20)));

  const reader = await server.read();
  await until('all events', async () => (await stored(reader, 'EDGE_CORE_EVENTS')).length >= events.length);
  t.deepEqual(
    (await stored(reader, 'EDGE_CORE_EVENTS')).map(({ id }) => id),
    events.map(({ id }) => id),
  );
  await until('health', async () => (await admin.brokerProblem()) === null);
});

test('without JetStream, what happens while the server is away reaches who is there when it is back, in order', async (t) => {
  const server = await startNats(t, 'user');
  const gate = await openGate(t, server.port);
  const admin = await startPublishingAdmin(t, 'nats', {
    ...server.env,
    EVENT_BROKER_NATS_URLS: `nats://127.0.0.1:${gate.port}`,
  });
  const before = await server.read('edge.>');
  const first = await admin.testEvents(5);
  await until('the first events', () => before.messages.length >= first.length);

  gate.shut();
  await server.kill();
  const later = await admin.testEvents(40);
  t.regex(
    await until('the admin to notice', async () => admin.brokerProblem()),
    /^the broker cannot be reached: \d+ events wait$/u,
  );
  await server.start();
  const after = await server.read('edge.>');
  gate.open();

  await until('the later events', () => envelopes(after.messages).length >= later.length);
  t.deepEqual(envelopes(after.messages), [...later]);
});

test('a wrong credential delays no command, is told once by the name of its setting, and is in no log line', async (t) => {
  const server = await startNats(t, 'token');
  const admin = await startPublishingAdmin(t, 'nats', { ...server.env, ...server.wrong?.env });

  await admin.testEvents(1);
  const execution = await admin.command();
  const line = await admin.log.seen(/events cannot be published now/u);

  t.is(execution.status, 'completed');
  t.like(line, {
    level: 'warn',
    fields: { error: `NATS at 127.0.0.1:${server.port} cannot be used: it refuses EVENT_BROKER_NATS_TOKEN.` },
  });
  t.false(JSON.stringify(admin.log.lines).includes(server.wrong?.secret ?? ''));
  t.regex((await admin.brokerProblem()) ?? '', /^the broker cannot be reached: \d+ events wait$/u);
});

test('wrong settings stop the start, with a line that names each', (t) => {
  const URLS = { EVENT_BROKER_NATS_URLS: 'nats://127.0.0.1:4222' };
  const problem = (env: Readonly<Record<string, string>>): string =>
    t.throws(() => brokerSettings('nats', env)).message;

  t.regex(problem({}), /^EVENT_BROKER_NATS_URLS is not set: /u);
  t.regex(
    problem({ EVENT_BROKER_NATS_URLS: 'http://127.0.0.1:4222' }),
    /^EVENT_BROKER_NATS_URLS is "http:\/\/127\.0\.0\.1:4222": it should be .* nats:\/\/ or tls:\/\//u,
  );
  t.regex(
    problem({ EVENT_BROKER_NATS_URLS: 'nats://edge:word@127.0.0.1:4222' }),
    /^EVENT_BROKER_NATS_URLS holds credentials: they should be in EVENT_BROKER_NATS_USERNAME and EVENT_BROKER_NATS_PASSWORD$/u,
  );
  t.regex(problem({ ...URLS, EVENT_BROKER_NATS_USERNAME: 'edge' }), /^EVENT_BROKER_NATS_PASSWORD is not set: /u);
  t.regex(
    problem({ ...URLS, EVENT_BROKER_NATS_NKEY_SEED: 'not-a-seed' }),
    /^EVENT_BROKER_NATS_NKEY_SEED .*58 characters that begin with SU/u,
  );
  t.regex(
    problem({ ...URLS, EVENT_BROKER_NATS_NKEY_SEED: `SU${'A'.repeat(56)}` }),
    /^EVENT_BROKER_NATS_NKEY_SEED .*the last of them a checksum/u,
  );
  t.regex(
    problem({ ...URLS, EVENT_BROKER_NATS_JWT: 'a.b.c' }),
    /^EVENT_BROKER_NATS_NKEY_SEED is not set: with EVENT_BROKER_NATS_JWT/u,
  );
});
