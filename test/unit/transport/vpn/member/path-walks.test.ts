/** What holds of the path to one peer, whatever it is told. */
import test from 'ava';
import * as fc from 'fast-check';
import { AGREED_IN_MS, TRY_MS_MIN } from '../../../../../transport/vpn/member/limits.ts';
import { RELAY, type Way } from '../../../../../transport/vpn/member/path-state.ts';
import { direct, LAN, OUTSIDE, Path, relayed } from './path.ts';

const way = fc.constantFrom<Way | null>(RELAY, direct(LAN), direct(OUTSIDE), null);
const message = fc.oneof(
  fc.record({
    type: fc.constant('read' as const),
    way,
    received: fc.constantFrom(0, 32, 900),
    sent: fc.constantFrom(0, 32, 900),
    ageMs: fc.constantFrom(null, 0, 100_000, 300_000),
  }),
  fc.record({
    type: fc.constantFrom(
      'relay-opened' as const,
      'relay-lost' as const,
      'asked' as const,
      'heard' as const,
      'moved' as const,
    ),
  }),
  fc.record({
    type: fc.constantFrom('answered' as const, 'agreed' as const),
    inMs: fc.integer({ min: 0, max: 5_000 }),
  }),
  fc.record({ type: fc.constant('candidates-changed' as const), candidates: fc.subarray([LAN, OUTSIDE]) }),
);
const walk = fc.array(fc.tuple(message, fc.constantFrom(0, 1, 50, 1_000, 5_000, 30_000)), { maxLength: 120 });

/** What a peer could do to make a path change as often as it can. */
const hostile = fc.array(
  fc.tuple(
    fc.oneof(
      fc.record({
        type: fc.constant('read' as const),
        way: fc.constantFrom<Way>(RELAY, direct(LAN)),
        received: fc.constantFrom(0, 128),
        sent: fc.constantFrom(32, 900),
        ageMs: fc.constant(0),
      }),
      fc.record({ type: fc.constantFrom('asked' as const, 'heard' as const) }),
      fc.record({ type: fc.constant('agreed' as const), inMs: fc.constant(0) }),
    ),
    fc.constantFrom(0, 250, 2_500),
  ),
  { minLength: 20, maxLength: 200 },
);

type Told =
  | (typeof message extends fc.Arbitrary<infer T> ? T : never)
  | (typeof hostile extends fc.Arbitrary<(infer P)[]> ? (P extends readonly [infer T, number] ? T : never) : never);

function tellAll(path: Path, steps: readonly (readonly [Told, number])[], look: () => void): void {
  for (const [told, ms] of steps) {
    if (told.type === 'read') {
      path.handshakeAgeMs = told.ageMs;
      path.read(told.way, told);
    } else path.tell(told);
    look();
    passLooking(path, ms, look);
  }
}

function passLooking(path: Path, ms: number, look: () => void): void {
  const endMs = path.nowMs + ms;
  while (path.state.dueMs <= endMs) {
    path.nowMs = Math.max(path.nowMs, path.state.dueMs);
    path.tell({ type: 'time-passed' });
    look();
  }
  path.nowMs = endMs;
}

test('whatever it is told, peers cannot make a path leave the relay for a direct one more than once in ten seconds', (t) => {
  fc.assert(
    fc.property(
      fc.oneof<[fc.Arbitrary<[Told, number][]>, fc.Arbitrary<[Told, number][]>]>(walk, hostile),
      fc.boolean(),
      (steps, isFirst) => {
        // Without the loss of relays and sessions: whoever has none takes whatever it hears.
        const path = relayed({ isFirst });
        let before: string = path.state.path;
        let lastMs = -Infinity;
        tellAll(
          path,
          steps
            .filter(([{ type }]) => type !== 'relay-lost')
            .filter(([told]) => told.type !== 'read' || (told.ageMs !== 300_000 && told.ageMs !== null)),
          () => {
            const now = path.state.path;
            if (now === 'direct' && before !== 'direct') {
              if (path.nowMs - lastMs < TRY_MS_MIN) throw new Error(`direct again after ${path.nowMs - lastMs} ms`);
              lastMs = path.nowMs;
            }
            before = now;
          },
        );
      },
    ),
    { numRuns: 500 },
  );
  t.pass();
});

test('whatever it was told, a peer with a relay is never without a way, and ends relayed when only the relay works', (t) => {
  fc.assert(
    fc.property(walk, fc.boolean(), fc.boolean(), (steps, isFirst, hasRelay) => {
      const path = new Path({ isFirst, hasRelay });
      path.way = hasRelay ? RELAY : direct(LAN);
      tellAll(path, steps, () => {
        if (path.state.path === 'relayed' && !path.state.hasRelay) throw new Error('relayed without a relay');
        if (path.state.hasRelay && path.way === null) throw new Error('no way');
        if (
          path.state.dueMs === Infinity &&
          path.state.path !== 'direct' &&
          (path.state.hasRelay || path.state.candidates.length > 0)
        )
          throw new Error(`nothing is due: ${path.state.path}`);
      });
      path.tell({ type: 'relay-opened' });
      // From now on packets go through the relay alone, and both sides speak.
      path.handshakeAgeMs = 0;
      for (let count = 0; count < 200; count += 1) {
        passLooking(path, 1_000, () => {});
        const isThrough = path.way?.kind === 'relay';
        path.read(isThrough ? RELAY : path.way, { sent: 128, received: isThrough ? 128 : 0 });
      }
      if (path.state.path !== 'relayed' && path.state.path !== 'trying') throw new Error(`ended ${path.state.path}`);
    }),
    { numRuns: 300 },
  );
  t.pass();
});

test('whatever it was told, a peer that is heard directly and hears is direct in the end', (t) => {
  fc.assert(
    fc.property(walk, fc.boolean(), (steps, isFirst) => {
      const path = new Path({ isFirst });
      tellAll(path, steps, () => {});
      path.tell({ type: 'relay-opened' });
      path.tell({ type: 'candidates-changed', candidates: [LAN] }).tell({ type: 'moved' });
      path.handshakeAgeMs = 0;
      path.taken();
      const isDirect = (): boolean => path.state.path === 'direct';
      for (let count = 0; count < 10_000 && !isDirect(); count += 1) {
        passLooking(path, 1_000, () => {});
        for (const effect of path.taken()) {
          if (effect.type === 'say' && effect.message === 'ask') path.tell({ type: 'answered', inMs: AGREED_IN_MS });
          if (effect.type === 'probe') path.read(direct(LAN), { received: 32, sent: 32 }).tell({ type: 'heard' });
        }
        if (!isDirect()) path.read(RELAY, { received: 32, sent: 32 });
      }
      if (!isDirect()) throw new Error(`ended ${path.state.path}`);
    }),
    { numRuns: 100 },
  );
  t.pass();
});
