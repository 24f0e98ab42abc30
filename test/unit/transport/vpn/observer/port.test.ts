/** What one port answers, and to whom. */
import type { RemoteInfo } from 'node:dgram';
import { setImmediate as turn } from 'node:timers/promises';
import test from 'ava';
import { assert, constantFrom, oneof, property, tuple, uint8Array } from 'fast-check';
import { noneObserved } from '../../../../../transport/vpn/observer/counters.ts';
import {
  HANDSHAKES_BURST_MAX,
  SESSION_MS_MAX,
  SOURCE_HANDSHAKES_BURST_MAX,
} from '../../../../../transport/vpn/observer/limits.ts';
import { Responder } from '../../../../../transport/vpn/observer/noise.ts';
import { ObserverPort } from '../../../../../transport/vpn/observer/port.ts';
import { createHandshakeQuota } from '../../../../../transport/vpn/observer/quota.ts';
import { until } from '../../../../support/until.ts';
import { begin, newPair, sign, type Pair } from './initiator.ts';

/** A port without a socket: what it sends and sees. */
function startPort({
  members = [newPair()],
  memberOf = undefined as ((key: string) => Promise<string | null>) | undefined,
} = {}) {
  const responder = new Responder();
  const counters = noneObserved();
  const sent: { packet: Buffer; to: RemoteInfo }[] = [];
  const seen: { publicKey: string; from: string }[] = [];
  let nowMs = 1_000_000;
  let asked = 0;
  const port = new ObserverPort<string>({
    responder,
    counters,
    quota: createHandshakeQuota(),
    monotonicMs: () => nowMs,
    memberOf: memberOf ?? (async (key) => (members.some(({ text }) => text === key) ? key : null)),
    send: (packet, to) => {
      sent.push({ packet, to });
    },
    seen: (publicKey, _member, from) => {
      seen.push({ publicKey, from: `${from.address}:${from.port}` });
    },
  });
  const total = (): number => Object.values(counters.packets).reduce((sum, one) => sum + one, 0);
  return {
    port,
    counters,
    sent,
    seen,
    responder,
    members,
    pass(ms: number) {
      nowMs += ms;
    },
    /** Gives it packets and waits until each was counted. */
    async take(packet: Buffer, from: RemoteInfo = place()): Promise<void> {
      asked += 1;
      port.take(Buffer.from(packet), from);
      while (total() < asked) await turn();
    },
  };
}

function place(address = '198.51.100.7', port = 40_000): RemoteInfo {
  return { address, port, family: 'IPv4', size: 0 };
}

/** A whole handshake; the maker of empty packets. */
async function shake(
  fixture: ReturnType<typeof startPort>,
  own: Pair,
  stampMs: number,
  from = place(),
): Promise<(counter: bigint) => Buffer> {
  const begun = begin(own, fixture.responder.publicKey, stampMs);
  await fixture.take(begun.packet, from);
  return begun.finish(fixture.sent.at(-1)?.packet ?? Buffer.alloc(0));
}

test('a member is seen where its first packet after the handshake comes from, not where the handshake came from', async (t) => {
  const fixture = startPort();
  const [member = newPair()] = fixture.members;

  const keepalive = await shake(fixture, member, 1_000);
  t.deepEqual(fixture.seen, []);
  await fixture.take(keepalive(0n), place('203.0.113.9', 50_000));

  t.deepEqual(fixture.seen, [{ publicKey: member.text, from: '203.0.113.9:50000' }]);
});

test('a packet that came before is not believed to come from elsewhere', async (t) => {
  const fixture = startPort();
  const [member = newPair()] = fixture.members;
  const keepalive = await shake(fixture, member, 1_000);
  await fixture.take(keepalive(4n));

  await fixture.take(keepalive(4n), place('203.0.113.66'));
  await fixture.take(keepalive(3n), place('203.0.113.66'));

  t.is(fixture.counters.packets.replayed, 2);
  t.is(fixture.seen.length, 1);
});

test("one changed bit makes an empty packet nobody's", async (t) => {
  const fixture = startPort();
  const [member = newPair()] = fixture.members;
  const keepalive = (await shake(fixture, member, 1_000))(0n);

  for (let at = 0; at < keepalive.length; at++) {
    const changed = Buffer.from(keepalive);
    changed[at] = (changed[at] ?? 0) ^ 0x10;
    await fixture.take(changed, place('203.0.113.66'));
  }

  t.deepEqual(fixture.seen, []);
  await fixture.take(keepalive);
  t.is(fixture.seen.length, 1);
});

test('a handshake that came before is not answered again, and does not end the session that it made', async (t) => {
  const fixture = startPort();
  const [member = newPair()] = fixture.members;
  const begun = begin(member, fixture.responder.publicKey, 2_000);
  await fixture.take(begun.packet);
  const keepalive = begun.finish(fixture.sent[0]?.packet ?? Buffer.alloc(0));
  fixture.pass(1_000);

  await fixture.take(begun.packet, place('203.0.113.66'));
  await fixture.take(begin(member, fixture.responder.publicKey, 1_999).packet, place('203.0.113.66'));

  t.is(fixture.sent.length, 1);
  t.is(fixture.counters.packets.replayed, 2);
  await fixture.take(keepalive(0n));
  t.is(fixture.seen.length, 1);
});

test('a session goes on while the next one is begun, until that is used', async (t) => {
  const fixture = startPort();
  const [member = newPair()] = fixture.members;
  const first = await shake(fixture, member, 1_000);
  await fixture.take(first(0n));
  fixture.pass(120_000);
  const second = await shake(fixture, member, 121_000);

  await fixture.take(first(1n));
  await fixture.take(second(0n));
  await fixture.take(first(2n));

  t.is(fixture.seen.length, 3);
  t.is(fixture.counters.packets.unknown_session, 1);
});

