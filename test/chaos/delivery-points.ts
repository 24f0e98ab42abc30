/** The moments of a delivery at which the admin or its database is killed. */
import { setTimeout as delay } from 'node:timers/promises';
import { scaled } from '../support/busy.ts';
import { answers } from '../support/webhooks/receiver.ts';
import { until } from '../support/until.ts';
import { holdCommit, holdReads, holdTable, strikeIn, type CommitHold, type Moment } from './commit-hold.ts';
import { CUT_MS_MAX } from './delivery-invariants.ts';
import type { Deliveries, Subscription } from './deliveries.ts';
import { load, type KillPoint } from './kill-points.ts';
import { BACK_MS_MAX, frozenPostgres } from './pauses.ts';

/** Longest pause of a random moment, in ms. */
const MOMENT_MS_MAX = 400;

/** How long the database or the admin is frozen, in ms: longer than the lease of a channel. */
const FREEZE_MS = 12_000;

/** Events at once, when there is to be something under way. */
const MANY = 12;

type Strike = (deliveries: Deliveries) => Promise<unknown>;

const POINTS: readonly { readonly name: string; readonly strike: Strike }[] = [
  {
    name: 'an event is stored, and its deliveries are not',
    strike: (all) => inRouting(all, table(all)),
  },
  {
    name: 'in the commit of its deliveries',
    strike: (all) => inRouting(all, commit(all, 'delivery-routed')),
  },
  { name: 'an event is stored whose transaction began after one that is still open', strike: besideOlder },
  { name: 'deliveries are stored, and not loaded', strike: (all) => behindRouting(all, 'webhook_delivery') },
  { name: 'deliveries are loaded, and their event is not read', strike: (all) => behindRouting(all, 'event') },
  { name: 'a request is on its way', strike: onItsWay },
  {
    name: 'an answer is given, and the try is not written',
    strike: (all) => dyingIn(all, table(all), () => events(all)),
  },
  {
    name: 'in the commit of a try',
    strike: (all) => dyingIn(all, commit(all, 'delivery-attempted'), () => events(all)),
  },
  { name: 'behind the commit of a try', strike: behindTry },
  { name: 'a further try waits for its time', strike: whileWaiting },
  { name: 'in the commit of a redelivery', strike: inRedelivery },
  { name: 'a redelivery is answered and on its way', strike: behindRedelivery },
  { name: 'in the commit of a webhook', strike: inCreation },
  { name: 'behind the answer to a webhook', strike: behindCreation },
  { name: 'in the commit of a deletion', strike: inDeletion },
  { name: 'behind the answer to a deletion, with requests on their way', strike: behindDeletion },
  { name: 'at any moment, under load', strike: (all) => underLoad(all, () => all.fixture.killAdmin()) },
  { name: 'PostgreSQL dies under load', strike: (all) => underLoad(all, () => all.fixture.killPostgres()) },
  {
    name: 'PostgreSQL dies in the commit of a try',
    strike: (all) =>
      strikeIn(
        commit(all, 'delivery-attempted'),
        () => events(all),
        () => all.fixture.killPostgres(),
      ),
  },
  {
    name: 'the admin and PostgreSQL die together',
    strike: (all) => underLoad(all, () => Promise.all([all.fixture.killAdmin(), all.fixture.killPostgres()])),
  },
];

/** What takes longer than a kill. */
const PAUSES: typeof POINTS = [
  { name: 'PostgreSQL is frozen for longer than a lease', strike: frozenDatabase },
  { name: 'the only admin is frozen for longer than a lease', strike: frozenAdmin },
];

/** Every point at which a kill is aimed, as points of these deliveries' fixture; and freezes amid deliveries. */
export const deliveryPoints = (deliveries: Deliveries): readonly KillPoint[] => pointsOf(POINTS, deliveries);
export const deliveryPauses = (deliveries: Deliveries): readonly KillPoint[] => pointsOf(PAUSES, deliveries);

function pointsOf(points: typeof POINTS, deliveries: Deliveries): readonly KillPoint[] {
  return points.map(({ name, strike }) => ({
    name: `webhooks: ${name}`,
    strike: async () => void (await strike(deliveries)),
  }));
}

