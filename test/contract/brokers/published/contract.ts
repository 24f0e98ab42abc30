/** What an admin promises of events, whichever broker they go by. */
import type { ExecutionContext } from 'ava';
import type { Envelope } from '../../../../actors/events.ts';
import type { ExecutionResource } from '../../../../actors/resources/command.ts';
import { COMMAND_EVENT_TYPES, type PublishingAdmin } from '../../../support/brokers/publishing-admin.ts';
import type { Gate } from '../../../support/net/gate.ts';
import type { Scope } from '../../../support/scope.ts';
import { until } from '../../../support/until.ts';

/** What a consumer got so far, each as the text of its envelope. */
export type Texts = () => readonly string[] | Promise<readonly string[]>;

/** Without repeats, as at least once is promised. */
export function envelopes(texts: readonly string[]): Envelope[] {
  return [
    ...new Map(texts.map((text) => JSON.parse(text) as Envelope).map((envelope) => [envelope.id, envelope])).values(),
  ];
}

/**
 * A test event and what a command makes happen arrive, the latter in its order. Returns what arrived of the command.
 */
export async function publishesWhatHappens(
  t: ExecutionContext,
  admin: PublishingAdmin,
  texts: Texts,
): Promise<{ readonly execution: ExecutionResource; readonly told: readonly Envelope[] }> {
  const [event] = await admin.testEvents(1);
  const execution = await admin.command();

  const told = await until('the end of the execution', async () => {
    const seen = envelopes(await texts()).filter(({ data }) => data['command_execution_id'] === execution.id);
    return seen.length >= COMMAND_EVENT_TYPES.length && seen;
  });
  t.deepEqual(
    told.map(({ type }) => type),
    [...COMMAND_EVENT_TYPES],
  );
  // It went by another topic, which a consumer may read later.
  const arrived = await until('the test event', async () =>
    envelopes(await texts()).find(({ id }) => id === event?.id),
  );
  t.deepEqual(arrived, event);
  await isWell(admin);
  return { execution, told };
}

/**
 * A broker that refuses the credentials delays no command; it is told once, with this error and without the secrets.
 */
export async function toldOnce(
  t: ExecutionContext,
  admin: PublishingAdmin,
  error: string | RegExp,
  secrets: readonly string[],
): Promise<void> {
  await admin.testEvents(1);
  const execution = await admin.command();
  const line = await admin.log.seen(/events cannot be published now/u);

  t.is(execution.status, 'completed');
  t.is(line.level, 'warn');
  const told = (line.fields as { readonly error: string }).error;
  if (typeof error === 'string') t.is(told, error);
  else t.regex(told, error);
  t.false(secrets.some((secret) => JSON.stringify(admin.log.lines).includes(secret)));
  t.regex((await admin.brokerProblem()) ?? '', /^the broker cannot be reached or refuses: \d+ events wait$/u);
}

/** Test events before, during and after a time in which the broker is away; all of them, in order. */
export async function eventsAcross(
  admin: PublishingAdmin,
  {
    goes,
    comes,
    flowing: count = 150,
  }: { readonly goes: () => unknown; readonly comes: () => Promise<unknown>; readonly flowing?: number },
): Promise<readonly Envelope[]> {
  const before = await admin.testEvents(30);
  const flowing = admin.testEvents(count);
  await goes();
  await until('the admin to notice', async () => (await admin.brokerProblem()) !== null);
  await comes();
  return [...before, ...(await flowing), ...(await admin.testEvents(20))];
}

/** Waits until as many came as were told of. What is missing is said with what the admin thinks of its broker. */
export async function allCame(admin: PublishingAdmin, texts: Texts, events: readonly Envelope[]): Promise<void> {
  await until('all events', async () => {
    const came = new Set(envelopes(await texts()).map(({ id }) => id));
    if (came.size >= events.length) return true;
    const missing = events.flatMap(({ id }, place) => (came.has(id) ? [] : [place]));
    const problem = (await admin.brokerProblem()) ?? 'nothing';
    const said = admin.log.lines.slice(-5).map(({ level, message }) => `${level} ${message}`);
    throw new Error(
      `of ${events.length} those at ${missing.join(', ')} are missing; the admin says of its broker: ${problem}; its log ends with ${said.join('; ')}`,
    );
  });
}

/** Nothing is kept wrong of an outage. */
export async function isWell(admin: PublishingAdmin): Promise<void> {
  await until('health', async () => (await admin.brokerProblem()) === null);
}

/** What happens while nobody can be reached reaches who is there afterwards, in order. */
export async function arrivesLater(
  t: ExecutionContext,
  admin: PublishingAdmin,
  {
    gate,
    before,
    goes,
    comes,
  }: {
    readonly gate: Gate;
    readonly before: Texts;
    readonly goes: () => Promise<unknown>;
    readonly comes: () => Promise<Texts>;
  },
): Promise<void> {
  const first = await admin.testEvents(5);
  await until('the first events', async () => (await before()).length >= first.length);

  gate.shut();
  await goes();
  const later = await admin.testEvents(40);
  t.regex(
    await until('the admin to notice', async () => admin.brokerProblem()),
    /^the broker cannot be reached or refuses: \d+ events wait$/u,
  );
  const after = await comes();
  gate.open();

  // Delivery is at least once: what went out just before the cut may come again.
  const known = new Set(first.map(({ id }) => id));
  const arrived = async () => envelopes(await after()).filter(({ id }) => !known.has(id));
  await until('the later events', async () => (await arrived()).length >= later.length);
  t.deepEqual(await arrived(), [...later]);
}

/** What happens while a service of topics cannot be reached arrives when it can, in the order of each execution. */
export async function arrivesInTheOrderOfEach(
  t: ExecutionContext,
  admin: PublishingAdmin,
  gate: Gate,
  texts: Texts,
): Promise<void> {
  const events = [...(await admin.testEvents(20))];
  const flowing = admin.testEvents(60);

  gate.shut();
  await until('the admin to notice', async () => (await admin.brokerProblem()) !== null);
  events.push(...(await flowing));
  const executions = [await admin.command(), await admin.command()];
  gate.open();
  events.push(...(await admin.testEvents(10)));

  await until(
    'all events',
    async () =>
      envelopes(await texts()).filter(
        ({ type }) => type === 'edge.core.test' || type.startsWith('edge.command_execution.'),
      ).length >=
      events.length + executions.length * COMMAND_EVENT_TYPES.length,
  );
  const arrived = envelopes(await texts());
  // Test events have a subject each, so that nothing is said of the order between them.
  t.deepEqual(byId(arrived.filter(({ type }) => type === 'edge.core.test')), byId(events));
  for (const { id } of executions)
    t.deepEqual(
      arrived.filter(({ data }) => data['command_execution_id'] === id).map(({ type }) => type),
      [...COMMAND_EVENT_TYPES],
    );
  await isWell(admin);
}

const byId = (events: readonly Envelope[]) => Object.fromEntries(events.map((event) => [event.id, event]));

/** Sets variables of this process, whose tests run one after another therefore, until the scope ends. */
export function environment(scope: Scope, names: Readonly<Record<string, string>>): void {
  Object.assign(process.env, names);
  scope.teardown(() => {
    for (const name of Object.keys(names)) delete process.env[name];
  });
}
