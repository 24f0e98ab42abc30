/**
 * Two admins and one broker: the one that publishes freezes, stops and dies at it. The other goes on, nothing is lost,
 * and each entity stays in order.
 *
 * Promises: O1, V1.
 */
import ava, { type ExecutionContext } from 'ava';
import type { CommandResource } from '../../../actors/resources/command.ts';
import { deliverers } from '../../chaos/delivery-takeovers.ts';
import { openNatsWay, type NatsWay } from '../../support/brokers/nats-way.ts';
import { startNats, type NatsServer } from '../../support/brokers/nats.ts';
import { missingOrDisordered, outbox, published, untilPublished } from '../../support/brokers/outbox.ts';
import { isCrowded } from '../../support/busy.ts';
import { FLEET_KEYS, startFleet, type Fleet } from '../../support/fleet.ts';
import type { AdminProgram } from '../../support/fleet/admin-program.ts';
import { enrollRaw } from '../../support/fleet/raw-agent.ts';
import { restClient, settledAnswer, type Rest } from '../../support/fleet/rest.ts';
import { freeze } from '../../support/frozen.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';

const test = await peerTest('nats-server');

/** Longest until the other admin publishes, in ms: a lease of 3 s, a look each second, and a second for the rest. */
const TAKEN_OVER_MS_MAX = 5_000;

/** Commands whose executions each have two events, in this order: created and cancelled. */
const COMMANDS = 4;
const NODES = 3;

const scope = createScope();
let server: NatsServer;
let fleet: Fleet;
const ways = new Map<string, NatsWay>();

test.before(async () => {
  server = await startNats(scope);
  for (const name of ['admin-1', 'admin-2']) ways.set(name, await openNatsWay(scope, server.port));
  fleet = await startFleet(scope, {
    admins: 2,
    env: { EVENT_BROKER_ENABLED: 'true', EVENT_BROKER_ADAPTER: 'nats', EVENT_BROKER_NATS_JETSTREAM: 'true' },
    envOf: (name) => ({ EVENT_BROKER_NATS_URLS: ways.get(name)?.url ?? '' }),
  });
  for (let nodes = 0; nodes < NODES; nodes += 1) await enrollRaw(scope, fleet);
});
ava.after.always('they end', () => scope.end());

const at = (admin: AdminProgram): Rest => restClient(() => admin.url, FLEET_KEYS.MASTER_KEY);
const event = async (admin: AdminProgram): Promise<string> => (await at(admin).post<{ id: string }>('/events/test')).id;
const publishers = () => deliverers(fleet, 'broker');

function wayOf({ name }: AdminProgram): NatsWay {
  const way = ways.get(name);
  if (way === undefined) throw new Error(`${name} has no way`);
  return way;
}

/** Creates and cancels commands that nobody runs: two events of each of their executions. */
async function commands(admin: AdminProgram): Promise<void> {
  for (let count = 0; count < COMMANDS; count += 1) {
    const { id } = await at(admin).post<CommandResource>('/commands', {
      command_text: 'true',
      targeting: { type: 'all' },
    });
    await settledAnswer(() => at(admin).call('POST', `/commands/${id}/cancel`));
  }
}

/** Tries to catch an admin at it: each fails only where a lease runs out just then, or something else happens. */
const TRIES_MAX = 10;

/** An admin that publishes, with one event on its way, which the server has not got. */
async function caughtPublishing() {
  for (let tried = 0; tried < TRIES_MAX; tried += 1) {
    await untilPublished(fleet);
    const { holder, other } = await publishers();
    const from = holder.program.output.length;
    const { published: sent, hold, goOn } = wayOf(holder);
    const before = sent.length;
    hold();
    let isCaught = false;
    try {
      const id = await event(other);
      await until('an event on its way', () => sent.length > before || wayOf(other).published.includes(id));
      isCaught = sent[before] === id && sent.length === before + 1;
      if (isCaught) return { holder, other, id, from };
    } finally {
      if (!isCaught) goOn();
    }
  }
  throw new Error(`no event was on its way alone in ${TRIES_MAX} tries`);
}

async function publishes(admin: AdminProgram): Promise<void> {
  await until('the other admin to publish', async () => (await publishers()).holder === admin, TAKEN_OVER_MS_MAX);
}

/** Everything that is stored now is at the broker, in the order of each entity. */
async function allPublished(t: ExecutionContext): Promise<void> {
  const stored = await outbox(fleet);
  await untilPublished(fleet);
  t.deepEqual(missingOrDisordered(stored, await published(server)), { missing: [], disordered: [] });
}

/**
 * After a failure an admin publishes as many events as half of those, one at a time here, and reads the next one ahead
 * while one is on its way: that is what it may send when it wakes.
 */
async function readsAhead(holder: AdminProgram, other: AdminProgram, id: string): Promise<void> {
  for (let count = 0; count < 3; count += 1) await event(other);
  wayOf(holder).cut();
  await until(
    'the same event on its way again',
    () => wayOf(holder).published.filter((one) => one === id).length > 1 || wayOf(other).published.includes(id), // its lease ran out
  );
}

test.serial(
  'while the publishing admin is frozen the other publishes its events, and on waking it publishes none of them',
  async (t) => {
    const { holder, other, id, from } = await caughtPublishing();
    await readsAhead(holder, other, id);

    await freeze(holder.program);
    const written = wayOf(holder).published.length;
    try {
      await publishes(other);
      await commands(other);
      await allPublished(t);
    } finally {
      wayOf(holder).goOn(); // what the frozen admin sent comes last
      holder.program.resume();
    }
    const before = new Set(await published(server));
    await until('the frozen admin to hear that it publishes no more', () =>
      holder.program
        .lines(from)
        .some(({ msg, channel }) => msg === 'another admin publishes these events now' && channel === 'broker'),
    );
    const later = await event(holder);
    await allPublished(t);

    const afterwards = wayOf(holder).published.slice(written);
    t.true(wayOf(other).published.includes(id));
    t.deepEqual(
      afterwards.filter((one) => before.has(one)),
      [],
    );
    // on a crowded machine the other one may lose its lease, too
    if (!isCrowded()) t.deepEqual([afterwards, wayOf(other).published.includes(later)], [[], true]);
  },
);

test.serial(
  'the admin that publishes is stopped in the midst of it: it gives the channel back, and the other goes on',
  async (t) => {
    const { holder, other, id } = await caughtPublishing();
    const running = commands(other);
    const [row] = await fleet.sql<{ id: string }>('select id from admin where name = $1', [holder.name]);

    holder.program.terminate();
    wayOf(holder).goOn();
    const ended = await holder.program.ended();
    const left = await fleet.sql(
      `select from event_channel where name = 'broker' and admin_id = $1 and lease_until > clock_timestamp()`,
      [row?.id],
    );
    await running;
    const later = await event(other);
    await publishes(other);
    await holder.start();
    await allPublished(t);

    t.deepEqual(ended, { code: 0, signal: null });
    t.true((await published(server)).includes(id));
    t.true(wayOf(other).published.includes(later));
    t.deepEqual(left, [], 'its lease was left to run out');
  },
);

test.serial(
  'when the publishing admin is killed with an event in flight, the other publishes that event and all later ones',
  async (t) => {
    const { holder, other, id } = await caughtPublishing();
    await commands(other);

    await holder.kill();
    const killedMs = performance.now();
    await publishes(other);
    t.log(`another admin publishes after ${Math.round(performance.now() - killedMs)} ms`);
    await commands(other);
    await allPublished(t);

    t.true(wayOf(other).published.includes(id));
  },
);
