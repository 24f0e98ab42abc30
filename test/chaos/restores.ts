/** The database is set back in the midst of work: what was dumped before is restored into an empty server (C3, V4). */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { AgentProgram } from '../support/fleet/agent-program.ts';
import { openReceiver } from '../support/webhooks/receiver.ts';
import type { Scope } from '../support/scope.ts';
import { until } from '../support/until.ts';
import { prepareHolds } from './commit-hold.ts';
import { accepted, killAgents, load, type KillPoint } from './kill-points.ts';
import type { Fixture } from './fixture.ts';

/** Transactions that are counted before a dump, so that the server after it is below what is stored. */
const LEAD = 20_000;

/** Longest until events came and everything is healthy again, in ms: a webhook is tried again after some seconds. */
const TOLD_MS_MAX = 40_000;

/** What an admin says that runs on while its database is set back. */
const SET_BACK =
  'The database is not the one that it was: it was restored, set back or promoted. The admin starts anew, from its rows';

/** Settings of admins whose events are watched. */
export const RESTORE_ENV = { WEBHOOK_ALLOW_PRIVATE_IPS: 'true', WEBHOOK_RETRY_BASE_MS: '20' } as const;

/** Every way in which a database may be set back. */
export const RESTORES: readonly KillPoint[] = [
  {
    name: 'restore: the database is set back beneath an admin that runs',
    strike: (fixture) => setBack(fixture, { beneath: beneathRunning }),
  },
  {
    name: 'restore: the database is set back, and the admin starts anew',
    strike: (fixture) => setBack(fixture, { beneath: beneathKilled }),
  },
  {
    name: 'restore: the database is set back, and agents are killed meanwhile',
    strike: (fixture) => setBack(fixture, { beneath: beneathKilledAgents }),
  },
];

/** A restore, with what is done to programs around it. */
type Beneath = (fixture: Fixture, restore: () => Promise<void>) => Promise<void>;

/**
 * Dumped while an agent stands still: what is pending for it in the dump runs and is confirmed before the restore, and
 * so do commands that the dump does not have.
 */
async function setBack(fixture: Fixture, { beneath }: { readonly beneath: Beneath }): Promise<void> {
  const { fleet, restorable: postgres } = fixture;
  if (postgres === null) throw new Error('this database cannot be restored');
  const late = fleet.agents.at(-1) as AgentProgram;
  await fleet.sql(postgres.lead(LEAD));
  const loading = await load(fixture);
  late.program.pause();
  fixture.freezes += 1;
  const [waiting] = await Promise.all([accepted(fixture, 'slow'), accepted(fixture, 'quick'), ...loading]);
  if (waiting.answer !== 'stored') throw new Error('nothing waits for the agent that stands still');
  const backup = join(postgres.directory, `${fixture.restores}.backup`);
  const dumpedMs = performance.now();
  await postgres.backup(backup, fixture.encryptionKey);
  late.program.resume();
  const [lost] = await Promise.all([accepted(fixture, 'quick'), accepted(fixture, 'long')]);
  const open = 'select from command_execution where command_id = any($1) and finished_at is null';
  await until(
    'the end of what the dump has as pending',
    async () => (await fleet.sql(open, [[waiting.id, lost.id]])).length === 0,
  );
  await beneath(fixture, async () => {
    await postgres.restore(backup, fixture.encryptionKey, () => fixture.books.setBack(dumpedMs));
    await prepareHolds(postgres.connection);
    fixture.restores += 1;
  });
  await rm(backup);
  await until('a create that is stored', async () => (await fixture.create()).answer === 'stored');
}

async function beneathRunning(fixture: Fixture, restore: () => Promise<void>): Promise<void> {
  const { program } = fixture.fleet.admin();
  const from = program.output.length;
  const asked = fixture.create('slow'); // on its way, and stored or not
  await restore();
  await asked;
  await program.logged(SET_BACK, from);
  await program.logged('edge-admin is ready', from);
}

async function beneathKilled(fixture: Fixture, restore: () => Promise<void>): Promise<void> {
  await fixture.killAdmin();
  await restore();
  await fixture.fleet.admin().start();
}

/** Their ledgers are read anew from their disks. */
async function beneathKilledAgents(fixture: Fixture, restore: () => Promise<void>): Promise<void> {
  await fixture.create('slow');
  await killAgents(fixture);
  await beneathKilled(fixture, restore);
  for (const agent of fixture.fleet.agents) agent.start();
}

/**
 * A webhook that wants what ends. The returned function tells what of it never came, and what health says is wrong,
 * once all is over (V4).
 */
export async function watchEvents(scope: Scope, fixture: Fixture): Promise<() => Promise<readonly string[]>> {
  const { fleet } = fixture;
  const endpoint = (await openReceiver(scope)).endpoint();
  await fleet.rest.post('/webhooks', {
    url: endpoint.url,
    secret: 'a-secret-of-the-receiver-with-32-characters',
    subscribed_events: ['edge.command_execution.completed'],
  });
  const missing = async () => {
    const arrived = new Set(endpoint.arrivals.map(({ id }) => id));
    return (
      await fleet.sql<{ id: string }>(`select id from event where type = 'edge.command_execution.completed'`)
    ).filter(({ id }) => !arrived.has(id));
  };
  const health = () => fetch(`${fleet.admin().url}/healthz`);
  return async () => {
    const told = await until('all events', async () => (await missing()).length === 0, TOLD_MS_MAX).catch(() => false);
    const well = await until('a healthy admin', async () => (await health()).ok, TOLD_MS_MAX).catch(() => false);
    return [
      ...(told ? [] : [`V4: ${(await missing()).length} events never came to their webhook`]),
      ...(well ? [] : [`V4: health says ${await (await health()).text()}`]),
    ];
  };
}
