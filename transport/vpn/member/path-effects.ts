/** Carries out what paths ask for, many peers together: on the interface, its relay sockets and the relays. */
import { setTimeout as delay } from 'node:timers/promises';
import type { WireguardDevice } from '../wireguard/device.ts';
import { KEEPALIVE_SECONDS } from './limits.ts';
import { inSlices } from './slices.ts';
import type { PathEffect, Way } from './path-state.ts';
import type { RelaySockets } from './relay-sockets.ts';
import type { PeerMessage } from './peer-messages.ts';

/** An effect that one peer's path asks for. */
export interface PeerEffect {
  readonly publicKey: string;
  readonly effect: PathEffect;
}

/** What effects act on. */
export interface PathEffectPorts {
  readonly device: WireguardDevice;
  readonly relaySockets: RelaySockets;
  /** Over the relay. */
  readonly say: (publicKey: string, message: PeerMessage) => void;
  readonly wantsTry: (publicKey: string) => void;
  /**
   * Null: there is a session with this peer. Else WireGuard would keep silent for up to 5 s after its last handshake: a
   * peer that is added anew has a handshake at once.
   */
  readonly strange: (publicKey: string) => { readonly allowedIps: readonly string[] } | null;
  /** Reads the interface, and tells the paths. */
  readonly read: () => Promise<void>;
  /** Effects that came up meanwhile. */
  readonly taken: () => readonly PeerEffect[];
}

/** All of them, and those that come of them. */
export async function perform(effects: readonly PeerEffect[], ports: PathEffectPorts): Promise<void> {
  for (let open = effects; open.length > 0; open = ports.taken()) {
    await inSlices(open, (some) => {
      for (const peerEffect of some) speak(peerEffect, ports);
    });
    await usePaths(open, ports);
    await probe(open, ports);
  }
}

function speak({ publicKey, effect }: PeerEffect, { say, wantsTry, relaySockets }: PathEffectPorts): void {
  if (effect.type === 'say') say(publicKey, { type: effect.message });
  if (effect.type === 'say-agreed') say(publicKey, { type: 'agreed', inMs: effect.inMs });
  if (effect.type === 'want-try') wantsTry(publicKey);
  if (effect.type === 'settle') relaySockets.settle(publicKey, effect.forMs);
}

async function usePaths(
  effects: readonly PeerEffect[],
  { device, relaySockets, strange }: PathEffectPorts,
): Promise<void> {
  const used = new Map<string, { readonly way: Way; readonly isSentNow: boolean }>();
  for (const { publicKey, effect } of effects) {
    if (effect.type === 'use')
      used.set(publicKey, { way: effect.way, isSentNow: effect.isSentNow || used.get(publicKey)?.isSentNow === true });
  }
  const changes: { readonly publicKey: string; readonly isSentNow: boolean; readonly endpoint: string }[] = [];
  await inSlices([...used], async (some) => {
    const opened = await Promise.all(
      some.map(async ([publicKey, { way, isSentNow }]) => ({
        publicKey,
        isSentNow,
        endpoint: way.kind === 'relay' ? await relaySockets.open(publicKey) : way.endpoint,
      })),
    );
    changes.push(...opened);
  });
  const first = changes.flatMap(({ publicKey, endpoint, isSentNow }) => {
    const peer = isSentNow ? strange(publicKey) : null;
    return peer === null
      ? []
      : [{ publicKey, endpoint, allowedIps: peer.allowedIps, keepaliveSeconds: KEEPALIVE_SECONDS }];
  });
  if (first.length > 0) await device.apply({ set: first, removed: first.map(({ publicKey }) => publicKey) });
  const isFirst = new Set(first.map(({ publicKey }) => publicKey));
  const others = changes.filter(({ publicKey }) => !isFirst.has(publicKey));
  if (others.length > 0) await device.setEndpoints(others);
}

/** What a peer is sent, and when. */
interface Probe {
  readonly publicKey: string;
  readonly endpoints: readonly string[];
  readonly waitMs: number;
  readonly listenMs: number;
}

/**
 * One packet to each endpoint, while all else goes on over the relay: WireGuard sends the packet of a packet sent at
 * once where it was told to speak at that moment, and is told at once to speak over the relay again. What comes by the
 * relay is held back while it listens, since it would hide from where else the peer was heard.
 */
async function probe(effects: readonly PeerEffect[], { device, relaySockets, read }: PathEffectPorts): Promise<void> {
  const probes = effects.flatMap(({ publicKey, effect }) =>
    effect.type === 'probe' ? [{ publicKey, ...effect }] : [],
  );
  if (probes.length === 0) return;
  await inSlices(probes, (some) => Promise.all(some.map(({ publicKey }) => relaySockets.open(publicKey))));
  for (const { publicKey } of probes) relaySockets.hold(publicKey);
  try {
    const startedMs = performance.now();
    for (const waitMs of new Set(probes.map((one) => one.waitMs).toSorted((a, b) => a - b))) {
      await delay(Math.max(0, startedMs + waitMs - performance.now()));
      // Where a peer was heard from until now is seen now or never: probing sets another endpoint.
      await read();
      await sendProbes(
        probes.filter((one) => one.waitMs === waitMs),
        device,
        relaySockets,
      );
    }
    await delay(Math.max(...probes.map(({ listenMs }) => listenMs)));
    await read();
  } finally {
    for (const { publicKey } of probes) relaySockets.release(publicKey);
  }
}

async function sendProbes(
  probes: readonly Probe[],
  device: WireguardDevice,
  relaySockets: RelaySockets,
): Promise<void> {
  const turns = Math.max(...probes.map(({ endpoints }) => endpoints.length));
  for (let turn = 0; turn < turns; turn += 1) {
    await device.setEndpoints(
      probes.flatMap(({ publicKey, endpoints }) => {
        const endpoint = endpoints[turn];
        return endpoint === undefined ? [] : [{ publicKey, endpoint, isSentNow: true }];
      }),
    );
  }
  if (turns === 0) return;
  await device.setEndpoints(
    probes.flatMap(({ publicKey }) => {
      const endpoint = relaySockets.endpointOf(publicKey);
      return endpoint === null ? [] : [{ publicKey, endpoint, isSentNow: false }];
    }),
  );
}
