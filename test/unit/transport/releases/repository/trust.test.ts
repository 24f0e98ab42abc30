import test from 'ava';
import { assert, constantFrom, integer, nat, property } from 'fast-check';
import { believe, VERSION_MAX, type MetadataTexts } from '../../../../../transport/releases/repository/trust.ts';
import { planOf } from '../../../../../cli/release/releases.ts';
import { signRoot, signTimestamp, VALIDITY } from '../../../../../cli/release/signing.ts';
import { createReleases } from '../../../../support/releases/releases.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

test('no byte of the metadata can be changed so that something else is believed', async (t) => {
  const releases = await createReleases(temporaryDirectory(t));
  await releases.add({ version: '0.2.0' });
  await releases.promote('0.2.0');
  const texts = releases.repository.metadata();
  const trusted = { ...texts, root: releases.root };
  const nowMs = Date.now();
  const right = believe(texts, trusted, nowMs);
  const files = ['timestamp', 'snapshot', 'targets', 'root'] as const;

  assert(
    property(constantFrom(...files), nat(), integer({ min: 32, max: 126 }), (file, place, code) => {
      const text = file === 'root' ? releases.root : texts[file];
      const at = place % text.length;
      const changed = `${text.slice(0, at)}${String.fromCodePoint(code)}${text.slice(at + 1)}`;
      if (changed === text) return true;
      const next: MetadataTexts = file === 'root' ? { ...texts, roots: [changed] } : { ...texts, [file]: changed };
      try {
        return JSON.stringify(believe(next, trusted, nowMs)) === JSON.stringify(right);
      } catch {
        return true;
      }
    }),
    { numRuns: 500 },
  );
  t.pass();
});

test('versions that no file is served for, and times that a database may not know, are refused', async (t) => {
  const { repository, keys, root } = await createReleases(temporaryDirectory(t));
  const signed = (version: number, nowMs: number) => {
    const timestamp = JSON.stringify({ signed: { version: version - 1 } });
    const time = { nowMs, validity: VALIDITY };
    return {
      ...repository.metadata(),
      roots: [root],
      timestamp: signTimestamp({ ...repository.state(), timestamp }, keys, time),
    };
  };

  t.notThrows(() => believe(signed(VERSION_MAX, Date.now()), null, Date.now()));
  t.throws(() => believe(signed(VERSION_MAX + 1, Date.now()), null, Date.now()), {
    message: 'timestamp.json has a version above 999999999',
  });
  t.throws(() => believe(signed(2, Date.UTC(10_000, 0)), null, Date.now()), {
    message: /^timestamp\.json has an end that is no time like \S+: \+010000-01-31T00:00:00Z$/u,
  });
});

test('a root is believed only by the keys of the one before, also where its own keys signed it', async (t) => {
  const { repository, root } = await createReleases(temporaryDirectory(t));
  const strangers = await createReleases(temporaryDirectory(t));
  const time = { nowMs: Date.now(), validity: VALIDITY };
  const theirs = signRoot(strangers.root, planOf(strangers.keys, 1), strangers.keys, time);

  t.notThrows(() => believe({ ...strangers.repository.metadata(), roots: [strangers.root, theirs] }, null, time.nowMs));
  for (const trusted of [null, { ...repository.metadata(), root }])
    t.throws(() => believe({ ...strangers.repository.metadata(), roots: [root, theirs] }, trusted, time.nowMs), {
      message: '2.root.json is not signed by the keys of the root before it',
    });
});

test('parts that were signed at different times do not go together', async (t) => {
  const releases = await createReleases(temporaryDirectory(t));
  const before = releases.repository.metadata();
  await releases.add({ version: '0.2.0' });
  const now = releases.repository.metadata();
  const nowMs = Date.now();

  t.notThrows(() => believe(now, null, nowMs));
  t.throws(() => believe({ ...now, targets: before.targets }, null, nowMs), {
    message: 'targets.json is version 1, and 2 is named',
  });
  t.throws(() => believe({ ...now, snapshot: before.snapshot, targets: before.targets }, null, nowMs), {
    message: 'snapshot.json is version 1, and 2 is named',
  });
});
