/** Two admins: the one that delivers webhooks dies or freezes at it, and the other goes on (V2, O1). */
import type { Fleet } from '../support/fleet.ts';
import type { AdminProgram } from '../support/fleet/admin-program.ts';
import { until } from '../support/until.ts';
import { holdCommit, type CommitHold } from './commit-hold.ts';
import { burden } from './delivery-points.ts';
import type { Deliveries } from './deliveries.ts';
import type { KillPoint } from './kill-points.ts';

/**
 * Longest until the other admin delivers, in ms: a lease of 3 s, a look each second, and a second for the rest of the
 * way.
 */
const TAKEN_OVER_MS_MAX = 5_000;

const POINTS: readonly { readonly name: string; readonly strike: (deliveries: Deliveries) => Promise<void> }[] = [
  { name: 'the admin that delivers dies under load', strike: dies },
  {
    name: 'the admin that delivers freezes under load, and wakes when the other has done its work',
    strike: (all) => freezes(all),
  },
  {
    name: 'the admin that delivers freezes in the commit of a try, and wakes when the other has done its work',
    strike: freezesInTry,
  },
  { name: 'the admin that delivers dies, and is back before its lease has run out', strike: comesBack },
];

/** What may happen to the admin that delivers, as points of these deliveries' fixture. */
export function deliveryTakeovers(deliveries: Deliveries): readonly KillPoint[] {
  return POINTS.map(({ name, strike }) => ({ name: `webhooks: ${name}`, strike: () => strike(deliveries) }));
}

/** Names of all of them. */
export const DELIVERY_TAKEOVER_NAMES: readonly string[] = POINTS.map(({ name }) => `webhooks: ${name}`);

/** Which admin serves a channel of events now, that of webhooks unless given, and which does not. */
export async function deliverers(
  fleet: Fleet,
  channel: 'webhooks' | 'broker' = 'webhooks',
): Promise<{ readonly holder: AdminProgram; readonly other: AdminProgram }> {
  return until(
    'an admin that delivers',
    async () => {
      const [row] = await fleet.sql<{ name: string }>(
        `select a.name from event_channel c join admin a on a.id = c.admin_id where c.name = $1 and c.lease_until > clock_timestamp()`,
        [channel],
      );
      const holder = fleet.admins.find(({ name }) => name === row?.name);
      const other = fleet.admins.find(({ name }) => name !== row?.name);
      return holder === undefined || other === undefined ? null : { holder, other };
    },
    TAKEN_OVER_MS_MAX,
  );
}

async function dies(all: Deliveries): Promise<void> {
  const { holder, other } = await deliverers(all.fixture.fleet);
  const created = await burden(all, other);
  await all.fixture.killAdmin(holder);
  await Promise.all(created);
  await takenOver(all, holder);
  await delivers(all, other);
}

/**
 * Requests that may come from a frozen admin when it wakes: the one that it was just about to write when it froze. The
 * right to deliver is asked before each write, one after another, and no program can make the question and the system
 * call one.
 */
const WRITTEN_AT_ONCE = 1;

async function freezes(all: Deliveries, hold?: CommitHold): Promise<void> {
  const { holder, other } = await deliverers(all.fixture.fleet);
  const created = await burden(all, other);
  await hold?.caught;
  holder.program.pause();
  await hold?.release();
  const from = holder.program.output.length;
  let sent: number;
  try {
    await takenOver(all, holder);
    await delivers(all, other);
    await Promise.all(created);
    await all.settled(); // agents of the frozen one come back later, and make more events then
    sent = all.receiver.log.length;
  } finally {
    holder.program.resume();
  }
  await holder.program.logged('another admin publishes these events now', from);
  await delivers(all, other);
  const through = new Set(all.receiver.log.slice(0, sent).map(({ id }) => id));
  const again = all.receiver.log.slice(sent).filter(({ id }) => through.has(id));
  if (again.length > WRITTEN_AT_ONCE)
    throw new Error(
      `O1: ${again.length} requests came from an admin that does not deliver any more: ${again.map(({ path, id }) => `${path} ${id}`).join(', ')}`,
    );
}

async function freezesInTry(all: Deliveries): Promise<void> {
  await freezes(all, await holdCommit(all.fixture.postgres.connection, 'delivery-attempted'));
}

async function comesBack(all: Deliveries): Promise<void> {
  const { holder, other } = await deliverers(all.fixture.fleet);
  const created = await burden(all, other);
  await all.fixture.killAdmin(holder);
  await Promise.all(created);
  await holder.start();
  await delivers(all, other);
}

async function takenOver(all: Deliveries, from: AdminProgram): Promise<void> {
  await until(
    'another admin that delivers',
    async () => (await deliverers(all.fixture.fleet)).holder !== from,
    TAKEN_OVER_MS_MAX,
  );
}

/** Resolves when an event that is stored now has arrived. */
async function delivers(all: Deliveries, at: AdminProgram): Promise<string> {
  const event = await all.event(at);
  if (event === null) throw new Error('an event was not stored');
  await until('an event at its receiver', () => all.steady.endpoint.arrivals.some(({ id }) => id === event));
  return event;
}
