/** Metadata costs little before anybody knows who signed it, and what is sound costs what grows with it. */
import test from 'ava';
import { Targets } from '@tufjs/models';
import { signTargets, VALIDITY } from '../../../../../cli/release/signing.ts';
import { RELEASE_TARGETS_MAX } from '../../../../../transport/protocol/releases.ts';
import {
  METADATA_DEPTH_MAX,
  METADATA_MEMBERS_MAX,
  METADATA_SIGNATURES_MAX,
  METADATA_TEXT_CHARS_MAX,
  METADATA_VALUES_MAX,
  metadataProblem,
  TARGET_VALUES_MAX,
} from '../../../../../transport/releases/repository/metadata.ts';
import { believe } from '../../../../../transport/releases/repository/trust.ts';
import { cpuMsOf } from '../../../../support/cpu-time.ts';
import { manyMembers, manyTargets, rootOfManyKeys, withSigned } from '../../../../support/releases/large-metadata.ts';
import { createReleases } from '../../../../support/releases/releases.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

/** A megabyte that is refused, or read, takes a tenth of this; with the square of it minutes. */
const CPU_MS_MAX = 1_000;

test.serial(
  'a megabyte that nobody signed is refused in little time, and says what there is too much of',
  async (t) => {
    const { repository, root } = await createReleases(temporaryDirectory(t));
    const texts = repository.metadata();
    const role = { keyids: [], threshold: 1 };
    const signatures = Object.values(manyMembers({ keyid: 'x', sig: '' }));
    const hashes = Object.fromEntries(Object.keys(manyMembers({})).map((name) => [name, '']));
    const cases = [
      [{ roots: [rootOfManyKeys(1)] }, /^root\.json has \d{5} keys, and at most 64 are read$/u],
      [{ roots: [withSigned(root, { roles: manyMembers(role) })] }, /^root\.json has \d{5} roles, /u],
      [
        { roots: [JSON.stringify({ ...JSON.parse(root), signatures })] },
        /^root\.json has \d{5} signatures, and at most 32 are read$/u,
      ],
      [
        { snapshot: withSigned(texts.snapshot, { meta: manyMembers({ version: 1 }) }) },
        /^snapshot\.json has \d{5} meta, /u,
      ],
      [
        { timestamp: withSigned(texts.timestamp, { meta: { 'snapshot.json': { version: 1, hashes } } }) },
        /^timestamp\.json has \d{5} hashes, /u,
      ],
      [
        { roots: [withSigned(root, { targets: manyTargets(RELEASE_TARGETS_MAX) })] },
        /^root\.json has 4096 targets, and at most 64 are read$/u,
      ],
      [{ roots: [withSigned(root, { _type: 'targets', targets: manyTargets(100) })] }, /^root\.json is no metadata /u],
      [
        { targets: withSigned(texts.targets, { targets: manyMembers({ length: 1, hashes: {} }) }) },
        /^targets\.json has \d{5} targets, and at most 4096 are read$/u,
      ],
      [
        { targets: withSigned(texts.targets, { delegations: { keys: manyMembers({ keytype: '' }) } }) },
        /^targets\.json has \d{5} keys, /u,
      ],
    ] as const;

    for (const [change, message] of cases) {
      const cpuMs = await cpuMsOf(() => t.throws(() => believe({ ...texts, ...change }, null, 0), { message }));
      t.true(cpuMs < CPU_MS_MAX, `${String(message)}: ${cpuMs} ms`);
    }
  },
);

test.serial('as many files as one repository may name are believed at once', async (t) => {
  const { repository, keys, root } = await createReleases(temporaryDirectory(t));
  const time = { nowMs: Date.now(), validity: VALIDITY };
  const signed = (count: number) => ({
    roots: [root],
    ...signTargets(repository.state(), manyTargets(count), keys, time),
  });
  let believed = 0;

  const cpuMs = await cpuMsOf(() => {
    believed = believe(signed(RELEASE_TARGETS_MAX), null, 0).targets.length;
  });

  t.is(believed, RELEASE_TARGETS_MAX);
  t.true(cpuMs < CPU_MS_MAX, `${cpuMs} ms`);
  t.throws(() => believe(signed(RELEASE_TARGETS_MAX + 1), null, 0), {
    message: 'targets.json has 4097 targets, and at most 4096 are read',
  });
});

test('each limit of metadata lets through what it names, and no more', (t) => {
  const nested = (levels: number): object => (levels === 1 ? {} : { in: nested(levels - 1) });
  const lists = (count: number) => Array.from({ length: count }, () => 0);
  // Two lists around 16 of 60 values, and one of the rest.
  const values = (count: number) => [Array.from({ length: 16 }, () => lists(60)), lists(count - 979)];
  const ofType = (type: string, targets: object) => ({ signed: { _type: type, targets } });
  const target = (count: number) => ofType('targets', { file: lists(count - 1) });
  const cases: readonly (readonly [made: (count: number) => unknown, max: number, problem: RegExp])[] = [
    [
      (count) => ({ signatures: lists(count) }),
      METADATA_SIGNATURES_MAX,
      /^has 33 signatures, and at most 32 are read$/u,
    ],
    [lists, METADATA_MEMBERS_MAX, /^has 65 members, and at most 64 are read$/u],
    [(count) => ofType('root', lists(count)), METADATA_MEMBERS_MAX, /^has 65 targets, and at most 64 are read$/u],
    [nested, METADATA_DEPTH_MAX, /^is nested deeper than 8 levels$/u],
    [(count) => ['a'.repeat(count)], METADATA_TEXT_CHARS_MAX, /^has a text of 4097 characters, and at most 4096 /u],
    [(count) => ({ ['a'.repeat(count)]: 1 }), METADATA_TEXT_CHARS_MAX, /^has a text of 4097 characters/u],
    [values, METADATA_VALUES_MAX, /^has more than 1024 values/u],
    [target, TARGET_VALUES_MAX, /more than 16 of one target$/u],
  ];

  for (const [made, max, problem] of cases) {
    t.is(metadataProblem(made(max)), null);
    t.regex(metadataProblem(made(max + 1)) ?? '', problem);
  }
});

test('targets are read and written as the library does it, only faster', (t) => {
  const target = (length: number) => ({ length, hashes: { sha256: 'a' }, custom: { of: 'ours' } });
  const head = { _type: 'targets', spec_version: '1.0.31', version: 1, expires: '2030-01-01T00:00:00Z' };
  const text = `{"__proto__":${JSON.stringify(target(1))},"b":${JSON.stringify(target(2))},"a":${JSON.stringify(target(3))}}`;
  const targets = JSON.parse(text) as Record<string, object>;
  const read = (change: object) => Targets.fromJSON({ ...head, targets, later: [1], ...change } as never);

  const found = read({ delegations: { keys: {}, roles: [] } });

  t.deepEqual(Object.keys(found.targets), ['__proto__', 'b', 'a']);
  t.is(found.targets['a']?.path, 'a');
  // Written by the library itself.
  t.is(
    JSON.stringify(found.toJSON()),
    `{"_type":"targets","spec_version":"1.0.31","version":1,"expires":"2030-01-01T00:00:00Z","targets":${text},"later":[1],"delegations":{"keys":{},"roles":[]}}`,
  );
  for (const wrong of [null, 'none', { a: 1 }])
    t.throws(() => read({ targets: wrong }), { name: 'TypeError', message: 'targets must be an object' });
  t.throws(() => read({ targets: { a: { length: 'long' } } }), { message: 'length must be a number' });
  t.deepEqual(Object.keys(read({ targets: undefined }).targets), []);
});
