/** Carries out what paths ask for, many peers together: on the interface, its shims and the relays. */
import { setTimeout as delay } from 'node:timers/promises';
import type { WireguardDevice } from '../wireguard/device.ts';
import { KEEPALIVE_SECONDS } from './limits.ts';
import type { PathEffect, Way } from './path-state.ts';
import type { Shims } from './shims.ts';
import type { Word } from './words.ts';

/** One peer's wish. */
export interface Wish {
  readonly publicKey: string;
  readonly effect: PathEffect;
}

/** Where wishes come true. */
export interface DeedPorts {
  readonly device: WireguardDevice;
  readonly shims: Shims;
  /** Over the relay. */
  readonly say: (publicKey: string, word: Word) => void;
  readonly wantsTry: (publicKey: string) => void;
  /**
   * Null: there is a session with this peer. Else WireGuard would keep silent for up to 5 s after its last handshake: a
   * peer that is added anew is greeted at once.
   */
  readonly strange: (publicKey: string) => { readonly allowedIps: readonly string[] } | null;
  /** Reads the interface, and tells the paths. */
  readonly read: () => Promise<void>;
  /** Wishes that came up meanwhile. */
  readonly taken: () => readonly Wish[];
}

/** All of them, and those that come of them. */
export async function perform(wishes: readonly Wish[], ports: DeedPorts): Promise<void> {
  for (let open = wishes; open.length > 0; open = ports.taken()) {
    for (const wish of open) speak(wish, ports);
    await useWays(open, ports);
    await knock(open, ports);
  }
}

function speak({ publicKey, effect }: Wish, { say, wantsTry, shims }: DeedPorts): void {
  if (effect.type === 'say') say(publicKey, { type: effect.word });
  if (effect.type === 'say-agreed') say(publicKey, { type: 'agreed', inMs: effect.inMs });
  if (effect.type === 'want-try') wantsTry(publicKey);
  if (effect.type === 'settle') shims.settle(publicKey, effect.forMs);
}

async function useWays(wishes: readonly Wish[], { device, shims, strange }: DeedPorts): Promise<void> {
  const used = new Map<string, { readonly way: Way; readonly isSentNow: boolean }>();
  for (const { publicKey, effect } of wishes) {
    if (effect.type === 'use')
      used.set(publicKey, { way: effect.way, isSentNow: effect.isSentNow || used.get(publicKey)?.isSentNow === true });
  }
  const changes = await Promise.all(
    [...used].map(async ([publicKey, { way, isSentNow }]) => ({
      publicKey,
      isSentNow,
      endpoint: way.kind === 'relay' ? await shims.open(publicKey) : way.endpoint,
    })),
  );
  const first = changes.flatMap(({ publicKey, endpoint, isSentNow }) => {
    const peer = isSentNow ? strange(publicKey) : null;
    return peer === null
      ? []
      : [{ publicKey, endpoint, allowedIps: peer.allowedIps, keepaliveSeconds: KEEPALIVE_SECONDS }];
  });
  if (first.length > 0) await device.apply({ set: first, removed: first.map(({ publicKey }) => publicKey) });
  const others = changes.filter(({ publicKey }) => !first.some((one) => one.publicKey === publicKey));
  if (others.length > 0) await device.setEndpoints(others);
}

/** What a peer is sent, and when. */
interface Knock {
  readonly publicKey: string;
  readonly endpoints: readonly string[];
  readonly waitMs: number;
  readonly listenMs: number;
}

/**
 * One packet to each endpoint, while all else goes on over the relay: WireGuard sends the packet of a packet sent at once where it was
 * told to speak at that moment, and is told at once to speak over the relay again. What comes by the relay is held back
 * while it listens, since it would hide from where else the peer was heard.
 */
async function knock(wishes: readonly Wish[], { device, shims, read }: DeedPorts): Promise<void> {
  const knocks = wishes.flatMap(({ publicKey, effect }) => (effect.type === 'knock' ? [{ publicKey, ...effect }] : []));
  if (knocks.length === 0) return;
  await Promise.all(knocks.map(({ publicKey }) => shims.open(publicKey)));
  for (const { publicKey } of knocks) shims.hold(publicKey);
  try {
    const startedMs = performance.now();
    for (const waitMs of new Set(knocks.map((one) => one.waitMs).toSorted((a, b) => a - b))) {
      await delay(Math.max(0, startedMs + waitMs - performance.now()));
      // Where a peer was heard from until now is seen now or never: knocking sets another endpoint.
      await read();
      await knockAt(
        knocks.filter((one) => one.waitMs === waitMs),
        device,
        shims,
      );
    }
    await delay(Math.max(...knocks.map(({ listenMs }) => listenMs)));
    await read();
  } finally {
    for (const { publicKey } of knocks) shims.release(publicKey);
  }
}

async function knockAt(knocks: readonly Knock[], device: WireguardDevice, shims: Shims): Promise<void> {
  const turns = Math.max(...knocks.map(({ endpoints }) => endpoints.length));
  for (let turn = 0; turn < turns; turn += 1) {
    await device.setEndpoints(
      knocks.flatMap(({ publicKey, endpoints }) => {
        const endpoint = endpoints[turn];
        return endpoint === undefined ? [] : [{ publicKey, endpoint, isSentNow: true }];
      }),
    );
  }
  if (turns === 0) return;
  await device.setEndpoints(
    knocks.flatMap(({ publicKey }) => {
      const endpoint = shims.endpointOf(publicKey);
      return endpoint === null ? [] : [{ publicKey, endpoint, isSentNow: false }];
    }),
  );
}
