/** What clients do, and how often: every kind of operation that changes something, and the reads that show it. */
import { REGISTRATION } from '../../../bench/product/simulated-agent.ts';
import { uptimeS } from '../scripts.ts';
import type { Call, Request, Resource } from './history.ts';
import type { AskedCommand, Home, Landscape } from './landscape.ts';
import type { Place } from './names.ts';
import { scriptText, type SimulatedNodes } from './simulated-nodes.ts';

/** What an action has to work with. Numbers are whole, from 0 on, the same for the same seed. */
export interface Hand {
  readonly land: Landscape;
  readonly nodes: SimulatedNodes;
  number(): number;
  /** An id of a node, the same for the same seed. */
  id(): string;
  /** On the clock of the history. */
  nowMs(): number;
  /** A text that nobody else has. */
  mark(): string;
  /**
   * Asks an admin by chance. `cluster`: whose owner does it; null: nobody's. `again`: as clients do who were not told,
   * once more at another admin, twice at most. Resolves with the last call.
   */
  ask(
    request: Request,
    cluster: string | null,
    more?: { readonly body?: object; readonly again?: boolean },
  ): Promise<Call>;
  /** Reads the executions of a command at an admin by chance, and notes them. */
  see(command: string): Promise<void>;
  /** What a machine comes with that has this enrolment key; null: it could not be read. */
  blob(id: string): Promise<string | null>;
  /** Watches a command at an admin by chance. */
  watch(command: string): void;
}

/** Guests at a time. */
const GUESTS_MAX = 12;

/** How long a script takes, in ms. */
const SLEEPS_MS = [0, 0, 100, 400] as const;

/** Until a command expires that does, in ms. */
const EXPIRES_MS = 3_000;

/** By how much they are chosen, in parts of all. */
export const ACTIONS: readonly (readonly [number, (hand: Hand) => Promise<void>])[] = [
  [10, createCommand],
  [10, (hand) => ofCommand(hand, ({ id }) => hand.see(id))],
  [4, cancelCommand],
  [3, deleteCommand],
  [
    3,
    (hand) =>
      ofCommand(hand, async (command) => {
        await hand.ask(creationOf(command), command.cluster, { body: command.body });
      }),
  ],
  [2, (hand) => ofCommand(hand, async ({ mark }) => void (await hand.ask({ verb: 'show', ...commandOf(mark) }, null)))],
  ...(['cluster', 'group', 'alias', 'ssh_username', 'enrollment_key', 'webhook'] as const).flatMap(
    (resource) =>
      [
        [3, (hand: Hand) => createName(hand, hand.land.names[resource].draw(hand.number()))],
        [3, (hand: Hand) => showName(hand, hand.land.names[resource].draw(hand.number()))],
        [2, (hand: Hand) => deleteName(hand, hand.land.names[resource].draw(hand.number()))],
      ] as const,
  ),
  ...(['cluster', 'group', 'enrollment_key'] as const).map(
    (resource) => [2, (hand: Hand) => updateName(hand, hand.land.names[resource].draw(hand.number()))] as const,
  ),
  [6, enrol],
  [6, (hand) => ofNode(hand, async (node) => void (await hand.ask({ verb: 'show-node', node }, null)))],
  [6, setLabel],
  [4, moveGuest],
  [3, setRecovery],
  [1, clearRecovery],
  [3, recover],
  [2, deleteGuest],
];

async function createCommand(hand: Hand): Promise<void> {
  const home = hand.land.home(hand.number());
  await createCommandIn(hand, home, SLEEPS_MS[hand.number() % SLEEPS_MS.length] ?? 0);
}

