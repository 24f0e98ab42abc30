/**
 * Two admins that know of each other, each with a real API server, in the test's own process; their rows are made up.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { TailSource } from '../../api/feeds/ports.ts';
import type { PeerAnswer, PeerCall, PeerCallHandler } from '../../api/forwarding/ports.ts';
import { createBus, type Bus } from '../../actors/bus.ts';
import { createVault, type Keyring } from '../../persistence/vault.ts';
import { systemClock } from '../../transport/net/clock.ts';
import { openAdminLinks, ROOT_KEY, type AdminLinks } from '../../transport/admins/open-admin-links.ts';
import type { InternalServer } from '../../transport/admins/entrances.ts';
import type { AdminTexts } from '../../transport/admins/database-calls.ts';
import { PeerKeys } from '../../transport/admins/peer-key.ts';
import type { CheckedIn } from '../../transport/admins/peers.ts';
import { LINK_VERSION, PING } from '../../transport/admins/protocol/version.ts';
import { serve, type Served } from './api/served.ts';
import { recordingLog } from './log.ts';
import type { Scope } from './scope.ts';
import { until } from './until.ts';

/** ENCRYPTION_KEY of both. */
export const LINK_KEY = Buffer.from('encryption-key-of-32-bytes-links');

/** One of them. */
export interface LinkedAdmin {
  readonly id: string;
  readonly instanceId: string;
  readonly row: CheckedIn;
  readonly links: AdminLinks;
  readonly served: Served;
  readonly log: ReturnType<typeof recordingLog>;
  /** Sockets over which others hear its news, or did. */
  readonly upgraded: Duplex[];
  /** What it commits, and what it hears of the others. */
  readonly bus: Bus;
  readonly news: Bus;
  /** What others may tail here: nothing at first. */
  tails: TailSource;
  /** What it does with a call: it answers `done` at first. */
  handler: PeerCallHandler;
  /**
   * Requests that its server offered to the entrance: whether it took each, and whether anything of its body was read.
   */
  readonly offered: { readonly length: number; readonly isTaken: boolean; readonly isRead: boolean }[];
  /** The same requests from the moment they are offered. */
  readonly offering: IncomingMessage[];
  /** Calls that came to its handler, in order. */
  readonly calls: PeerCall[];
  /** Its keys. */
  readonly vault: Keyring;
  /** How far its clock is ahead of the other's, in ms. */
  aheadMs: number;
  /** Tells it who is alive. */
  saw(...rows: readonly CheckedIn[]): void;
}

/** An admin that knows nobody. `key`: its ENCRYPTION_KEY; `former`: its ENCRYPTION_KEYS_OLD. */
export async function startLinked(
  t: Scope,
  name: string,
  {
    key = LINK_KEY,
    former = [] as readonly Buffer[],
    bodyBytesMax = 1_048_576,
    linkVersion = LINK_VERSION,
    textsOf = (_id: string): AdminTexts => NO_TEXTS,
  } = {},
): Promise<LinkedAdmin> {
  const served = await serve(t);
  const log = recordingLog();
  const [id, instanceId] = [randomUUID(), randomUUID()];
  let hear: (admins: readonly CheckedIn[]) => void = () => undefined;
  const vault = createVault(key, former);
  const admin = {
    id,
    vault,
    instanceId,
    row: { id, name, instanceId, peerUrl: served.url, linkVersion },
    served,
    log,
    bus: createBus(log),
    news: createBus(log),
    handler: async () => Promise.resolve(DONE),
    tails: { isHere: () => false, liveOutput: async () => Promise.resolve(null) },
    offered: [],
    offering: [],
    upgraded: [],
    calls: [] as PeerCall[],
    aheadMs: 0,
    saw: (...rows: readonly CheckedIn[]) => hear(rows),
  } as unknown as { -readonly [Key in keyof LinkedAdmin]: LinkedAdmin[Key] };
  admin.links = openAdminLinks(
    { MAX_BODY_BYTES: bodyBytesMax },
    {
      adminId: id,
      instanceId,
      vault,
      texts: textsOf(id),
      onAdmins: (listener) => {
        hear = listener;
      },
      clock: { nowMs: () => Date.now() + admin.aheadMs, after: (ms, run) => systemClock.after(ms, run) },
      bus: admin.bus,
      news: admin.news,
      log,
    },
  );
  const server: InternalServer = {
    onInternal: (path, take) =>
      served.api.onInternal(path, async (request, response) => {
        admin.offering.push(request);
        const isTaken = await take(request, response);
        admin.offered.push({
          length: Number(request.headers['content-length']),
          isTaken,
          isRead: request.readableDidRead,
        });
        return isTaken;
      }),
    onInternalUpgrade: (path, take) =>
      served.api.onInternalUpgrade(path, (request, socket, head) => {
        const isTaken = take(request, socket, head);
        if (isTaken) admin.upgraded.push(socket);
        return isTaken;
      }),
  };
  const takesCall: PeerCallHandler = async (call, from) => {
    admin.calls.push(call);
    return await admin.handler(call, from);
  };
  admin.links.admit(server, takesCall, {
    isHere: (node) => admin.tails.isHere(node),
    liveOutput: (...asked) => admin.tails.liveOutput(...asked),
  });
  t.teardown(() => admin.links.close());
  return admin;
}

