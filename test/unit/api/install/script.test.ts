/** The script of `GET /install.sh`: what an admin puts into it, and that nothing of it becomes a command. */
import { execFileSync } from 'node:child_process';
import test from 'ava';
import { readPieces, PIECE_PATHS } from '../../../../api/install/pieces.ts';
import { installScript, type InstallFile, type InstallRelease } from '../../../../api/install/script.ts';

const SUM = 'a'.repeat(64);

const NODE: InstallFile = {
  channel: 'stable',
  arch: 'linux-x64',
  version: '0.2.0',
  name: 'node',
  sha256: SUM,
  bytes: 3,
  packedSha256: 'b'.repeat(64),
  packedBytes: 2,
  path: `releases/targets/files/${SUM}.gz`,
};

const RELEASE: InstallRelease = {
  root: { path: 'releases/metadata/2.root.json', sha256: SUM },
  chain: [SUM, 'c'.repeat(64)],
  files: [NODE],
};

const CHAIN = `${SUM} ${'c'.repeat(64)}`;

/** What a shell has in these variables once it has read the beginning of the script. */
function factsOf(adminUrls: readonly string[], release: InstallRelease | null): readonly string[] {
  const script = installScript(readPieces(), { adminUrls, release });
  const [facts = ''] = /^ADMIN_URLS=.*?^RELEASE_FILES='[^']*'$/msu.exec(script) ?? [];
  const shown = ['ADMIN_URLS', 'ROOT_PATH', 'ROOT_SHA256', 'ROOT_CHAIN', 'RELEASE_FILES'].map(
    (name) => `printf '%s\\n' "$${name}"`,
  );
  return execFileSync('sh', ['-c', [facts, ...shown].join('\n')], { encoding: 'utf8' })
    .split('\n')
    .slice(0, -1);
}

test('an admin puts in its URLs, its root, those before it and one line a file', (t) => {
  const line = `stable linux-x64 0.2.0 node ${SUM} 3 ${'b'.repeat(64)} 2 releases/targets/files/${SUM}.gz`;

  t.deepEqual(factsOf(['https://fleet.example/', 'http://[fd00::1]:44000'], RELEASE), [
    'https://fleet.example http://[fd00::1]:44000',
    'releases/metadata/2.root.json',
    SUM,
    CHAIN,
    line,
  ]);
});

test('without a release there is nothing to install', (t) => {
  t.deepEqual(factsOf(['https://fleet.example'], null), ['https://fleet.example', '', '', '', '']);
});

test('what could mean something to a shell is left out', (t) => {
  const hostile = ["'; touch /tmp/x; '", '$(id)', '`id`', 'a b', 'a\nb', ''];
  const files = hostile.flatMap((text): InstallFile[] => [
    { ...NODE, channel: text },
    { ...NODE, version: text },
    { ...NODE, path: text },
    { ...NODE, arch: text },
    { ...NODE, name: text },
    { ...NODE, sha256: text },
    { ...NODE, packedSha256: text },
  ]);
  const urls = ["https://a'b", 'https://a b', 'https://$(id)', 'file:///etc/passwd', 'https://a\nb', 'https://`id`'];

  t.deepEqual(factsOf(urls, { ...RELEASE, chain: hostile, files }), ['', 'releases/metadata/2.root.json', SUM, '', '']);
  t.deepEqual(factsOf([], { ...RELEASE, root: { path: '$(id)', sha256: SUM } }), ['', '', '', '', '']);
});

test('every piece is used, and no mark is left', (t) => {
  const script = installScript(readPieces(), { adminUrls: [], release: null });
  const pieces = readPieces();

  t.notRegex(script, /^#@/mu);
  t.deepEqual(
    PIECE_PATHS.filter((path) => !path.endsWith('/install.sh') && !script.includes((pieces[path] ?? '?').trimEnd())),
    [],
  );
});

test('a key is in the environment of no program, whatever the caller exports', (t) => {
  const [words, options] = ['words', 'options'].map((name) => readPieces()[`deploy/install/${name}.sh`]);
  const script = `${words}\n${options}\nread_options --key one-secret --recovery-key-file "$0"; env; printf '%s' "$KEY$RECOVERY_KEY"`;
  const keys = { KEY: 'of the caller', RECOVERY_KEY: 'of the caller' };

  const said = execFileSync('sh', ['-c', script, import.meta.filename], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], ...keys },
  });

  t.regex(said, /one-secret\/\*\* The script of [^\n]+$/u);
  t.is(said.indexOf('one-secret'), said.lastIndexOf('one-secret'));
  t.notRegex(said, /^(?:RECOVERY_)?KEY=/mu);
});
