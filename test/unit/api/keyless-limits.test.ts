/** How often one address may do what needs no key. */
import test from 'ava';
import { createAddressLimits } from '../../../api/keyless-limits.ts';
import type { AnyOperation } from '../../../api/operation.ts';
import { create_public_enrollment_key, PUBLIC_KEYS_PER_HOUR_MAX } from '../../../api/operations/enrollment-keys.ts';
import type { Caller } from '../../../api/principals.ts';
import { PUBLIC_KEYS_MAX } from '../../../persistence/committer/enrollment-key-rows.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

const limited = (name: string, max: number | null, perHour: number | null = null) =>
  ({ name, fromOneAddressPerMinuteMax: max, fromOneAddressPerHourMax: perHour }) as AnyOperation;
const from = (address: string) => ({ address }) as Caller;

test('an address has so many calls of one operation a minute, and is told when there are more', (t) => {
  const clock = createFakeClock();
  const limits = createAddressLimits(clock);
  const isRefused = (operation: AnyOperation, address: string) => limits.begin(operation, from(address)) !== null;
  const create = limited('create', 2);

  t.deepEqual(
    ['192.0.2.1', '192.0.2.1', '192.0.2.1', '192.0.2.2'].map((address) => isRefused(create, address)),
    [false, false, true, false],
  );
  t.false(isRefused(limited('other', 2), '192.0.2.1'));
  clock.pass(20_500);
  t.like(limits.begin(create, from('192.0.2.1')), { code: 'rate_limited', retryAfterSeconds: 40 });
  clock.pass(39_500);
  t.false(isRefused(create, '192.0.2.1'));
});

test(`an address or /64 gets ${PUBLIC_KEYS_PER_HOUR_MAX} public enrolment keys an hour, a quarter of all, and delays no other`, (t) => {
  const clock = createFakeClock();
  const limits = createAddressLimits(clock);
  const make = (address: string) => limits.begin(create_public_enrollment_key, from(address));

  let made = 0;
  for (let minute = 0; minute < 59; minute += 1) {
    for (let tried = 0; tried < 30; tried += 1) made += make(`2001:db8::${tried + 1}`) === null ? 1 : 0;
    clock.pass(60_000);
  }

  t.is(made, PUBLIC_KEYS_PER_HOUR_MAX);
  t.true(made <= PUBLIC_KEYS_MAX / 4);
  t.is(make('2001:db8:0:1::1'), null);
  t.like(make('2001:db8::1'), { code: 'rate_limited', retryAfterSeconds: 60 });
  clock.pass(60_000);
  t.is(make('2001:db8::1'), null);
});

test('what came to nothing does not count, and refused calls lengthen nothing', (t) => {
  const limits = createAddressLimits(createFakeClock());
  const create = limited('create', 1);

  for (let tried = 0; tried < 5; tried += 1) {
    t.is(limits.begin(create, from('192.0.2.1')), null);
    limits.takeBack(create, from('192.0.2.1'));
  }
  t.is(limits.begin(create, from('192.0.2.1')), null);
  t.not(limits.begin(create, from('192.0.2.1')), null);
});

test('an operation without a limit has none', (t) => {
  const limits = createAddressLimits(createFakeClock());

  t.true(
    Array.from({ length: 1_000 }, () => limits.begin(limited('list', null), from('192.0.2.1'))).every(
      (one) => one === null,
    ),
  );
});
