/**
 * Clients ask several admins for everything that changes something, while admins and their database are killed, frozen
 * and ended; and what they were told is judged.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { BUSY_MS, scaled } from '../../support/busy.ts';
import { CLUSTER, FLEET_KEYS } from '../../support/fleet.ts';
import type { AdminProgram } from '../../support/fleet/admin-program.ts';
import { restClient } from '../../support/fleet/rest.ts';
import { ADDRESSES } from '../../support/networks/admin-networks.ts';
import type { Scope } from '../../support/scope.ts';
import { until } from '../../support/until.ts';
import { openFixture, type Fixture } from '../fixture.ts';
import { breaches } from '../invariants.ts';
import { evidenceOf, stuck } from '../round.ts';
import { violations } from './checker.ts';
import type { Hand } from './hand.ts';
import { attemptsOf } from './attempts.ts';
import { askAt, Client, type Service } from './client.ts';
import type { FaultName } from './fault-kinds.ts';
import { doFaults, type FaultPlan } from './faults.ts';
import { notedMsMax, prepareFrozenCommits } from './frozen-commits.ts';
import { answerTable, servedShares, startTimes } from './figures.ts';
import { isTerminal } from '../../../actors/resources/command.ts';
import type { Call, History, Request } from './history.ts';
import { openHomes } from './homes.ts';
import { Landscape } from './landscape.ts';
import { Readers } from './readers.ts';
import { watchedNodes, type Deadlines } from './rules.ts';
import { Recorder } from './recorder.ts';
import { NO_ROWS } from './rows.ts';
import { SimulatedNodes } from './simulated-nodes.ts';
import { storedNodes, storedRows } from './stored.ts';
import { subscribe, SUBSCRIBER, SUBSCRIBER_ENV } from './subscriber.ts';
import { givenCount, namedConnections, ownersOf, staleWrites, watchWrites } from './writes.ts';

/** Clients at a time, unless told otherwise: so many that they meet, and two processors serve them beside admins. */
const CLIENTS = 6;

/** An admin that joins is given its share after this: it is there for some seconds. */
const BALANCE_AFTER = '1s';

/** Readers of all events. */
const EVENT_READERS = 2;

/** Wait between two looks at who owns what, in ms. */
const OWNERS_MS = 100;

/** Longest until feeds have told all, when all is over, in ms: who just came back is reached after some seconds. */
const TOLD_MS_MAX = 20_000;

/** From the answer to a cancel until what runs has ended, in ms: a look at the rows each 2 s is the last to tell it. */
const CANCELLED_MS_MAX = 3_500;

/** Faults after which it is told how far it is. */
const FAULTS_A_LINE = 20;

/** What is played: until so many faults were done, and no longer than so many seconds. */
export interface HistoryOptions {
  readonly seconds?: number;
  readonly admins: number;
  readonly seed: number;
  readonly faults: Omit<FaultPlan, 'isOver' | 'seed' | 'told' | 'tellVain'>;
  readonly clients?: number;
  /** Its admins have networks of their own. This process is to have one itself. */
  readonly hasNetworks?: boolean;
  /** Where the logs of its admins are kept; they go with it unless given. */
  readonly logs?: string;
  /** Clocks of its admins can be set. */
  readonly hasClocks?: boolean;
  /** Told now and then how far it is, in a line. */
  readonly tell: (line: string) => void;
}

/** How it went. */
export interface HistoryOutcome {
  readonly violations: readonly string[];
  readonly calls: readonly Call[];
  readonly faults: ReadonlyMap<FaultName, number>;
  /** What this machine could not do, a line each. */
  readonly leftOut: readonly string[];
  /** Figures, a line each. */
  readonly figures: readonly string[];
}

