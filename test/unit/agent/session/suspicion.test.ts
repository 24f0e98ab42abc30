/** When an admin is suspicious, and how often others are asked meanwhile. */
import test from 'ava';
import { Suspicion } from '../../../../agent/session/suspicion.ts';

/** Times at which others are asked within 30 s from the first ping on, when each of them refuses at once. */
function asks(suspicion: Suspicion, isNextAtOnce: () => boolean = () => false): number[] {
  const times: number[] = [];
  suspicion.pinged(0);
  for (let nowMs = 0; nowMs < 30_000; nowMs += 100)
    if (suspicion.takeAsk(nowMs)) {
      times.push(nowMs);
      suspicion.refused(nowMs, isNextAtOnce(), 0.5);
    }
  return times;
}

test('an admin that answers every ping in time is never suspicious', (t) => {
  const suspicion = new Suspicion(3_000);
  for (let pings = 0; pings < 10; pings += 1) {
    const nowMs = pings * 3_300;
    suspicion.pinged(nowMs);
    t.false(suspicion.takeAsk(nowMs + 2_999));
    t.false(suspicion.heard());
    t.is(suspicion.nextMs(nowMs + 2_999), Infinity);
  }
});

test('the time counts from the first ping that nothing followed', (t) => {
  const suspicion = new Suspicion(3_000);

  suspicion.pinged(1_000);
  suspicion.pinged(3_500);

  t.is(suspicion.nextMs(3_500), 500);
  t.false(suspicion.takeAsk(3_999));
  t.true(suspicion.takeAsk(4_000));
});

test('an agent that was suspended reads what came meanwhile before it suspects its admin', (t) => {
  const suspicion = new Suspicion(3_000);
  suspicion.pinged(0);

  t.false(suspicion.takeAsk(10_000));
  t.is(suspicion.nextMs(10_000), 100);
  t.true(suspicion.takeAsk(10_100));
});

test('nobody else is asked while an answer is awaited, however long that takes', (t) => {
  const suspicion = new Suspicion(3_000);
  suspicion.pinged(0);
  t.true(suspicion.takeAsk(3_000));

  t.is(suspicion.nextMs(3_000), Infinity);
  t.false(suspicion.takeAsk(60_000));
});

test('those that refuse are asked again after 1 s, then after twice as long each time, up to 8 s', (t) => {
  t.deepEqual(asks(new Suspicion(3_000)), [3_000, 4_000, 6_000, 10_000, 18_000, 26_000]);
});

test('the next one that may help is asked almost at once, which lengthens no wait', (t) => {
  let refusals = 0;

  const times = asks(new Suspicion(3_000), () => (refusals += 1) === 1);

  t.deepEqual(times.slice(0, 4), [3_000, 3_100, 4_100, 6_100]);
});

test('an admin that says something is trusted at once, and what its stand-in says later changes nothing', (t) => {
  const suspicion = new Suspicion(3_000);
  suspicion.pinged(0);
  suspicion.takeAsk(3_000);

  t.true(suspicion.heard());
  suspicion.refused(3_500, true, 0);

  t.is(suspicion.nextMs(3_500), Infinity);
  suspicion.pinged(4_000);
  t.is(suspicion.nextMs(4_000), 3_000);
});
