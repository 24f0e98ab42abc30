/** Machines whose words are damaged, from their version on to what they say of files: each ends its own connection. */
import type { Socket } from 'node:net';
import test from 'ava';
import type { FileEntry, SFTPWrapper } from 'ssh2';
import type { Result } from '../../../../actors/refusal.ts';
import type { RemoteFiles, RemoteTerminal } from '../../../../api/terminal/ports.ts';
import { damageWrite } from '../../../support/net/damaged-bytes.ts';
import { damagePackets } from '../../../support/ssh/damaged-ssh.ts';
import { forEachAnswer } from '../../../support/net/hostile-answers.ts';
import { seededNumbers } from '../../../support/seeded.ts';
import { asked, machine } from './fixture.ts';

/** Connections that are damaged; every third before anybody is let in. */
const CONNECTIONS = 1_000;
const AT_ONCE = 20;

/** What a machine writes until somebody is in, and the packets that it sends from its version on. */
const WRITES = 6;
const PACKETS = 40;

const ATTRIBUTES = { mode: 0o100_644, uid: 0, gid: 0, size: 5, atime: 1, mtime: 2 };

/** Answers of SFTP. Source: draft-ietf-secsh-filexfer-02, 7. */
const [DONE, END, NO_SUCH_FILE] = [0, 1, 2];

/** A machine of files: a folder of two, each with five bytes, and it does all that it is asked for. */
function serveFiles(files: SFTPWrapper): void {
  const handle = Buffer.from('handle');
  const entry = (filename: string): FileEntry => ({ filename, longname: `- ${filename}`, attrs: ATTRIBUTES });
  let names = [[entry('one'), entry('two')]];
  let pieces = [Buffer.from('hello')];
  const done = (id: number): void => files.status(id, DONE);
  files.on('REALPATH', (id) => files.name(id, [entry('/folder')]));
  files.on('OPENDIR', (id) => files.handle(id, handle));
  files.on('READDIR', (id) => {
    const [some] = names;
    names = [];
    if (some === undefined) files.status(id, END);
    else files.name(id, some);
  });
  files.on('OPEN', (id) => files.handle(id, handle));
  files.on('FSTAT', (id) => files.attrs(id, ATTRIBUTES));
  files.on('READ', (id) => {
    const [piece] = pieces;
    pieces = [];
    if (piece === undefined) files.status(id, END);
    else files.data(id, piece);
  });
  files.on('STAT', (id, path) => (path === '/new' ? files.status(id, NO_SUCH_FILE) : files.attrs(id, ATTRIBUTES)));
  files.on('LSTAT', (id, path) => (path === '/new' ? files.status(id, NO_SUCH_FILE) : files.attrs(id, ATTRIBUTES)));
  files.on('WRITE', done).on('CLOSE', done).on('SETSTAT', done).on('FSETSTAT', done).on('RENAME', done);
  files.on('REMOVE', done).on('MKDIR', done).on('RMDIR', done);
}

/** Does all that can be done with files; what came of each. */
async function useFiles(files: RemoteFiles): Promise<readonly Result<unknown>[]> {
  const listed = await files.list('/folder', 10);
  const reader = await files.read('/folder/one');
  const piece = reader.ok ? await reader.value.next(100) : reader;
  if (reader.ok) await reader.value.close();
  const writer = await files.write('/new', false);
  const written = writer.ok ? await writer.value.write(Buffer.from('text')) : writer;
  if (writer.ok && written.ok) await writer.value.finish();
  else if (writer.ok) await writer.value.abort();
  return [listed, piece, written, await files.makeFolder('/new', true), await files.remove('/folder/one')];
}

async function use(terminal: RemoteTerminal): Promise<readonly Result<unknown>[]> {
  terminal.write(Buffer.from('typed'), () => {});
  terminal.resize({ columns: 100, rows: 40 });
  const found = await useFiles(terminal.files);
  terminal.end();
  return found;
}

test(`${CONNECTIONS} machines that damage the key exchange, the login, a shell or files end by themselves`, async (t) => {
  const numbers = seededNumbers(20_261_129);
  const counts = { connected: 0, damaged: 0, opened: 0, refused: 0 };
  const damaged = (): void => void (counts.damaged += 1);
  const spoilt = new WeakSet<Socket>();
  const terminals = await machine(t, {
    sftp: serveFiles,
    accepted: (socket) => {
      counts.connected += 1;
      if (counts.connected > CONNECTIONS) return;
      if (counts.connected % 3 === 0) damageWrite(socket, 1 + (numbers() % WRITES), numbers, damaged);
      else spoilt.add(socket);
    },
    greeted: (client, socket) => {
      if (spoilt.has(socket)) damagePackets(client, 1 + (numbers() % PACKETS), numbers, damaged);
    },
  });
  const open = () =>
    terminals.open(asked(), { data: () => {}, exit: () => {}, closed: () => {} }, new AbortController().signal);

  await forEachAnswer(Array.from({ length: CONNECTIONS }) as never, AT_ONCE, async () => {
    const opened = await open();
    counts[opened.ok ? 'opened' : 'refused'] += 1;
    if (opened.ok) await use(opened.value);
  });

  t.log(counts);
  t.true(counts.damaged > CONNECTIONS / 2);
  t.true(counts.opened > CONNECTIONS / 4 && counts.refused > CONNECTIONS / 4);
  const honest = await open();
  t.true(honest.ok);
  if (honest.ok)
    t.deepEqual(
      (await use(honest.value)).map(({ ok }) => ok),
      [true, true, true, true, true],
    );
});
