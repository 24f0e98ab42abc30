/** Files that are written over the connection of a terminal, by the agent's own server of files, as the disk has them. */
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { RemoteFiles } from '../../../../api/terminal/ports.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { terminalAt } from './fixture.ts';

/** What a user is nobody of; a root may give files to it. Source: Linux, overflowuid. */
const NOBODY = 65_534;

async function filesAt(t: ExecutionContext): Promise<{ readonly files: RemoteFiles; readonly folder: string }> {
  const { terminal } = await terminalAt(t, { hasFiles: true });
  return { files: terminal.files, folder: temporaryDirectory(t) };
}

/** A file that is being written. */
async function writing(files: RemoteFiles, path: string, text: string, replaces = true) {
  const opened = await files.write(path, replaces);
  if (!opened.ok) throw new Error(opened.refusal.message);
  const written = await opened.value.write(Buffer.from(text));
  if (!written.ok) throw new Error(written.refusal.message);
  return opened.value;
}

function modeOf(path: string): string {
  return (lstatSync(path).mode & 0o7_777).toString(8);
}

for (const mode of [0o600, 0o640, 0o755, 0o4_755])
  test(`a file of mode ${mode.toString(8)} that is replaced keeps it, and nobody else reads the new one before`, async (t) => {
    const { files, folder } = await filesAt(t);
    const path = join(folder, 'file');
    writeFileSync(path, 'old');
    chmodSync(path, mode);

    const writer = await writing(files, path, 'new');
    const [part = ''] = readdirSync(folder).filter((name) => name !== 'file');
    t.is(modeOf(join(folder, part)), '600');
    t.is(readFileSync(path, 'utf8'), 'old');
    const finished = await writer.finish();

    t.true(finished.ok);
    t.is(modeOf(path), mode.toString(8));
    t.is(readFileSync(path, 'utf8'), 'new');
    t.deepEqual(readdirSync(folder), ['file']);
  });

test('a file that is replaced keeps its owner, where whoever replaces it may give it away', async (t) => {
  const isRoot = process.getuid?.() === 0;
  const { files, folder } = await filesAt(t);
  const path = join(folder, 'file');
  writeFileSync(path, 'old');
  if (isRoot) chownSync(path, NOBODY, NOBODY);
  const { uid, gid } = statSync(path);

  const finished = await (await writing(files, path, 'new')).finish();

  t.true(finished.ok);
  t.like(statSync(path), { uid, gid });
});

test('a link stays one: what it leads to is replaced', async (t) => {
  const { files, folder } = await filesAt(t);
  const [link, target] = [join(folder, 'link'), join(folder, 'elsewhere/file')];
  mkdirSync(join(folder, 'elsewhere'));
  writeFileSync(target, 'old');
  symlinkSync('elsewhere/file', link);

  const finished = await (await writing(files, link, 'new')).finish();

  t.true(finished.ok);
  t.true(lstatSync(link).isSymbolicLink());
  t.is(readFileSync(target, 'utf8'), 'new');
  t.deepEqual(readdirSync(join(folder, 'elsewhere')), ['file']);
});

test('a file that is new has the usual mode, also where one could have been replaced', async (t) => {
  const { files, folder } = await filesAt(t);
  const usual = join(folder, 'usual');
  writeFileSync(usual, '');

  for (const [name, replaces] of [
    ['new', false],
    ['other', true],
  ] as const) {
    const finished = await (await writing(files, join(folder, name), 'new', replaces)).finish();
    t.true(finished.ok);
    t.is(modeOf(join(folder, name)), modeOf(usual));
  }
});

test('a folder is replaced by no file, and what is there by none that was to be new', async (t) => {
  const { files, folder } = await filesAt(t);
  mkdirSync(join(folder, 'folder'));
  writeFileSync(join(folder, 'file'), 'old');

  const [over, beside] = [
    await files.write(join(folder, 'folder'), true),
    await files.write(join(folder, 'file'), false),
  ];

  t.is(!over.ok && over.refusal.message, 'It is no file that can be replaced.');
  t.is(!beside.ok && beside.refusal.message, 'There is a file of this name already.');
  t.deepEqual(readdirSync(folder).toSorted(), ['file', 'folder']);
});

test('a file that cannot take its place is given up, and nothing of it stays', async (t) => {
  const { files, folder } = await filesAt(t);
  const path = join(folder, 'file');

  const writer = await writing(files, path, 'new');
  mkdirSync(path);
  const finished = await writer.finish();
  await writer.abort();

  t.false(finished.ok);
  t.deepEqual(readdirSync(folder), ['file']);
});

test('a machine whose server replaces no file says so', async (t) => {
  const { terminal } = await terminalAt(t, {
    sftp(server) {
      server.on('STAT', (id) => server.status(id, 2));
      server.on('OPEN', (id) => server.handle(id, Buffer.from('file')));
      for (const request of ['WRITE', 'CLOSE', 'REMOVE'] as const)
        server.on(request, (id: number) => void server.status(id, 0));
    },
  });

  const writer = await writing(terminal.files, '/file', 'new');
  const finished = await writer.finish();
  await writer.abort();

  t.is(!finished.ok && finished.refusal.message, 'The node says: Server does not support this extended request.');
});