/** On some nodes of this home, and perhaps on one that moves about. */
export async function createCommandIn(hand: Hand, { cluster, nodes }: Home, sleepMs: number): Promise<void> {
  const { land } = hand;
  const must = nodes.filter(() => hand.number() % 2 === 0);
  const guest = hand.number() % 4 === 0 ? land.guest(hand.number()) : null;
  const may = guest === null ? [] : [guest.id];
  const targets = [...(must.length + may.length === 0 ? nodes.slice(0, 1) : must), ...may];
  const expires = hand.number() % 10 === 0;
  const mark = hand.mark();
  const expiresMs = expires ? hand.nowMs() + EXPIRES_MS : null; // before the time that is sent: never later than that
  const body = {
    command_text: scriptText(mark, sleepMs),
    targeting: { type: 'nodes', node_ids: targets },
    ...(expires && { expired_at: new Date(Date.now() + EXPIRES_MS).toISOString() }),
  };
  const asked = {
    mark,
    cluster,
    must: targets.filter((node) => nodes.includes(node)),
    may,
    key: mark,
    body,
    expiresMs,
    expiresAtS: expires ? uptimeS() + EXPIRES_MS / 1_000 : null,
    id: null,
    answeredS: null,
    answeredAt: null,
    isCancelled: false,
    isDeleted: false,
  };
  land.commands.push(asked);
  const { outcome, place } = await hand.ask(creationOf(asked), cluster, { body, again: true });
  const id = outcome.type === 'ok' ? outcome.shown?.[0]?.id : undefined;
  if (id === undefined) return;
  land.note(mark, { id, answeredS: uptimeS(), answeredAt: place });
  if (hand.number() % 8 === 0) hand.watch(id);
}

function creationOf({ mark, key, expiresMs }: Pick<AskedCommand, 'mark' | 'key' | 'expiresMs'>): Request {
  const request = { verb: 'create', ...commandOf(mark), key, value: null, node: null } as const;
  return expiresMs === null ? request : { ...request, expiresMs };
}

function commandOf(mark: string) {
  return { resource: 'command', scope: '', name: mark } as const;
}

async function ofCommand(
  hand: Hand,
  act: (command: NonNullable<ReturnType<Landscape['command']>>) => Promise<void>,
): Promise<void> {
  const command = hand.land.command(hand.number());
  if (command !== null) await act(command);
}

async function cancelCommand(hand: Hand): Promise<void> {
  await ofCommand(hand, async ({ mark, id, cluster }) => {
    hand.land.note(mark, { isCancelled: true });
    await hand.ask({ verb: 'cancel', ...commandOf(mark), id }, cluster);
  });
}

async function deleteCommand(hand: Hand): Promise<void> {
  await ofCommand(hand, async ({ mark, id, cluster }) => {
    const { outcome } = await hand.ask({ verb: 'delete', ...commandOf(mark), id }, cluster);
    if (outcome.type === 'ok' || outcome.type === 'doubt') hand.land.note(mark, { isDeleted: true });
  });
}

/** What it has at first: a limit of nodes, words, and uses. */
const FIRST_VALUE: Readonly<Partial<Record<Resource, string>>> = { cluster: '5', group: 'new', enrollment_key: '2' };

async function createName(hand: Hand, place: Place): Promise<void> {
  const { resource, scope } = place.of;
  const home = hand.land.homes.find(({ cluster }) => cluster === scope);
  const node = resource === 'alias' ? (home?.nodes[hand.number() % home.nodes.length] ?? place.node) : place.node;
  // Nothing but its key keeps what has no name of its own from being made twice: one key for each.
  const isAlone = resource === 'enrollment_key' || resource === 'webhook';
  const key = isAlone ? place.of.name : hand.mark();
  const request: Request = { verb: 'create', ...place.of, key, value: FIRST_VALUE[resource] ?? null, node };
  await learned(place, hand.ask(request, resource === 'cluster' ? null : place.cluster, { again: true }), hand);
}

async function showName(hand: Hand, place: Place): Promise<void> {
  await learned(place, hand.ask({ verb: 'show', ...place.of }, null), hand);
}

async function learned(place: Place, asked: Promise<Call>, hand: Hand): Promise<void> {
  const { outcome } = await asked;
  const id = outcome.type === 'ok' ? outcome.shown?.[0]?.id : undefined;
  if (id === undefined) return;
  place.id = id;
  if (place.of.resource === 'enrollment_key') place.blob ??= await hand.blob(id);
}

async function updateName(hand: Hand, place: Place): Promise<void> {
  const value = place.of.resource === 'group' ? hand.mark() : String(1 + (hand.number() % 9));
  const id = place.of.resource === 'enrollment_key' ? place.id : null;
  if (place.of.resource === 'enrollment_key' && id === null) return showName(hand, place);
  await hand.ask({ verb: 'update', ...place.of, id, value }, place.cluster);
}