/** Plays one history in a fixture of its own. */
export async function playHistory(scope: Scope, options: HistoryOptions): Promise<HistoryOutcome> {
  const fixture = await openFixture(scope, {
    admins: options.admins,
    agents: 0,
    env: { ...SUBSCRIBER_ENV, ADMIN_BALANCE_AFTER_MS: BALANCE_AFTER },
    envOf: namedConnections,
    hasStandby: true,
    hasClocks: options.hasClocks ?? false,
    ...(options.hasNetworks === true && { places: options.admins + 1 }),
  });
  const recorder = new Recorder();
  const { admins } = fixture.fleet;
  const nodes = new SimulatedNodes(admins, recorder, fixture.ledger);
  scope.teardown(() => nodes.stop());
  const readers = new Readers(scope, admins, recorder);
  const stopLooking = watchOwners(fixture, recorder);
  scope.teardown(stopLooking);
  for (let place = 0; place < EVENT_READERS; place += 1) await readers.readEvents(`reader ${place + 1}`, place);
  await watchWrites(fixture.fleet);
  await prepareFrozenCommits(fixture.fleet);
  const deliveries = await subscribe(scope, fixture, options.hasNetworks === true ? ADDRESSES.clients : undefined);
  const joined = (admin: AdminProgram): void => {
    readers.watchNodes(admin);
    watchFrames(fixture, recorder, admin);
  };
  for (const admin of admins) joined(admin);
  await fixture.fleet.rest.call('DELETE', `/clusters/${CLUSTER}`); // it would be the first to be given to who joins
  const land = new Landscape(await openHomes({ fixture, recorder, nodes, seed: options.seed }));
  const service: Service = {
    admins,
    recorder,
    land,
    nodes,
    watch: (admin, command) => readers.watchCommand(admin, command),
    tail: (admin, execution) => readers.tail(admin, execution),
  };

  const endMs = performance.now() + (options.seconds ?? Infinity) * 1_000;
  let areFaultsDone = false;
  const isOver = (): boolean => performance.now() > endMs || areFaultsDone;
  const told = (done: number): void => {
    if (done % FAULTS_A_LINE !== 0 || done === options.faults.count) return;
    const seconds = Math.round(recorder.nowMs() / 1_000);
    options.tell(`${done} of ${options.faults.count} faults, ${recorder.calls.length} calls, ${seconds} s`);
  };
  const clients = Array.from(
    { length: options.clients ?? CLIENTS },
    (_, place) => new Client(place + 1, options.seed, service),
  );
  let hands = clients.length;
  const handAt = (admin: AdminProgram): Hand => {
    hands += 1;
    return new Client(hands, options.seed, { ...service, admins: [admin] });
  };
  const tellVain = (line: string): void => options.tell(`nothing to do  ${line}`);
  const plan = { ...options.faults, seed: options.seed, isOver, told, tellVain };
  const [faults] = await Promise.all([
    doFaults({ fixture, recorder, joined, handAt }, plan).finally(() => {
      areFaultsDone = options.seconds === undefined || options.faults.kinds.length > 0;
    }),
    ...clients.map((client) => client.run(isOver)),
  ]);

  const late = await settle(fixture, service);
  stopLooking();
  const more = [...late, ...(await deliveries()), ...(await staleWrites(fixture.fleet))];
  if (options.logs !== undefined) keepLogs(options.logs, fixture);
  const leftOut = fixture.networks?.hasDelays === false ? ['the delay of a slow link: needs netem'] : [];
  return { ...(await judged(fixture, service, more)), faults, leftOut };
}

/** A file for each admin, with all of its runs. */
function keepLogs(directory: string, { fleet }: Fixture): void {
  mkdirSync(directory, { recursive: true });
  for (const { name, runs } of fleet.admins)
    writeFileSync(join(directory, `${name}.log`), runs.map(({ output }) => output).join('--- another run\n'));
}

/** Notes what this admin hands to agents, and what it confirms. */
function watchFrames({ fleet, wires }: Fixture, recorder: Recorder, admin: AdminProgram): void {
  wires[fleet.admins.indexOf(admin)]?.watch((frame) => {
    const told = { admin: admin.name, atMs: recorder.nowMs() };
    if (frame.type === 'deliver')
      for (const { execution } of frame.deliveries) recorder.handed.push({ frame: 'deliver', execution, ...told });
    if (frame.type === 'confirm')
      for (const execution of frame.executions) recorder.handed.push({ frame: 'confirm', execution, ...told });
  });
}

async function judged(
  fixture: Fixture,
  { recorder, land }: Service,
  late: readonly string[],
): Promise<Omit<HistoryOutcome, 'faults' | 'leftOut'>> {
  const all = await storedRows(fixture.fleet);
  const rows = { ...all, named: all.named.filter(({ name }) => name !== SUBSCRIBER) };
  const history = recorder.history(await ownersOf(fixture.fleet, recorder.beganAtMs));
  const { calls } = history;
  const evidence = await evidenceOf(fixture, attemptsOf(land.commands, calls));
  return {
    calls,
    violations: [
      ...late,
      ...violations(history, rows, deadlines()),
      ...breaches(evidence).map((line) => line + handedWhen(line, history)),
    ],
    figures: [
      ...answerTable(calls),
      `clusters that an admin gave to another: ${await givenCount(fixture.fleet)}`,
      `writes that were served: ${servedShares(calls)}`,
      `ms from the answer of a create to its first start, p50 and p99: ${startTimes(land.commands, rows, fixture.startedS())}`,
    ],
  };
}

