/**
 * The admin that gives a cluster is killed at each step of the hand-over: one owner soon, nothing lost, nothing twice.
 */
import { readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import test from 'ava';
import { hangAfter } from '../../support/busy.ts';
import { createDatabase } from '../../support/database/database.ts';
import { FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import { ownership } from '../../support/fleet/ownership.ts';
import { restClient } from '../../support/fleet/rest.ts';
import { listening } from '../../support/net/listening.ts';
import type { Scope } from '../../support/scope.ts';
import type { TestConnection } from '../../support/database/server.ts';
import { until } from '../../support/until.ts';

const TEST_MS_MAX = 180_000;

/** Statements of the transaction, each by words that no other statement of it has, in their order. */
const STATEMENTS = {
  begin: 'set local lock_timeout = 500; set local statement_timeout = 1000',
  'lock of the rows': 'on v.id = o.cluster_id and v.epoch = o.epoch',
  'change of the owner': 'with receiver as (',
  commit: 'commit',
} as const;

type Statement = keyof typeof STATEMENTS;

/** Where the giver is killed: a statement that the database never gets, or has answered to nobody. */
interface Moment {
  readonly at: Statement;
  readonly when: 'before' | 'after';
}

/**
 * One in each stretch: nothing is locked, rows are, the owner is changed, all is said, and it is done and not heard of.
 */
const MOMENTS: readonly Moment[] = [
  { at: 'begin', when: 'before' },
  { at: 'lock of the rows', when: 'after' },
  { at: 'change of the owner', when: 'after' },
  { at: 'commit', when: 'before' },
  { at: 'commit', when: 'after' },
];

/** A way to the database that kills who comes by it at one moment of a hand-over. */
async function deadlyWay(t: Scope, { host, port }: TestConnection) {
  const armed: { moment: Moment | null; kill: () => void } = { moment: null, kill: () => undefined };
  const sockets = new Set<{ destroy(): unknown }>();
  const listener = createServer({ noDelay: true }, (near) => {
    const far = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect({ host, port, noDelay: true });
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => {}).on('close', () => (near.destroy(), far.destroy()));
    }
    /** Whether this connection is in the transaction, and whether an answer is waited for that nobody is to get. */
    let [isInside, isOver] = [false, false];
    near.on('data', (bytes) => {
      const { moment } = armed;
      if (moment === null) return void far.write(bytes);
      const text = bytes.toString('latin1');
      isInside ||= text.includes(STATEMENTS.begin);
      const isThis = isInside && text.includes(STATEMENTS[moment.at]);
      if (isThis && moment.when === 'before') return armed.kill();
      isOver ||= isThis;
      far.write(bytes);
    });
    far.on('data', (bytes) => {
      if (isOver) armed.kill();
      else near.write(bytes);
    });
  });
  const own = await listening(t, listener);
  t.teardown(() => sockets.forEach((socket) => socket.destroy()));
  return { port: own, armed };
}

/** A command runs on the agent once: what the ledger has then. */
async function ran(fleet: Fleet, url: string): Promise<readonly string[]> {
  const ledger = join(fleet.directory, 'ledger');
  const rest = restClient(() => url, FLEET_KEYS.MASTER_KEY);
  const { id } = await rest.post<{ id: string }>('/commands', {
    command_text: `echo "$EDGE_EXECUTION_ID" >>${ledger}`,
    targeting: { type: 'all' },
  });
  const finished = 'select 1 from command_execution where command_id = $1 and finished_at is not null';
  await until('the result', async () => (await fleet.sql(finished, [id]))[0], 60_000);
  return readFileSync(ledger, 'utf8').split('\n').filter(Boolean);
}

test('after a kill in any part of a hand-over one owner follows under a higher epoch, and each command runs once', async (t) => {
  t.timeout(hangAfter(TEST_MS_MAX));
  const connection = await createDatabase(t);
  const ways = new Map<string, Awaited<ReturnType<typeof deadlyWay>>>();
  for (const name of ['admin-1', 'admin-2']) ways.set(name, await deadlyWay(t, connection));
  const fleet = await startFleet(t, {
    admins: 2,
    agents: 1,
    connection,
    envOf: (name) => ({
      DATABASE_URL: `postgresql://${connection.user}@127.0.0.1:${ways.get(name)?.port}/${connection.database}?sslmode=disable`,
    }),
  });
  let commands = 0;

  for (const moment of MOMENTS) {
    const { owner, other, epoch } = await ownership(fleet);
    const { armed } = ways.get(owner.name)!;
    armed.kill = () => owner.program.kill();
    armed.moment = moment;
    await fleet.sql('update admin_identity set draining_since = clock_timestamp() where name = $1', [owner.name]);
    await owner.program.ended();
    armed.moment = null;

    const next = await until(`another owner after a kill ${moment.when} ${moment.at}`, async () => {
      const now = await fleet.owner();
      return now?.admin === other ? now : null;
    });
    commands += 1;
    const lines = await ran(fleet, other.url);

    t.true(next.epoch > epoch, `${moment.when} ${moment.at}`);
    t.is(lines.length, commands, `${moment.when} ${moment.at}`);
    t.is(new Set(lines).size, commands, `${moment.when} ${moment.at}`);
    await fleet.sql('update admin_identity set draining_since = null');
    await owner.start();
  }
});