async function deleteName(hand: Hand, place: Place): Promise<void> {
  const isByName = place.of.resource === 'cluster' || place.of.resource === 'group';
  if (!isByName && place.id === null) return showName(hand, place);
  await hand.ask({ verb: 'delete', ...place.of, id: isByName ? null : place.id }, place.cluster);
}

/** With the key of a home, or one whose uses are counted. */
async function enrol(hand: Hand): Promise<void> {
  const { land } = hand;
  if (land.guests.size >= GUESTS_MAX) return deleteGuest(hand);
  const home = land.home(hand.number());
  const place = land.names.enrollment_key.draw(hand.number());
  const isCounted = hand.number() % 2 === 0 && place.blob !== null && place.cluster !== null;
  const key = isCounted
    ? { cluster: place.cluster ?? '', keyName: place.of.name, blob: place.blob ?? '' }
    : { cluster: home.cluster, keyName: home.keyName, blob: home.blob };
  await letIn(hand, { ...key, node: hand.id(), recovery: null });
}

async function recover(hand: Hand): Promise<void> {
  const guest = hand.land.guest(hand.number());
  if (guest === null || guest.recovery === null) return setRecovery(hand);
  const home = hand.land.homes.find(({ cluster }) => cluster === guest.cluster) ?? hand.land.home(0);
  await letIn(hand, { ...home, node: guest.id, recovery: guest.recovery });
}

interface Entrance {
  readonly node: string;
  readonly cluster: string;
  readonly keyName: string;
  readonly blob: string;
  readonly recovery: string | null;
}

/** Each time as a machine that has nothing: its secret is its own, and the same for each try. */
async function letIn(hand: Hand, { node, cluster, keyName, blob, recovery }: Entrance): Promise<void> {
  const machine = `${hand.mark()}-`.padEnd(MACHINE_SECRET_CHARS, 'x');
  const body = {
    ...REGISTRATION,
    enrollment_key: blob,
    node_id: node,
    machine_secret: machine,
    ...(recovery !== null && { recovery_key: recovery }),
  };
  const request: Request = { verb: 'enrol', node, cluster, keyName, machine, recovery };
  const { outcome } = await hand.ask(request, cluster, { body, again: true });
  if (outcome.type !== 'ok') return;
  hand.land.guests.set(node, { id: node, cluster, recovery: null });
  if (outcome.secret !== undefined) hand.nodes.start(node, outcome.secret, hand.number());
}

/** Shortest that is taken. Source: transport/protocol/enrollment.ts. */
const MACHINE_SECRET_CHARS = 43;

async function ofNode(hand: Hand, act: (node: string, cluster: string) => Promise<void>): Promise<void> {
  const { id, cluster } = hand.land.node(hand.number());
  await act(id, cluster);
}

async function setLabel(hand: Hand): Promise<void> {
  await ofNode(hand, async (node, cluster) => {
    const value = hand.number() % 4 === 0 ? null : `value-${hand.number() % 5}`;
    await hand.ask({ verb: 'label', node, label: hand.land.label(hand.number()), value }, cluster);
  });
}

async function moveGuest(hand: Hand): Promise<void> {
  const guest = hand.land.guest(hand.number());
  if (guest === null) return;
  const { cluster } = hand.land.home(hand.number());
  const { outcome } = await hand.ask({ verb: 'move', node: guest.id, cluster }, guest.cluster);
  if (outcome.type === 'ok') guest.cluster = cluster;
}

async function setRecovery(hand: Hand): Promise<void> {
  const guest = hand.land.guest(hand.number());
  if (guest === null) return;
  const { outcome } = await hand.ask({ verb: 'set-recovery', node: guest.id }, guest.cluster);
  if (outcome.type === 'ok' && outcome.secret !== undefined) guest.recovery = outcome.secret;
}

async function clearRecovery(hand: Hand): Promise<void> {
  const guest = hand.land.guest(hand.number());
  if (guest !== null) await hand.ask({ verb: 'clear-recovery', node: guest.id }, guest.cluster);
}

async function deleteGuest(hand: Hand): Promise<void> {
  const guest = hand.land.guest(hand.number());
  if (guest === null) return;
  const { outcome } = await hand.ask({ verb: 'delete-node', node: guest.id }, guest.cluster);
  if (outcome.type === 'ok' || outcome.type === 'refused') hand.land.guests.delete(guest.id);
}