/** Brings everything back, ends what is open, and waits until feeds have told of it. What they did not tell is late. */
async function settle(fixture: Fixture, { recorder, land, admins }: Service): Promise<string[]> {
  for (const admin of admins) if (admin.program.exit !== null) await admin.start();
  for (const guest of land.guests.values()) await leave(fixture, recorder, guest.id, guest.cluster);
  const late: string[] = [];
  await fixture.recover().catch(async (error: Error) => {
    const open = (await stuck(fixture)).filter((line) => line.startsWith('still open'));
    late.push(`C6: ${error.message}`, ...open.map((line) => line + handedWhen(line, recorder.history())));
  });
  for (const { name, events } of recorder.eventReaders) {
    const isThere = async (): Promise<boolean> => {
      const [last] = await fixture.fleet.sql<{ id: string }>(
        'select id from event order by txid desc, seq desc limit 1',
      );
      return events.some(({ id }) => id === last?.id);
    };
    await until('the last event', isThere, TOLD_MS_MAX).catch(() =>
      late.push(`V1: ${name} was not told of the last event`),
    );
  }
  const isOpen = (): boolean =>
    recorder.commandReaders.some(({ told, isWhole }) => {
      const last = new Map(told.map(({ execution, status }) => [execution, status]));
      return isWhole && [...last.values()].some((status) => !isTerminal(status as never));
    });
  const isStale = async (): Promise<boolean> => {
    const nodes = await storedNodes(fixture.fleet);
    return watchedNodes(recorder.history(), { ...NO_ROWS, nodes }, deadlines()).length > 0;
  };
  await until('all nodes as they are', async () => !(await isStale()), TOLD_MS_MAX).catch(() => null); // a rule says which
  await until('the end of what is watched', () => !isOpen(), TOLD_MS_MAX).catch(() => null); // the rule says which
  return late;
}

/** Deletes a node, at whichever admin does it. */
async function leave({ fleet }: Fixture, recorder: Recorder, node: string, cluster: string): Promise<void> {
  const request: Request = { verb: 'delete-node', node };
  await until(`the end of node ${node}`, async () => {
    for (const { name, url } of fleet.admins) {
      const rest = restClient(() => url, FLEET_KEYS.MASTER_KEY);
      const { outcome } = await askAt({ name, rest, recorder, client: 0 }, request, cluster);
      if (outcome.type === 'ok' || outcome.type === 'refused') return true;
    }
    return false;
  });
}

/** When the execution of which a line tells was handed out and confirmed, for whoever looks for the reason. */
function handedWhen(line: string, { handed }: History): string {
  const own = handed.filter(({ execution }) => line.includes(execution));
  const words = own.map(({ frame, admin, atMs }) => `${frame} by ${admin} at ${Math.round(atMs)} ms`);
  return words.length === 0 ? '' : `: ${words.join(', ')}`;
}

/** What is granted to a machine that does other things besides. */
function deadlines(): Deadlines {
  return {
    answerMsMax: scaled(6_000),
    revokedMsMax: scaled(1_000) + BUSY_MS,
    cancelledMsMax: scaled(CANCELLED_MS_MAX),
    notedMsMax: notedMsMax(),
  };
}

/** Looks at who owns what, again and again, until the returned function is called. */
function watchOwners({ fleet }: Fixture, recorder: Recorder): () => void {
  const over = new AbortController();
  const look = async (): Promise<void> => {
    while (!over.signal.aborted) {
      const seen = await fleet
        .sql<{ cluster: string; admin: string }>(
          'select c.name as cluster, a.name as admin from cluster_ownership w join admin a on a.id = w.admin_id join cluster c on c.id = w.cluster_id where w.lease_until > clock_timestamp()',
        )
        .catch(() => null);
      if (seen !== null) recorder.own(seen);
      await delay(OWNERS_MS);
    }
  };
  void look();
  return () => over.abort();
}
