/** What clients do, and how often: every kind of operation that changes something, and the reads that show it. */
import { REGISTRATION } from '../../../bench/product/simulated-agent.ts';
import {
  cancelCommand,
  cancelLongCommand,
  commandOf,
  createCommand,
  creationOf,
  deleteCommand,
  ofCommand,
} from './command-actions.ts';
import type { Hand } from './hand.ts';
import type { Call, Request, Resource } from './history.ts';
import type { Place } from './names.ts';

/** Guests at a time. */
const GUESTS_MAX = 12;

/** By how much they are chosen, in parts of all. */
export const ACTIONS: readonly (readonly [number, (hand: Hand) => Promise<void>])[] = [
  [10, createCommand],
  [10, (hand) => ofCommand(hand, ({ id }) => hand.see(id))],
  [4, cancelCommand],
  [2, cancelLongCommand],
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

/** What it has at first: a limit of nodes, words, and uses. */
const FIRST_VALUE: Readonly<Partial<Record<Resource, string>>> = { cluster: '5', group: 'new', enrollment_key: '2' };

async function createName(hand: Hand, place: Place): Promise<void> {
  const { resource, scope } = place.of;
  if (resource === 'cluster' && hand.land.areClustersAtRest) return showName(hand, place);
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
  if (place.of.resource === 'cluster' && hand.land.areClustersAtRest) return showName(hand, place);
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
