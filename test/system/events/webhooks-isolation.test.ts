/**
 * What dead and slow receivers cost everybody else (V3): nothing that the others notice, no command, no memory without
 * bound.
 * Speed is measured on whatever machine this is, next to other tests: each measurement is compared with one of the same
 * load without the bad receivers, moments before, on the same admin; and as noise only ever adds, the best of a few
 * comparisons counts.
 */
import test, { type ExecutionContext } from 'ava';
import type { CommandResource } from '../../../actors/resources/command.ts';
import { startFleet, type Fleet } from '../../support/fleet.ts';
import { freePort } from '../../support/net/free-ports.ts';
import { enrollRaw } from '../../support/fleet/raw-agent.ts';
import { answers, isSilent, openReceiver, type Receiver } from '../../support/webhooks/receiver.ts';
import { createScope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';
import { hangAfter, isCrowded } from '../../support/busy.ts';
import { memoryMb } from '../../support/processes.ts';

/** Receivers that are well. */
const HEALTHY = 200;

/** Test events of one measurement: each goes to every receiver. */
const EVENTS = 8;

/** Comparisons until one holds: where other programs come and go, more are spoilt by them. */
const comparisonsMax = () => (isCrowded() ? 9 : 3);

/** By how much the p99 may grow. Source: docs/promises.md, L1 and V3. */
const GROWTH_MAX = 2;

/** Differences below this are the machine's, in ms. */
const NOISE_MS = 50;

/**
 * Webhooks to receivers that never answer, and nodes that a command is for: so many deliveries wait after each command.
 */
const DEAD = 50;
const NODES = 40;
const COMMANDS = 8;

/**
 * Memory that the admin may have more with all of those waiting than without, in MiB: far below what they would take,
 * and above what a collector leaves lying about.
 */
const GROWTH_MB_MAX = 150;

const TYPES = ['edge.command_execution.created', 'edge.command_execution.cancelled'];

const scope = createScope();
let fleet: Fleet;
let receiver: Receiver;

test.before('an admin starts', async () => {
  receiver = await openReceiver(scope);
  fleet = await startFleet(scope, { env: { WEBHOOK_ALLOW_PRIVATE_IPS: 'true' } });
});
test.after.always('it ends', () => scope.end());

async function subscribe(url: string, types: readonly string[]): Promise<string> {
  return (
    await fleet.rest.post<{ id: string }>('/webhooks', {
      url,
      secret: 'secret-of-the-webhook',
      subscribed_events: types,
    })
  ).id;
}

async function remove(ids: readonly string[]): Promise<void> {
  for (const id of ids) await fleet.rest.call('DELETE', `/webhooks/${id}`);
}

const at = (values: readonly number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))] ?? Infinity;

/** The first for which `holds`, of a few; what was measured is logged. */
async function compared(
  t: ExecutionContext,
  what: string,
  without: () => Promise<number>,
  withThem: () => Promise<number>,
): Promise<void> {
  for (let turn = 1; turn <= comparisonsMax(); turn += 1) {
    const [before, after] = [await without(), await withThem()];
    t.log(`${what}: ${Math.round(before)} ms without, ${Math.round(after)} ms with them`);
    if (after <= Math.max(before * GROWTH_MAX, before + NOISE_MS)) {
      t.pass();
      return;
    }
  }
  t.fail(`${what} more than doubled each time`);
}

test.serial('a dead receiver, a refusing and a slow one delay none of 200 others', async (t) => {
  t.timeout(hangAfter(120_000));
  const healthy = Array.from({ length: HEALTHY }, () => receiver.endpoint());
  const ids: string[] = [];
  // all at once they would wait for each other's transactions, some for longer than a caller waits
  for (const { url } of healthy) ids.push(await subscribe(url, ['edge.core.test']));
  let isWarm = false;

  async function event(): Promise<void> {
    const from = healthy.map(({ arrivals }) => arrivals.length);
    await fleet.rest.post('/events/test');
    await until('an event at all healthy receivers', () =>
      healthy.every(({ arrivals }, place) => arrivals.length > (from[place] ?? 0)),
    );
  }

  /** The p99 of the time from an event to its arrival, over all healthy receivers, in ms. */
  async function delay(): Promise<number> {
    const from = healthy.map(({ arrivals }) => arrivals.length);
    for (let index = 0; index < EVENTS; index += 1) await event();
    const delays = healthy.flatMap(({ arrivals }, place) =>
      arrivals
        .slice(from[place])
        .map(({ atMs, body }) => atMs - Date.parse((JSON.parse(body) as { time: string }).time)),
    );
    t.is(delays.length, HEALTHY * EVENTS);
    return at(delays, 0.99);
  }

  async function delayWithBadOnes(): Promise<number> {
    const bad = await Promise.all(
      [
        receiver.endpoint(isSilent).url,
        `http://127.0.0.1:${await freePort()}/refused`,
        receiver.endpoint(answers(200, { afterMs: 3_000 })).url,
      ].map((url) => subscribe(url, ['edge.core.test'])),
    );
    await event(); // all of them are busy from here on
    try {
      return await delay();
    } finally {
      await remove(bad);
    }
  }

  async function warmDelay(): Promise<number> {
    if (!isWarm) await delay();
    isWarm = true;
    return delay();
  }

  await compared(t, `p99 of ${HEALTHY} receivers`, warmDelay, delayWithBadOnes);
  await remove(ids);
});

test.serial(
  'fifty dead webhooks that want every event delay no command, and the admin does not grow with what waits for them',
  async (t) => {
    t.timeout(hangAfter(120_000));
    for (let index = 0; index < NODES; index += 1) await enrollRaw(scope, fleet);
    let dead: string[] = [];
    let isWarm = false;

    /** The median time of a command that is for all nodes, and of its cancel, in ms. */
    async function commands(): Promise<number> {
      const took: number[] = [];
      for (let index = 0; index < COMMANDS; index += 1) {
        const sinceMs = performance.now();
        const { id } = await fleet.rest.post<CommandResource>('/commands', {
          command_text: 'true',
          targeting: { type: 'all' },
        });
        await fleet.rest.call('POST', `/commands/${id}/cancel`);
        await until(
          'the end of the command',
          async () =>
            (await fleet.sql('select from command_execution where command_id = $1 and finished_at is null', [id]))
              .length === 0,
        );
        took.push(performance.now() - sinceMs);
      }
      return at(took, 0.5);
    }

    async function without(): Promise<number> {
      await remove(dead);
      dead = [];
      if (!isWarm) await commands();
      isWarm = true;
      return commands();
    }

    async function withThem(): Promise<number> {
      const url = receiver.endpoint(isSilent).url;
      dead = await Promise.all(Array.from({ length: DEAD }, () => subscribe(url, TYPES)));
      return commands();
    }

    await without();
    const { pid } = fleet.admin().program;
    const before = memoryMb(pid);
    await compared(t, `median of commands for ${NODES} nodes`, without, withThem);
    const wanted = DEAD * NODES * COMMANDS * TYPES.length;
    const waiting = await until('all deliveries', async () => {
      const [row] = await fleet.sql<{ n: number }>(
        `select count(*)::int as n from webhook_delivery d join webhook w on w.id = d.webhook_id`,
      );
      return row !== undefined && row.n >= wanted ? row.n : null;
    });
    const grown = memoryMb(pid) - before;

    t.log(`${waiting} deliveries wait; memory grew by ${Math.round(grown)} MiB to ${Math.round(memoryMb(pid))} MiB`);
    t.true(grown < GROWTH_MB_MAX, `${grown} MiB`);
  },
);