/** Names of the kills, and of the freezes. */
export const DELIVERY_KILL_NAMES: readonly string[] = POINTS.map(({ name }) => `webhooks: ${name}`);
export const DELIVERY_PAUSE_NAMES: readonly string[] = PAUSES.map(({ name }) => `webhooks: ${name}`);

/** Events of several about one subject, and one of its own. */
async function events(all: Deliveries): Promise<void> {
  await Promise.all([all.fixture.create(), all.event()]);
}

/** The admin dies where a hold catches what is asked of it, or of the events that it stores. */
function dyingIn<T>(
  all: Deliveries,
  holding: Promise<CommitHold>,
  ask: () => Promise<T>,
  follow?: () => Promise<unknown>,
): Promise<T> {
  return strikeIn(holding, ask, () => all.fixture.killAdmin(), follow);
}

const commit = (all: Deliveries, moment: Moment) => holdCommit(all.fixture.postgres.connection, moment);
const table = (all: Deliveries) => holdTable(all.fixture.postgres.connection, 'webhook_delivery');

async function inRouting(all: Deliveries, holding: Promise<CommitHold>): Promise<void> {
  const hold = await holding;
  await eventAtStart(all);
  await hold.caught;
  await all.fixture.killAdmin();
  await hold.release();
}

/** An event that is there when the admin starts: no webhook follows yet, so that it becomes rows before it is sent. */
async function eventAtStart({ fixture }: Deliveries): Promise<void> {
  await fixture.killAdmin();
  await fixture.fleet.sql(
    `insert into event (id, type, subject, time, data) values (gen_random_uuid(), 'edge.core.test', gen_random_uuid(), now(), '{}')`,
  );
  await fixture.fleet.admin().start();
}

async function behindRouting(all: Deliveries, read: 'event' | 'webhook_delivery'): Promise<void> {
  const routed = await commit(all, 'delivery-routed');
  await eventAtStart(all);
  await routed.caught;
  const hold = await holdReads(all.fixture.postgres.connection, routed, read);
  await hold.caught;
  await all.fixture.killAdmin();
  await hold.release();
}

/** The younger event waits for the older transaction, or the older one would be passed over (V1). */
async function besideOlder(all: Deliveries): Promise<void> {
  const hold = await commit(all, 'command-created');
  const created = all.fixture.create();
  await hold.caught;
  await all.fixture.killAdmin();
  await created;
  await all.fixture.fleet.admin().start();
  const event = await all.event();
  await arrives(all.steady, event, 'the younger event, which does not come', MOMENT_MS_MAX).catch(() => {});
  await hold.release();
}

async function onItsWay(all: Deliveries): Promise<void> {
  const held = all.steady.endpoint.hold();
  await events(all);
  await held.caught;
  await all.fixture.killAdmin();
  held.release();
}

async function behindTry(all: Deliveries): Promise<void> {
  const hold = await commit(all, 'delivery-attempted');
  const created = events(all);
  await hold.caught;
  const before = await attempts(all);
  await hold.release();
  await until('a stored try', async () => (await attempts(all)) > before);
  await all.fixture.killAdmin();
  await created;
}

async function attempts({ fixture }: Deliveries): Promise<number> {
  const [row] = await fixture.fleet.sql<{ n: number }>('select sum(attempt_count)::int as n from webhook_delivery');
  return row?.n ?? 0;
}

/** A receiver that asks for a later try, and is well again when the admin is back. */
async function whileWaiting(all: Deliveries): Promise<void> {
  const { endpoint, id } = all.steady;
  endpoint.manner = answers(503, { headers: { 'retry-after': '1' } });
  await events(all);
  await until('a delivery that waits', () =>
    isStored(all, `webhook_id = $1 and status = 'pending' and next_attempt_at is not null`, id),
  );
  await all.fixture.killAdmin();
  endpoint.manner = answers(204);
}

async function delivered(all: Deliveries): Promise<string> {
  let event: string | null = null;
  const isNow = (status: string) =>
    isStored(all, 'webhook_id = $1 and event_id = $2 and status = $3', all.steady.id, event, status);
  await until('a delivered event', async () => {
    event ??= await all.event();
    if (await isNow('delivered')) return true;
    if (await isNow('dropped')) event = null; // a receiver on a busy machine was late with each try: another one then
    return false;
  });
  return event ?? '';
}

