/** What is told of a member that is seen from two ports, and when. */
import test from 'ava';
import {
  SETTLE_MS,
  TOLD_AGAIN_MS,
  TOLD_BURST_MAX,
  TOLD_EVERY_MS,
} from '../../../../../transport/vpn/observer/limits.ts';
import { neverSeen, observe, toTell, type Place } from '../../../../../transport/vpn/observer/observed-endpoints.ts';

/** A member under two ports; `see` answers what is told then, null: nothing. */
function watch(ports = 2) {
  let nowMs = 0;
  let observed = neverSeen(ports);
  const look = (): Place | null => {
    const result = toTell(observed, nowMs);
    observed = result.observed;
    return result.place;
  };
  return {
    look,
    isDueLater: () => toTell(observed, nowMs).isDueLater,
    pass(ms: number) {
      nowMs += ms;
    },
    see(port: number, endpoint: string): Place | null {
      observed = observe(observed, port, endpoint, nowMs);
      return look();
    },
  };
}

test('a port that the observer got later than it saw the member counts from then on', (t) => {
  const member = watch(1);

  t.deepEqual(member.see(0, '198.51.100.7:1000'), { endpoint: '198.51.100.7:1000', isStable: null });
  t.deepEqual(member.see(1, '198.51.100.7:1000'), { endpoint: '198.51.100.7:1000', isStable: true });
});

test('the same place at both ports is stable, and told once', (t) => {
  const member = watch();

  t.is(member.see(0, '198.51.100.7:1000'), null);
  t.deepEqual(member.see(1, '198.51.100.7:1000'), { endpoint: '198.51.100.7:1000', isStable: true });
  member.pass(25_000);
  t.is(member.see(0, '198.51.100.7:1000'), null);
});

test('a member that only one port sees is told after a moment, without a word about its NAT', (t) => {
  const member = watch();
  member.see(0, '198.51.100.7:1000');
  t.true(member.isDueLater());

  member.pass(SETTLE_MS);

  t.deepEqual(member.look(), { endpoint: '198.51.100.7:1000', isStable: null });
  t.deepEqual(watch(1).see(0, '198.51.100.7:1000'), { endpoint: '198.51.100.7:1000', isStable: null });
});

test('a stable member that moved is told at once, and stays stable while the second port has not heard it', (t) => {
  const member = watch();
  member.see(0, '198.51.100.7:1000');
  member.see(1, '198.51.100.7:1000');
  member.pass(25_000);

  t.deepEqual(member.see(0, '203.0.113.9:2000'), { endpoint: '203.0.113.9:2000', isStable: true });
  member.pass(5_000);
  t.is(member.see(1, '203.0.113.9:2000'), null);
});

test('a member that moved behind a hard NAT is told so once the second port has heard it', (t) => {
  const member = watch();
  member.see(0, '198.51.100.7:1000');
  member.see(1, '198.51.100.7:1000');
  member.pass(25_000);
  member.see(0, '203.0.113.9:2000');
  member.pass(5_000);
  // Both moved, and the first was not heard since the second did: it may have moved again.
  t.deepEqual(member.see(1, '203.0.113.9:3000'), { endpoint: '203.0.113.9:3000', isStable: true });
  member.pass(20_000);

  t.deepEqual(member.see(0, '203.0.113.9:2000'), { endpoint: '203.0.113.9:3000', isStable: false });
});

test('behind a hard NAT another port is no news, and another address is', (t) => {
  const member = watch();
  member.see(0, '198.51.100.7:1000');
  member.pass(1_000);
  member.see(1, '198.51.100.7:2000');
  member.pass(2_000);
  t.deepEqual(member.see(0, '198.51.100.7:1000'), { endpoint: '198.51.100.7:2000', isStable: false });

  for (let port = 3_000; port < 3_010; port++) {
    member.pass(10_000);
    t.is(member.see(port % 2, `198.51.100.7:${port}`), null);
  }
  t.deepEqual(member.see(0, '203.0.113.9:4000'), { endpoint: '203.0.113.9:4000', isStable: false });
});

test('a member that moves all the time is told now and then, at last where it is', (t) => {
  const member = watch(1);
  let told = 0;
  for (let port = 1; port <= 100; port++) {
    if (member.see(0, `198.51.100.7:${port}`) !== null) told += 1;
    member.pass(100);
  }

  t.is(told, TOLD_BURST_MAX);
  t.true(member.isDueLater());
  member.pass(TOLD_EVERY_MS);
  t.deepEqual(member.look(), { endpoint: '198.51.100.7:100', isStable: null });
  t.false(member.isDueLater());
});

test('a place is told again after a while, as what was told before may be lost', (t) => {
  const member = watch(1);
  const place = { endpoint: '[2001:db8::7]:1000', isStable: null };
  t.deepEqual(member.see(0, place.endpoint), place);

  for (let ms = 25_000; ms < TOLD_AGAIN_MS; ms += 25_000) {
    member.pass(25_000);
    t.is(member.see(0, place.endpoint), null);
  }
  member.pass(25_000);
  t.deepEqual(member.see(0, place.endpoint), place);
});

test('places of both families do not tell of a NAT', (t) => {
  const member = watch();
  member.see(0, '198.51.100.7:1000');
  member.pass(SETTLE_MS);

  t.deepEqual(member.see(1, '[2001:db8::7]:1000'), { endpoint: '[2001:db8::7]:1000', isStable: null });
});
