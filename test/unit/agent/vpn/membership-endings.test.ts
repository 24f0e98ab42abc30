/** When an agent is in no VPN: its machine can have no interface, or its admin has none. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { until } from '../../../support/until.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { ADMIN, EMBEDDED, type Fixture, open, welcomed } from './membership-fixture.ts';

test('a machine that can have no interface says so in its health, which is good, and tries again later', async (t) => {
  const fixture = open(t, { problem: 'it needs root' });

  fixture.membership.configured(EMBEDDED, ADMIN);
  await until('the note', () => fixture.membership.service.note?.() !== null);

  t.is(fixture.membership.service.note?.(), 'This machine joins no VPN: it needs root');
  t.is(fixture.membership.service.problem(), null);
  t.deepEqual(fixture.said, []);
});

test('an admin without a VPN, or with another kind of it, ends the membership', async (t) => {
  for (const settings of [{ mode: 'off' }, { mode: 'netmaker' }] as const) {
    const directory = temporaryDirectory(t);
    const fixture = open(t, { directory });
    await welcomed(fixture);
    fixture.joins(7);

    fixture.membership.configured(settings, ADMIN);

    await until('its end', () => fixture.ends.length > 0);
    t.deepEqual([fixture.ends, fixture.named.at(-1)], [[{ isKept: false }], null]);
    t.false(existsSync(join(directory, 'mesh-network.json')), 'the next start would be in it');
  }
});

test('an admin of a version without VPNs ends none: it is there while others become newer', async (t) => {
  const fixture = open(t);
  await welcomed(fixture);
  fixture.joins(7);

  fixture.membership.configured(undefined, ADMIN);
  await fixture.membership.close({ isKept: true });

  t.deepEqual(fixture.ends, [{ isKept: true }]);
});

test('an interface that is still being opened goes when the admin has no VPN, and when the machine must leave', async (t) => {
  for (const act of [
    (fixture: Fixture) => fixture.membership.configured({ mode: 'off' }, ADMIN),
    (fixture: Fixture) => void fixture.membership.close({ isKept: false }),
  ]) {
    const opened = Promise.withResolvers<void>();
    const fixture = open(t, { opened: opened.promise });
    fixture.membership.configured(EMBEDDED, ADMIN);

    act(fixture);
    opened.resolve();

    await until('its end', () => fixture.ends.length > 0);
    t.deepEqual([fixture.ends, fixture.said], [[{ isKept: false }], []]);
  }
});

test('an interface that cannot be removed is said, and ends nothing', async (t) => {
  const fixture = open(t, { ends: () => Promise.reject(new Error('ip: it failed')) });
  await welcomed(fixture);

  fixture.membership.configured({ mode: 'off' }, ADMIN);

  await t.notThrowsAsync(fixture.membership.close({ isKept: false }));
});
