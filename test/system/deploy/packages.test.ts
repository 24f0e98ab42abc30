/** What `npm run package` makes, before anything of it is installed. */
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import ava from 'ava';
import { buildDistribution, fileIn, makePackages } from '../../support/releases/packages.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { createScope } from '../../support/scope.ts';
import { ROOT } from '../../support/source/source-text.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const test = await peerTest('dpkg-deb', 'lintian', 'rpmbuild');
const run = promisify(execFile);
const scope = createScope();
ava.after.always('its files go', () => scope.end());

/** Those of our programs: what Node and PostgreSQL bring is checked by hand at a new version, as it takes a minute. */
const OURS = ['edge', 'edge-admin', 'edge-agent', 'edge-updater'];

let [dist, out] = ['', ''];

test.before(async () => {
  dist = await buildDistribution(scope);
  out = await makePackages(scope, dist, '--only', 'deb', '--only', 'rpm', '--only', 'cli', ...ours());
});

test('Debian finds nothing wrong with the packages', async (t) => {
  // one start of lintian for all of them
  const files = OURS.map((name) => fileIn(out, `${name}_*.deb`));
  const { stdout } = await run('lintian', ['--fail-on', 'none', '--tag-display-limit', '0', ...files]);

  t.is(stdout, '');
});

test('the same sources make the same packages, whatever time it is and whoever builds', async (t) => {
  const again = await makePackages(t, dist, '--only', 'deb', '--only', 'rpm', '--only', 'cli', ...ours());

  t.is(readFileSync(join(again, 'SHA256SUMS'), 'utf8'), readFileSync(join(out, 'SHA256SUMS'), 'utf8'));
});

test('checksums are of every file, and one that was changed is found', async (t) => {
  const sums = () => run('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: out });

  t.is(readFileSync(join(out, 'SHA256SUMS'), 'utf8').split('\n').length, readdirSync(out).length);
  await sums();
  const file = fileIn(out, 'edge.cdx.json');
  const before = readFileSync(file);
  writeFileSync(file, Buffer.concat([before, Buffer.from(' ')]));
  const { stdout } = await t.throwsAsync<Error & { stdout: string }>(sums());
  writeFileSync(file, before);

  t.is(stdout, 'edge.cdx.json: FAILED\n');
});

test('what operators change and what holds keys is marked so, for both systems', async (t) => {
  const deb = fileIn(out, 'edge-admin_*.deb');
  const rpm = fileIn(out, 'edge-admin-0*.rpm');
  const { stdout: conffiles } = await run('dpkg-deb', ['--info', deb, 'conffiles']);
  const { stdout: listed } = await run('dpkg-deb', ['--contents', deb]);
  const { stdout: configuration } = await run('rpm', ['-qp', '--configfiles', rpm]);
  const { stdout: modes } = await run('rpm', ['-qp', '--queryformat', '[%{FILEMODES:perms} %{FILENAMES}\n]', rpm]);

  for (const text of [conffiles, configuration]) t.is(text, '/etc/edge-admin/admin.env\n/etc/edge-admin/relay.env\n');
  t.regex(listed, /^-rw------- root\/root +\d+ \S+ \S+ \.\/etc\/edge-admin\/admin\.env$/mu);
  t.regex(modes, /^-rw------- \/etc\/edge-admin\/admin\.env$/mu);
  t.deepEqual(
    listed.match(/^.* (?!root\/root).*\d{2}:\d{2} .*$/gmu)?.filter((line) => !line.includes(' root/root ')) ?? [],
    [],
  );
});

test('an rpm brings the same files as the deb, but for what Debian alone wants', async (t) => {
  const paths = (text: string): readonly string[] =>
    text
      .split('\n')
      .map((path) => path.replace(/^\.?\/(?:usr\/)?lib\/systemd/u, '/lib/systemd').replace(/^\./u, ''))
      .filter((path) => path !== '' && !path.endsWith('/') && !/lintian|copyright|changelog\.Debian/u.test(path))
      .toSorted();
  const deb = execFileSync(
    'sh',
    ['-c', 'dpkg-deb --fsys-tarfile "$1" | tar -t', 'sh', fileIn(out, 'edge-admin_*.deb')],
    { encoding: 'utf8' },
  );
  const { stdout: rpm } = await run('rpm', ['-qpl', fileIn(out, 'edge-admin-0*.rpm')]);

  t.deepEqual(
    paths(rpm).filter((path) => path !== '/var/lib/edge-admin'),
    paths(deb),
  );
});

test('edge in one file needs Node alone, wherever it lies and whatever it is called', async (t) => {
  const file = readFileSync(fileIn(out, 'edge-[0-9]*[0-9]'));
  const directory = temporaryDirectory(t);
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }');
  for (const name of ['edge', 'edge.mjs', 'edge.cjs', 'a b'])
    writeFileSync(join(directory, name), file, { mode: 0o755 });

  for (const name of ['edge', 'edge.mjs', 'edge.cjs', 'a b']) {
    const { stdout, stderr } = await run(join(directory, name), ['node', 'ls', '--help'], {
      env: { PATH: `${join(process.execPath, '..')}:/usr/bin:/bin`, HOME: directory },
    });

    t.is(stderr, '', name);
    t.regex(stdout, /^Usage: edge node ls/u, name);
  }
});

test('edge in one file starts with as little processor time as the published one, once its code is compiled', (t) => {
  const directory = temporaryDirectory(t);
  const told = "data:text/javascript,process.on('exit',()=>process.stderr.write(String(process.cpuUsage().user)))";
  const tookUs = (file: string): number => {
    const env = { PATH: process.env['PATH'], HOME: directory, NODE_COMPILE_CACHE: join(directory, 'code') };
    const words = ['--import', told, file, 'node', 'ls', '--help'];
    return Number(spawnSync(process.execPath, words, { env, encoding: 'utf8' }).stderr);
  };
  const files = [join(dist, 'edge.cjs'), join(dist, 'edge.js')];
  for (const file of [...files, ...files]) tookUs(file);
  let [one, published] = [Infinity, Infinity];
  const isAsQuick = () => one < published * 1.25;
  // in turn, as other programs come and go, and again where they spoilt it: they only ever add
  for (let round = 1; round <= 8 || (round <= 40 && !isAsQuick()); round += 1) {
    one = Math.min(one, tookUs(files[0] ?? ''));
    published = Math.min(published, tookUs(files[1] ?? ''));
  }

  t.true(one > 0 && isAsQuick(), `${one} µs, and the published one takes ${published} µs`);
});

test('wrong words are named in one line', async (t) => {
  const said = async (...words: string[]): Promise<string> => {
    const { stderr } = await t.throwsAsync<Error & { stderr: string }>(
      run(process.execPath, ['deploy/packages/run.ts', '--quick', '--out', temporaryDirectory(t), ...words], {
        cwd: ROOT,
      }),
    );
    return stderr;
  };

  t.is(
    await said('--arch', 'mips'),
    'package: --arch is "mips": it should be one of amd64, arm64 (npm run package -- --help lists what there is)\n',
  );
  t.regex(await said('--only', 'msi'), /^package: --only is "msi": it should be one of deb, rpm, tar, cli [^\n]+\n$/u);
  t.regex(await said('--oot', 'x'), /^package: Unknown option '--oot' [^\n]+\n$/u);
  t.regex(
    await said('--package', 'edge-admim'),
    /^package: --package is "edge-admim": it should be one of edge-runtime, [^\n]+\n$/u,
  );
});

function ours(): readonly string[] {
  return OURS.flatMap((name) => ['--package', name]);
}