test('a member whose clock was set back is answered again once its last session has ended', async (t) => {
  const fixture = startPort();
  const [member = newPair()] = fixture.members;
  await shake(fixture, member, 10_000_000);
  fixture.pass(SESSION_MS_MAX + 1_000);
  fixture.port.sweep();

  const keepalive = await shake(fixture, member, 1_000);
  await fixture.take(keepalive(0n));

  t.is(fixture.seen.length, 1);
});

test('nobody who is no member is answered, nor who pretends to be one, nor who does not know the key of the port', async (t) => {
  const fixture = startPort();
  const [member = newPair()] = fixture.members;
  const stranger = newPair();
  const { publicKey } = fixture.responder;

  await fixture.take(begin(stranger, publicKey, 1_000).packet);
  // names a member's key, and has another
  await fixture.take(begin({ ...stranger, publicKey: member.publicKey }, publicKey, 1_000).packet);
  await fixture.take(begin(member, newPair().text, 1_000).packet);
  for (const part of [8, 40, 88])
    await fixture.take(
      begin(member, publicKey, 1_000, {
        tampered: (packet) => {
          packet.writeUInt8(packet.readUInt8(part) ^ 1, part);
        },
      }).packet,
    );

  t.deepEqual(fixture.sent, []);
  t.deepEqual({ ...fixture.counters.packets }, { ...noneObserved().packets, stranger: 1, forged: 4, garbage: 1 });
  t.is(fixture.port.members(), 0);
});

test('a member that left is forgotten with its next handshake', async (t) => {
  const fixture = startPort({ members: [newPair()] });
  const { members } = fixture;
  const [member = newPair()] = members;
  const keepalive = await shake(fixture, member, 1_000);
  members.pop();
  fixture.pass(1_000);

  await fixture.take(begin(member, fixture.responder.publicKey, 2_000).packet);
  await fixture.take(keepalive(0n));

  t.is(fixture.sent.length, 1);
  t.deepEqual(fixture.seen, []);
});

test('while the rows are away, those who were members are, and others wait', async (t) => {
  let isAway = false;
  const member = newPair();
  const fixture = startPort({
    memberOf: async (key) => {
      if (isAway) throw new Error('away');
      return key;
    },
  });
  await shake(fixture, member, 1_000);
  isAway = true;
  fixture.pass(1_000);

  await shake(fixture, member, 2_000);
  await fixture.take(begin(newPair(), fixture.responder.publicKey, 1_000).packet);

  t.is(fixture.sent.length, 2);
  t.is(fixture.counters.packets.unanswered, 1);
});

test("a key that nobody can have is nobody's: where the secret would be known to all", async (t) => {
  const fixture = startPort();
  const packet = begin(newPair(), fixture.responder.publicKey, 1_000, {
    tampered: (changed) => {
      changed.fill(0, 8, 40);
    },
  }).packet;

  await fixture.take(packet);

  t.is(fixture.counters.packets.forged, 1);
  t.is(new Responder().initiator(Buffer.alloc(32).toString('base64')), null);
});

test('one source begins no more handshakes than its share, and all together no more than theirs', async (t) => {
  const fixture = startPort();
  const stranger = newPair();
  const { packet } = begin(stranger, fixture.responder.publicKey, 1_000);

  for (let n = 0; n < SOURCE_HANDSHAKES_BURST_MAX + 10; n++) await fixture.take(packet);
  t.is(fixture.counters.packets.limited, 10);
  for (let n = 0; n < HANDSHAKES_BURST_MAX; n++) await fixture.take(packet, place(`2001:db8:0:${n.toString(16)}::1`));

  t.is(fixture.counters.packets.stranger, HANDSHAKES_BURST_MAX);
  fixture.pass(1_000);
  const [member = newPair()] = fixture.members;
  await fixture.take(begin(member, fixture.responder.publicKey, 1_000).packet, place('203.0.113.1'));
  t.is(fixture.sent.length, 1);
});

test('all addresses of one /64 are one source', async (t) => {
  const fixture = startPort();
  const { packet } = begin(newPair(), fixture.responder.publicKey, 1_000);

  for (let n = 0; n < SOURCE_HANDSHAKES_BURST_MAX + 10; n++)
    await fixture.take(packet, place(`2001:db8::${n.toString(16)}:1`));

  t.is(fixture.counters.packets.limited, 10);
});

test('garbage of any size and kind is never answered and never throws', async (t) => {
  const { port, sent, counters, responder } = startPort();
  const bytes = uint8Array({ minLength: 0, maxLength: 300 }).map((array) => Buffer.from(array));
  const typed = tuple(constantFrom(1, 2, 3, 4), constantFrom(31, 32, 33, 64, 92, 147, 148, 149, 1_500), bytes).map(
    ([type, length, noise]) => {
      const packet = Buffer.alloc(length);
      noise.copy(packet, 0, 0, length);
      packet.writeUInt32LE(type, 0);
      return packet;
    },
  );
  const signed = typed.filter((packet) => packet.length === 148).map((packet) => sign(packet, responder.publicKey));

  assert(
    property(oneof(bytes, typed, signed), (packet) => {
      port.take(packet, place());
    }),
    { numRuns: 3_000 },
  );
  await until('all outcomes', () => Object.values(counters.packets).reduce((sum, one) => sum + one, 0) >= 3_000);

  t.deepEqual(sent, []);
});
