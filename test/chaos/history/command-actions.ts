/** What clients do with commands. */
import { uptimeS } from '../scripts.ts';
import type { Hand } from './hand.ts';
import type { Request } from './history.ts';
import type { AskedCommand, Home, Landscape } from './landscape.ts';
import { scriptText } from './simulated-nodes.ts';

/** How long a script takes, in ms. */
const SLEEPS_MS = [0, 0, 100, 400] as const;

/**
 * How long a script takes that is to be cancelled, in ms: longer than the longest in which a cancel reaches it with
 * nothing in its way, on a busy machine too.
 */
const LONG_MS = 20_000;

/** Until a command expires that does, in ms. */
const EXPIRES_MS = 3_000;

/** On some nodes of some home. */
export async function createCommand(hand: Hand): Promise<void> {
  const home = hand.land.home(hand.number());
  await createCommandIn(hand, home, SLEEPS_MS[hand.number() % SLEEPS_MS.length] ?? 0);
}

/**
 * On some nodes of this home, and perhaps on one that moves about. Resolves with its mark; null: nobody was told its
 * id.
 */
export async function createCommandIn(hand: Hand, { cluster, nodes }: Home, sleepMs: number): Promise<string | null> {
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
  if (id === undefined) return null;
  land.note(mark, { id, answeredS: uptimeS(), answeredAt: place });
  if (hand.number() % 8 === 0) hand.watch(id);
  return mark;
}

/** The request that creates it, the same each time. */
export function creationOf({ mark, key, expiresMs }: Pick<AskedCommand, 'mark' | 'key' | 'expiresMs'>): Request {
  const request = { verb: 'create', ...commandOf(mark), key, value: null, node: null } as const;
  return expiresMs === null ? request : { ...request, expiresMs };
}

/** As things that have a name. */
export function commandOf(mark: string) {
  return { resource: 'command', scope: '', name: mark } as const;
}

/** One of the last; nothing is done while there is none. */
export async function ofCommand(
  hand: Hand,
  act: (command: NonNullable<ReturnType<Landscape['command']>>) => Promise<void>,
): Promise<void> {
  const command = hand.land.command(hand.number());
  if (command !== null) await act(command);
}

/** One of the last, in whatever state it is. */
export async function cancelCommand(hand: Hand): Promise<void> {
  await ofCommand(hand, async ({ mark, id, cluster }) => {
    hand.land.note(mark, { isCancelled: true });
    await hand.ask({ verb: 'cancel', ...commandOf(mark), id }, cluster);
  });
}

/** One that runs until it is told to stop: an end by itself shows that nobody did. */
export async function cancelLongCommand(hand: Hand): Promise<void> {
  const { land } = hand;
  const mark = await createCommandIn(hand, land.home(hand.number()), LONG_MS);
  const command = land.commands.find((one) => one.mark === mark);
  if (mark === null || command === undefined) return;
  land.note(mark, { isCancelled: true });
  await hand.ask({ verb: 'cancel', ...commandOf(mark), id: command.id }, command.cluster, { again: true });
}

/** One of the last: refused while it is open. */
export async function deleteCommand(hand: Hand): Promise<void> {
  await ofCommand(hand, async ({ mark, id, cluster }) => {
    const { outcome } = await hand.ask({ verb: 'delete', ...commandOf(mark), id }, cluster);
    if (outcome.type === 'ok' || outcome.type === 'doubt') hand.land.note(mark, { isDeleted: true });
  });
}
