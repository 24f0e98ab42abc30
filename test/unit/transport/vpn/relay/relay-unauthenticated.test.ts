/** How many connections to a relay one source may hold before it has proven a key. */
import { Duplex } from 'node:stream';
import test, { type ExecutionContext } from 'ava';
import { openAdmission } from '../../../../support/vpn/relay.ts';
import { silentLog } from '../../../../support/log.ts';
import { UNAUTHENTICATED_MAX, UNAUTHENTICATED_OF_ADDRESS_MAX } from '../../../../../transport/vpn/relay/limits.ts';
import { Relay } from '../../../../../transport/vpn/relay/relay.ts';

/** A relay, and connections to it that never say anything, from wherever they like. */
function open(t: ExecutionContext) {
  const relay = new Relay({ admission: openAdmission, log: silentLog });
  const streams: Duplex[] = [];
  t.teardown(() => {
    relay.close();
    for (const stream of streams) stream.destroy();
  });
  const connect = (address: string): Duplex => {
    const stream = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
    streams.push(stream);
    relay.accept(stream, Buffer.alloc(0), address);
    return stream;
  };
  const enter = (count: number, addressOf: (index: number) => string): number =>
    Array.from({ length: count }, (_none, index) => connect(addressOf(index))).filter(({ destroyed }) => !destroyed)
      .length;
  return { relay, connect, enter };
}

test('an IPv6 machine that takes another address of its /64 each time does not take the places of others (L1)', (t) => {
  const { relay, connect, enter } = open(t);

  const entered = enter(UNAUTHENTICATED_MAX, (index) => `2001:db8:1:2::${(index + 1).toString(16)}`);

  t.is(entered, UNAUTHENTICATED_OF_ADDRESS_MAX);
  t.is(relay.counters.refused.crowded, UNAUTHENTICATED_MAX - UNAUTHENTICATED_OF_ADDRESS_MAX);
  t.false(connect('2001:db8:1:3::1').destroyed);
  t.false(connect('192.0.2.1').destroyed);
});

test('an IPv4 address has as many in either way of writing it, and all sources together have an end', (t) => {
  const { enter } = open(t);

  t.is(
    enter(2 * UNAUTHENTICATED_OF_ADDRESS_MAX, (index) => (index % 2 === 0 ? '192.0.2.1' : '::ffff:192.0.2.1')),
    UNAUTHENTICATED_OF_ADDRESS_MAX,
  );
  t.is(
    enter(UNAUTHENTICATED_MAX, (index) => `198.51.100.${index % 250}`),
    UNAUTHENTICATED_MAX - UNAUTHENTICATED_OF_ADDRESS_MAX,
  );
});
