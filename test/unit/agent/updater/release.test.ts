import test from 'ava';
import { compareVersions, machineArch, parseRelease, versionName } from '../../../../agent/updater/release.ts';
import { downgradeProblem } from '../../../../agent/updater/trust.ts';

const FILE = { sha256: 'a'.repeat(64), bytes: 1, packed_sha256: 'b'.repeat(64), packed_bytes: 1 };
const RELEASE = {
  version: '0.2.0',
  released_at: '2026-01-01T00:00:00Z',
  arch: 'linux-x64',
  journal_schema: 1,
  protocol: 11,
  files: ['node', 'edge-agent.cjs', 'edge-updater.cjs'].map((name) => ({ name, ...FILE })),
};

test('versions are ordered as semver has it', (t) => {
  const ordered = [
    '0.9.9',
    '0.10.0-alpha',
    '0.10.0-alpha.1',
    '0.10.0-alpha.beta',
    '0.10.0-rc.2',
    '0.10.0-rc.10',
    '0.10.0',
    '1.0.0',
  ];

  t.deepEqual(ordered.toReversed().toSorted(compareVersions), ordered);
  t.is(compareVersions('1.2.3', '1.2.3'), 0);
});

test('the same version with other files has another name', (t) => {
  const one = parseRelease(JSON.stringify(RELEASE), 'x');
  const other = { ...one, files: one.files.map((file) => ({ ...file, sha256: 'c'.repeat(64) })) };

  t.regex(versionName(one), /^0\.2\.0-[\da-f]{8}$/u);
  t.not(versionName(one), versionName(other));
  t.is(versionName(one), versionName({ ...one, allow_downgrade: true, released_at: '2027-01-01T00:00:00Z' }));
});

test('what is no release is told with what is wrong', (t) => {
  const parse = (change: object) => () => parseRelease(JSON.stringify({ ...RELEASE, ...change }), 'stable.json');

  t.throws(parse({ version: '../up' }), { message: /^stable\.json is no release that this updater knows: version: / });
  t.throws(parse({ files: RELEASE.files.slice(1) }), { message: 'stable.json has no node' });
  t.throws(parse({ files: [...RELEASE.files.slice(1), RELEASE.files[1]] }), { message: 'stable.json has no node' });
  t.throws(() => parseRelease('{', 'stable.json'), { message: /is no release/u });
});

test('an older version needs a signed word', (t) => {
  const release = parseRelease(JSON.stringify(RELEASE), 'x');

  t.is(downgradeProblem(null, release), null);
  t.is(downgradeProblem('0.2.0', release), null);
  t.is(downgradeProblem('0.3.0', { ...release, allow_downgrade: true }), null);
  t.is(downgradeProblem('0.3.0', release), '0.2.0 is older than 0.3.0, and nobody signed that machines go back to it');
});

test('the updater follows the channel of the machine that its runtime is made for', (t) => {
  const on = (arch: string) => {
    const own = process.arch;
    Object.defineProperty(process, 'arch', { value: arch });
    try {
      return machineArch();
    } finally {
      Object.defineProperty(process, 'arch', { value: own });
    }
  };

  t.deepEqual(['x64', 'arm64'].map(on), ['linux-x64', 'linux-arm64']);
  t.throws(() => on('riscv64'), {
    message: 'there are no releases for linux-riscv64: only for linux-x64, linux-arm64',
  });
});
