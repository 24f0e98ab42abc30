/** `edge release` as a program: fleets without a line, keys with a passphrase, and a root whose keys are lost. */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { hashOf } from '../../../cli/release/repository.ts';
import { fileTarget } from '../../../transport/protocol/releases.ts';
import { ADMIN_KEYS, ENCRYPTION_KEY, startTestAdmin } from '../../support/admin.ts';
import { startEdge, startNode, type Ended } from '../../support/edge-program.ts';
import { openEdge } from '../../support/edge-terminal.ts';
import { programFile } from '../../support/run/programs.ts';
import { createReleases } from '../../support/releases/releases.ts';
import { urlOf } from '../../support/database/server.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const DAY_MS = 86_400_000;
const PASSPHRASE = 'correct horse battery';

function refused(t: ExecutionContext, { status, stdout, stderr }: Ended, line: RegExp): void {
  t.true(status !== 0);
  t.is(stdout, '');
  t.regex(stderr, /^(?:edge|edge-admin): [^\n]+\n$/u);
  t.regex(stderr, line);
}

test('a tarball is checked and published at a service without a line; what is damaged, false or late is not', async (t) => {
  const admin = await startTestAdmin(t);
  const edge = (...args: readonly string[]) =>
    startEdge(args, { EDGE_URL: admin.url, EDGE_API_KEY: ADMIN_KEYS.API_KEY }).ended;
  const directory = temporaryDirectory(t);
  const releases = await createReleases(join(directory, 'made'));
  const { files } = await releases.add({ version: '0.2.0' });
  await releases.promote('0.2.0');
  writeFileSync(join(releases.directory, 'notes'), 'of nobody else');
  const path = fileTarget(files[0]?.sha256 ?? '');
  const tarball = join(directory, 'fleet.tar');
  const packed = (name: string, change: (at: string) => void): string => {
    const [from, to] = [join(directory, name), join(directory, `${name}.tar`)];
    cpSync(releases.directory, from, { recursive: true });
    change(from);
    execFileSync('tar', ['-cf', to, '-C', from, 'metadata', 'targets']);
    return to;
  };

  const exported = await edge('release', 'export', tarball, '--dir', releases.directory);
  t.is(exported.status, 0, exported.stderr);
  t.notRegex(execFileSync('tar', ['-tf', tarball], { encoding: 'utf8' }), /notes|\.pem/u);

  refused(t, await edge('release', 'import', join(directory, 'nosuch')), /there is no file .*nosuch/u);
  const text = join(directory, 'text');
  writeFileSync(text, 'no tarball\n'.repeat(99));
  refused(t, await edge('release', 'import', text), /text is no tarball of releases: /u);
  const damaged = packed('damaged', (at) => writeFileSync(join(at, 'targets', path), 'x'));
  refused(
    t,
    await edge('release', 'import', damaged),
    /damaged\.tar is damaged: files\/.* is not the file that was signed/u,
  );
  const linked = packed('linked', (at) => {
    rmSync(join(at, 'targets', path));
    symlinkSync(releases.repository.pathOf(path), join(at, 'targets', path));
  });
  refused(t, await edge('release', 'import', linked), /linked\.tar is damaged/u);
  const forged = packed('forged', (at) => {
    const file = join(at, 'metadata', 'timestamp.json');
    writeFileSync(file, readFileSync(file, 'utf8').replace('"expires":"20', '"expires":"21'));
  });
  refused(t, await edge('release', 'import', forged), /forged\.tar: timestamp\.json is not signed/u);
  const before = releases.snapshot();
  releases.refresh({ nowMs: Date.now() - 31 * DAY_MS });
  refused(
    t,
    await edge(
      'release',
      'import',
      packed('old', () => {}),
    ),
    /old\.tar: timestamp\.json is out of date/u,
  );
  releases.restore(before);
  t.is((await fetch(`${admin.url}/releases/targets/${path}`)).status, 404, 'nothing of it was published');

  const imported = await edge('release', 'import', tarball);

  t.is(imported.status, 0, imported.stderr);
  const answer = await fetch(`${admin.url}/releases/targets/${path}`);
  t.true(Buffer.from(await answer.arrayBuffer()).equals(readFileSync(releases.repository.pathOf(path))));

  // The keys are lost: whoever operates the service has it forget the root, and publishes another one.
  const others = await createReleases(join(directory, 'others'));
  await others.add({ version: '0.2.0' });
  await others.promote('0.2.0');
  const publish = () => edge('release', 'publish', '--dir', others.directory);
  const forget = (...words: readonly string[]) =>
    startNode([programFile('edge-admin'), 'forget-releases', ...words], {
      DATABASE_URL: urlOf(admin.database),
      ENCRYPTION_KEY,
    }).ended;
  refused(t, await publish(), /is another one than the root that is trusted/u);
  refused(
    t,
    await forget(),
    /must be uninstalled and installed again \(docs\/releases\.md\)\. Say edge-admin forget-releases --yes$/mu,
  );
  t.is((await fetch(`${admin.url}/releases/targets/${path}`)).status, 200, 'a warning forgets nothing');
  const forgotten = await forget('--yes');
  t.is(forgotten.status, 0, forgotten.stderr);
  const { sha256 } = await hashOf(join(releases.directory, 'metadata', '1.root.json'));
  t.true(forgotten.stdout.startsWith(`Forgot root 1 (SHA-256 ${sha256}) and all that it signed. `), forgotten.stdout);
  t.is((await fetch(`${admin.url}/releases/metadata/root.json`)).status, 404);
  t.is((await fetch(`${admin.url}/releases/targets/${path}`)).status, 404);
  refused(t, await forget('--yes'), /there is no root to forget/u);
  const published = await publish();
  t.is(published.status, 0, published.stderr);
  t.is(await (await fetch(`${admin.url}/releases/metadata/root.json`)).text(), others.root);
});

