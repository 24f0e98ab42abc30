/** Work on thousands of peers leaves time for everything else. */
import { setImmediate as turn } from 'node:timers/promises';
import test from 'ava';
import type { PathEffect } from '../../../../../transport/vpn/member/path-state.ts';
import { perform, type PathEffectPorts } from '../../../../../transport/vpn/member/path-effects.ts';
import { prepareCandidates } from '../../../../../transport/vpn/member/candidates.ts';
import { inSlices, SLICE_PEERS } from '../../../../../transport/vpn/member/slices.ts';
import type { WireguardDevice } from '../../../../../transport/vpn/wireguard/device.ts';
import type { Scope } from '../../../../support/scope.ts';

const COUNT = 4 * SLICE_PEERS + 1;
const keys = Array.from({ length: COUNT }, (_, index) => `peer ${index}`);

/** Counts how much of a work is done in one turn of the event loop; the answer is the most. */
function turns(t: Scope): { readonly count: () => void; readonly most: () => number } {
  const over = new AbortController();
  t.teardown(() => over.abort());
  let [now, most] = [0, 0];
  void (async () => {
    for (; !over.signal.aborted; now = 0) await turn();
  })();
  const count = (): void => {
    now += 1;
    most = Math.max(most, now);
  };
  return { count, most: () => most };
}

test('the rest of the process has a turn after each slice, and all come in order', async (t) => {
  const { count, most } = turns(t);
  const seen: string[] = [];

  await inSlices(keys, (some) => {
    for (const one of some) {
      count();
      seen.push(one);
    }
  });

  t.deepEqual(seen, keys);
  t.is(most(), SLICE_PEERS);
});

test('what fails in a slice is told, and nothing follows it', async (t) => {
  const seen: number[] = [];
  const work = async (some: readonly string[]): Promise<void> => {
    if (seen.push(some.length) === 2) throw new Error('no socket left');
  };

  await t.throwsAsync(inSlices(keys, work), { message: 'no socket left' });
  t.is(seen.length, 2);
});

for (const [what, effect] of [
  ['relay sockets are opened', { type: 'use', way: { kind: 'relay' }, isSentNow: true }],
  ['messages are sent', { type: 'say', message: 'ask' }],
  ['tries are asked for', { type: 'want-try' }],
  ['relay sockets are opened before a try', { type: 'probe', endpoints: [], waitMs: 0, listenMs: 0 }],
] as const satisfies readonly (readonly [string, PathEffect])[])
  test(`${what} for thousands of peers in slices`, async (t) => {
    const { count, most } = turns(t);
    const ports = {
      device: { apply: async () => {}, setEndpoints: async () => {} } as unknown as WireguardDevice,
      relaySockets: {
        open: async () => {
          count();
          return '127.0.0.1:1';
        },
        hold: () => {},
        release: () => {},
      },
      say: count,
      wantsTry: count,
      strange: () => null,
      read: async () => {},
      taken: () => [],
    } as unknown as PathEffectPorts;

    await perform(
      keys.map((publicKey) => ({ publicKey, effect })),
      ports,
    );

    t.is(most(), SLICE_PEERS);
  });

test('candidates of thousands of peers are found in slices', async (t) => {
  const { count, most } = turns(t);
  const peers = keys.map(() => ({
    endpoints: new Proxy(['198.51.100.1:51820'], {
      get(target, name) {
        if (name === Symbol.iterator) count();
        return Reflect.get(target, name) as unknown;
      },
    }),
  }));

  await prepareCandidates(peers, { addresses: ['192.0.2.5/24'], listenPort: 1, vpnRanges: [] });

  t.is(most(), SLICE_PEERS);
});
