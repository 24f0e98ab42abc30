/** What an agent keeps of its membership in files: its key, how it is rotated, and the VPN that it was told. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { column } from '../../../support/database/columns.ts';
import { until } from '../../../support/until.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { ADMIN, PEER, GATEWAY, EMBEDDED, PLACE, open, welcomed } from './membership-fixture.ts';

test('an agent that starts again is in its VPN before any admin answers, and says which state it holds', async (t) => {
  const directory = temporaryDirectory(t);
  const first = open(t, { directory });
  await welcomed(first);
  first.joins(7);
  await first.membership.close({ isKept: true });

  const second = open(t, { directory });
  await until('a member', () => second.wanted.length > 0);
  t.deepEqual([...(second.wanted[0]?.peers.keys() ?? [])], [PEER.public_key, GATEWAY.public_key]);
  second.membership.configured(EMBEDDED, ADMIN);

  t.is(second.publicKey(), first.publicKey());
  await until('what it holds', () =>
    second.said.some((word) => word.type === 'mesh-advertise' && word.advertisement.revision?.number === 7),
  );
  t.deepEqual(first.ends, [{ isKept: true }]);
});

test('an agent says once where it is when it starts, also where no admin hears it at first', async (t) => {
  const directory = temporaryDirectory(t);
  const first = open(t, { directory });
  await welcomed(first);
  first.joins(7);
  await first.membership.close({ isKept: true });
  t.deepEqual(column(first.said, 'type'), ['mesh-advertise']);

  let isHeard = false;
  const second = open(t, { directory, isHeard: () => isHeard });
  await until('a member that became what is known', () => second.wanted.length > 1);
  isHeard = true;
  second.membership.configured(EMBEDDED, ADMIN);
  await until('a member that says where it is', () => second.wanted.length > 2);
  t.true(second.ports().moved(PLACE));
  t.deepEqual(column(second.said, 'type'), ['mesh-advertise']);

  second.membership.configured(EMBEDDED, ADMIN);
  t.deepEqual(column(second.said, 'type'), ['mesh-advertise', 'mesh-advertise'], 'another session');
});

test('a new key is said first, and used when the others know it', async (t) => {
  const fixture = open(t);
  await welcomed(fixture);
  const before = fixture.publicKey();
  fixture.joins(7);
  const oldPrivate = fixture.wanted.at(-1)?.privateKey;
  fixture.said.length = 0;

  fixture.membership.rotate();
  const [word] = fixture.said;
  const next = word?.type === 'mesh-advertise' ? word.advertisement.public_key : '';
  t.not(next, before);
  t.is(fixture.publicKey(), before);
  fixture.changes(8);
  t.is(fixture.wanted.at(-1)?.privateKey, oldPrivate);

  fixture.joins(9, [PEER, GATEWAY], next);

  t.is(fixture.publicKey(), next);
  t.not(fixture.wanted.at(-1)?.privateKey, oldPrivate);
  t.is(fixture.wanted.at(-1)?.peers.size, 2);
});

test('a rotation that no admin has heard of goes on after a restart', async (t) => {
  const directory = temporaryDirectory(t);
  const first = open(t, { directory });
  await welcomed(first);
  first.joins(7);
  first.membership.rotate();
  const asked = first.said.at(-1);
  await first.membership.close({ isKept: true });

  const second = open(t, { directory });
  await welcomed(second);

  const again = second.said.at(-1);
  t.is(
    again?.type === 'mesh-advertise' && again.advertisement.public_key,
    asked?.type === 'mesh-advertise' && asked.advertisement.public_key,
  );
});

test('a new key that is known to the others, and could not be stored as the one in use, is it after a restart', async (t) => {
  const directory = temporaryDirectory(t);
  const first = open(t, { directory });
  await welcomed(first);
  first.joins(7);
  first.membership.rotate();
  const unturned = readFileSync(first.keysPath);
  const next = first.said.flatMap((word) => (word.type === 'mesh-advertise' ? [word.advertisement.public_key] : []));
  first.joins(8, [PEER, GATEWAY], next.at(-1));
  await first.membership.close({ isKept: true });
  writeFileSync(first.keysPath, unturned);

  const second = open(t, { directory });
  await welcomed(second);

  t.is(second.publicKey(), next.at(-1) ?? 'none was said');
  t.deepEqual(second.peers(), [PEER.public_key, GATEWAY.public_key]);
  t.like(second.said.at(-1), {
    type: 'mesh-advertise',
    advertisement: { public_key: next.at(-1), revision: { epoch: 1, number: 8 } },
  });
});

test('changes that come together are stored together, and all of them at the end', async (t) => {
  const directory = temporaryDirectory(t);
  const fixture = open(t, { directory });
  await welcomed(fixture);
  fixture.joins(7);
  const stored = (): unknown =>
    (JSON.parse(readFileSync(join(directory, 'mesh-network.json'), 'utf8')) as { revision: { number: number } })
      .revision.number;

  fixture.changes(8);
  fixture.changes(9);
  t.is(stored(), 7);
  fixture.clock.pass(1_000);
  t.is(stored(), 9);

  fixture.changes(10);
  await fixture.membership.close({ isKept: true });
  t.is(stored(), 10);
});

test('files that are damaged are made anew', async (t) => {
  const directory = temporaryDirectory(t);
  writeFileSync(join(directory, 'mesh-keys.json'), '{');
  writeFileSync(join(directory, 'mesh-network.json'), 'null');
  const fixture = open(t, { directory });

  await welcomed(fixture);

  t.is(fixture.publicKey().length, 44);
});