test('a passphrase is asked for at a terminal, twice for new keys, and never shown', async (t) => {
  const directory = temporaryDirectory(t);
  const [keys, releases] = [join(directory, 'keys'), join(directory, 'releases')];
  const edge = (...words: readonly string[]) => {
    const terminal = openEdge(t, ['release', ...words, '--keys', keys, '--dir', releases], {});
    return {
      ...terminal,
      async answers(prompt: string, typed: string): Promise<void> {
        await terminal.shows(new RegExp(`${prompt}$`, 'u'));
        terminal.type(`${typed}\r`);
      },
    };
  };

  const different = edge('keygen', '--passphrase');
  await different.answers('Passphrase for the new keys: ', PASSPHRASE);
  await different.answers('Again: ', `${PASSPHRASE}!`);
  t.is(await different.ended, 2);
  t.regex(different.shown(), /edge: the two passphrases differ\r\n$/u);
  const short = edge('keygen', '--passphrase');
  await short.answers('Passphrase for the new keys: ', 'short');
  t.is(await short.ended, 2);
  t.regex(short.shown(), /edge: the passphrase is too short: it should have 12 characters or more\r\n$/u);
  const left = edge('keygen', '--passphrase');
  await left.answers('Passphrase for the new keys: ', '\u0003');
  t.is(await left.ended, 130);
  t.false(existsSync(keys), 'no key was made');

  const made = edge('keygen', '--passphrase');
  await made.answers('Passphrase for the new keys: ', PASSPHRASE);
  await made.answers('Again: ', PASSPHRASE);
  t.is(await made.ended, 0, made.shown());
  t.regex(readFileSync(join(keys, 'root.pem'), 'utf8'), /ENCRYPTED PRIVATE KEY/u);
  const wrong = edge('sign');
  await wrong.answers('Passphrase of the keys: ', 'something else');
  t.is(await wrong.ended, 1);
  t.regex(wrong.shown(), /edge: the passphrase does not open [^\r]+release\.pem\r\n$/u);
  const signed = edge('sign');
  await signed.answers('Passphrase of the keys: ', PASSPHRASE);

  t.is(await signed.ended, 0, signed.shown());
  t.true(existsSync(join(releases, 'metadata', 'timestamp.json')));
  for (const terminal of [different, made, signed]) t.notRegex(terminal.shown(), /horse/u);
  t.notRegex(wrong.shown(), /something/u);
});