/** Whether there is such a delivery. */
async function isStored({ fixture }: Deliveries, condition: string, ...values: unknown[]): Promise<boolean> {
  return (await fixture.fleet.sql(`select from webhook_delivery where ${condition}`, values)).length > 0;
}

async function inRedelivery(all: Deliveries): Promise<void> {
  const event = await delivered(all);
  await dyingIn(all, commit(all, 'delivery-reopened'), () => all.redeliver(all.steady, event));
}

async function behindRedelivery(all: Deliveries): Promise<void> {
  const event = await delivered(all);
  const held = all.steady.endpoint.hold();
  await until('a redelivery that is taken', () => all.redeliver(all.steady, event));
  await all.fixture.killAdmin();
  held.release();
}

async function inCreation(all: Deliveries): Promise<void> {
  const restart = () => all.fixture.fleet.admin().start();
  await lives(all, await dyingIn(all, commit(all, 'webhook-created'), () => all.subscribe('new'), restart));
}

async function behindCreation(all: Deliveries): Promise<void> {
  const subscription = await all.subscribe('new');
  await all.fixture.killAdmin();
  await all.fixture.fleet.admin().start();
  await lives(all, subscription);
}

/** An event that is stored after the webhook was answered comes; and then the webhook goes. */
async function lives(all: Deliveries, subscription: Subscription): Promise<void> {
  const event = await all.event();
  await arrives(subscription, event, 'the event at the new webhook (V2)');
  await all.remove(subscription);
}

async function arrives({ endpoint }: Subscription, event: string | null, what: string, msMax?: number): Promise<void> {
  await until(what, () => endpoint.arrivals.some(({ id }) => id === event), msMax);
}

/** Deleted or not, nobody knows; the client asks again, and then it is. */
async function inDeletion(all: Deliveries): Promise<void> {
  const subscription = await underWay(all);
  const restart = () => all.fixture.fleet.admin().start();
  await dyingIn(all, commit(all, 'webhook-deleted'), () => all.remove(subscription), restart);
}

async function behindDeletion(all: Deliveries): Promise<void> {
  const subscription = await underWay(all);
  await all.remove(subscription);
  await delay(2 * scaled(CUT_MS_MAX)); // what it had to deliver would have taken longer
  await all.fixture.killAdmin();
}

/** A webhook whose receiver is slow and often wrong, with more on its way and waiting than it can take at once. */
async function underWay(all: Deliveries): Promise<Subscription> {
  let turn = 0;
  const slowly = answers(204, { afterMs: 100 });
  const later = answers(503);
  const subscription = await all.subscribe('short-lived', (response, arrival) =>
    ((turn += 1) % 2 === 0 ? slowly : later)(response, arrival),
  );
  await Promise.all(Array.from({ length: 3 * MANY }, () => all.event()));
  await until('requests to it', () => subscription.endpoint.arrivals.length > 1);
  return subscription;
}

/** At any moment while commands and events are created. */
async function underLoad(all: Deliveries, strike: () => Promise<unknown>): Promise<void> {
  const created = await burden(all);
  await strike();
  await Promise.all(created);
}

/** Receivers see a pause, and no more (L3). */
async function frozenDatabase(all: Deliveries): Promise<void> {
  await underLoad(all, async () => {
    await frozenPostgres(all.fixture, FREEZE_MS);
    await arrives(all.steady, await all.event(), 'an event at its receiver again (L3)', BACK_MS_MAX);
  });
}

/** Its own lease ran out: it goes on under a new epoch, and takes up what it had left. */
async function frozenAdmin(all: Deliveries): Promise<void> {
  await underLoad(all, async () => {
    const { program } = all.fixture.fleet.admin();
    program.pause();
    await delay(FREEZE_MS);
    program.resume();
    const event = await until('an event that is stored again', () => all.event(), BACK_MS_MAX);
    await arrives(all.steady, event, 'an event at its receiver again', BACK_MS_MAX);
  });
}

/** Commands and events on their way, for a random while. */
export async function burden(all: Deliveries, at = all.fixture.fleet.admins[0]): Promise<Promise<unknown>[]> {
  const created = [...(await load(all.fixture, at)), ...Array.from({ length: MANY }, () => all.event(at))];
  await delay(Math.random() * MOMENT_MS_MAX);
  return created;
}