/** Nobody hears anything. */
export const NO_TEXTS: AdminTexts = { tell: () => Promise.resolve(), hear() {} };

/** As a database carries them. */
export function sharedTexts(): (id: string) => AdminTexts {
  const hearers = new Map<string, (text: string) => void>();
  return (id) => ({
    async tell(admin, texts) {
      await Promise.resolve();
      for (const text of texts) hearers.get(admin)?.(text);
    },
    hear: (run) => void hearers.set(id, run),
  });
}

/** Two that know each other. */
export async function linkedAdmins(t: Scope): Promise<{ readonly a: LinkedAdmin; readonly b: LinkedAdmin }> {
  const [a, b] = [await startLinked(t, 'a'), await startLinked(t, 'b')];
  await reachEachOther(a, b);
  return { a, b };
}

/** Sees to it that each has a connection to the other: it must come about within 0.5 s, and is dialled until it did. */
export async function reachEachOther(a: LinkedAdmin, b: LinkedAdmin): Promise<void> {
  await until('each to reach the other', () => {
    for (const one of [a, b]) one.saw(a.row, b.row); // asks whom it has not reached
    return a.links.peers.isReached(b.id) && b.links.peers.isReached(a.id);
  });
}

/** Two that know each other, of which the first has a connection of calls to the other. */
export async function callLinkedAdmins(t: Scope): Promise<{ readonly a: LinkedAdmin; readonly b: LinkedAdmin }> {
  const { a, b } = await linkedAdmins(t);
  await callLinked(a, b);
  return { a, b };
}

/** Sees to it that calls of `a` to `b` go over one connection from now on. */
export async function callLinked(a: LinkedAdmin, b: LinkedAdmin): Promise<void> {
  await until('a connection of calls', async () => {
    await a.links.calls.call(b.id, callOf({ operation: PING }), noSignal());
    return a.links.calls.isLinked(b.id);
  });
}

/** What a handler answers at first. */
export const DONE: PeerAnswer = { type: 'answered', result: { ok: true, value: { done: true } } };

/** A call that nobody else made. */
export function callOf(changed: Partial<PeerCall> = {}): PeerCall {
  return {
    call_id: randomUUID(),
    operation: 'update_cluster',
    input: { name: 'one' },
    target: { kind: 'cluster', id: '0193a1c2-7b1e-7c44-9d3a-4f6a2b8c1d01' as never },
    epoch: 7,
    principal: 'api',
    surface: 'rest',
    request_id: 'request-1',
    traceparent: null,
    idempotency: null,
    remaining_ms: 60_000, // more than a test is held up
    attempt: 1,
    ...changed,
  };
}

/** Never aborted. */
export function noSignal(): AbortSignal {
  return new AbortController().signal;
}

/** The keys by which an admin speaks, for requests that a test makes by hand. */
export function keysOf({ id, instanceId }: Pick<LinkedAdmin, 'id' | 'instanceId'>, key = LINK_KEY): PeerKeys {
  return new PeerKeys(() => createVault(key).roots(ROOT_KEY), { admin: id, instance: instanceId });
}
