/** Files of terminals: how large one may be, when its bytes may come, and what becomes of one that is given up. */
import { setImmediate as aTurn } from 'node:timers/promises';
import test from 'ava';
import { ok, refuse, type Result } from '../../../../actors/refusal.ts';
import type { ServiceMessage } from '../../../../api/terminal/messages.ts';
import type { FileWriter, RemoteFiles } from '../../../../api/terminal/ports.ts';
import { Transfer } from '../../../../api/terminal/transfer.ts';
import { until } from '../../../support/until.ts';

test('a file that is larger than it may be is given up, and the next one goes', async (t) => {
  const done: string[] = [];
  const said: ServiceMessage[] = [];
  const files: RemoteFiles = {
    list: async () => refuse('not_found', 'There is nothing.'),
    read: async () => refuse('not_found', 'There is nothing.'),
    makeFolder: async () => ok(null),
    rename: async () => ok(null),
    remove: async () => refuse('not_found', 'There is nothing.'),
    write: async (path) =>
      ok({
        path,
        write: async (bytes) => {
          done.push(`${path}: ${bytes.length}`);
          return ok(null);
        },
        finish: async () => {
          done.push(`${path} is whole`);
          return ok(null);
        },
        abort: async () => {
          done.push(`${path} is gone`);
        },
      }),
  };
  const transfer = new Transfer({
    files,
    uploadBytesMax: 10,
    say: (message) => said.push(message),
    sendBytes: () => {},
  });
  const says = (type: ServiceMessage['type'], count = 1) =>
    until(`${count} ${type}`, () => said.filter((one) => one.type === type).length === count);

  await transfer.ask({ type: 'upload', path: '/large', replaces: false });
  for (let pieces = 0; pieces < 3; pieces += 1) t.true(transfer.arrived(new Uint8Array(5)));
  await says('taken', 3);
  await transfer.ask({ type: 'upload', path: '/small', replaces: false });
  t.true(transfer.arrived(new Uint8Array(10)));
  await transfer.ask({ type: 'uploaded' });

  t.deepEqual(done, ['/large: 5', '/large: 5', '/large is gone', '/small: 10', '/small is whole']);
  t.deepEqual(
    said.filter(({ type }) => type === 'file_failed'),
    [{ type: 'file_failed', message: 'A file that is uploaded may have 10 bytes. Nothing of it was kept.' }],
  );
});

test('names are changed one after the other, and what was cancelled is answered once', async (t) => {
  const said: ServiceMessage[] = [];
  const held = Promise.withResolvers<void>();
  const files: RemoteFiles = {
    list: async () => refuse('not_found', 'There is nothing.'),
    read: async () => refuse('not_found', 'There is nothing.'),
    write: async () => refuse('not_found', 'There is nothing.'),
    makeFolder: async (path) => {
      if (path === '/held') await held.promise;
      return ok(null);
    },
    rename: async () => ok(null),
    remove: async () => refuse('not_found', 'There is no such file.'),
  };
  const transfer = new Transfer({ files, say: (message) => said.push(message), sendBytes: () => {} });

  await transfer.ask({ type: 'make_folder', path: '/new', may_exist: false });
  await transfer.ask({ type: 'rename', path: '/new', to: '/other' });
  await transfer.ask({ type: 'delete', path: '/new' });
  const making = transfer.ask({ type: 'make_folder', path: '/held', may_exist: true });
  await transfer.ask({ type: 'delete', path: '/new' });
  await transfer.ask({ type: 'cancel' });
  held.resolve();
  await making;

  t.deepEqual(said, [
    { type: 'changed', path: '/new' },
    { type: 'changed', path: '/other' },
    { type: 'file_failed', message: 'There is no such file.' },
    { type: 'file_failed', message: 'Another file is under way.' },
    { type: 'file_failed', message: 'You cancelled it. Nothing of it stays.' },
  ]);
});

test('an upload that is taking its place is cancelled no more: what came of it is told', async (t) => {
  const [said, done]: [ServiceMessage[], string[]] = [[], []];
  const placed = Promise.withResolvers<void>();
  const files: RemoteFiles = {
    list: async () => refuse('not_found', 'There is nothing.'),
    read: async () => refuse('not_found', 'There is nothing.'),
    makeFolder: async () => ok(null),
    rename: async () => ok(null),
    remove: async () => refuse('not_found', 'There is nothing.'),
    write: async (path) =>
      ok({
        path,
        write: async () => ok(null),
        finish: async () => {
          await placed.promise;
          done.push('in its place');
          return ok(null);
        },
        abort: async () => void done.push('taken back'),
      }),
  };
  const transfer = new Transfer({ files, say: (message) => said.push(message), sendBytes: () => {} });
  await transfer.ask({ type: 'upload', path: '/own', replaces: true });
  t.true(transfer.arrived(new Uint8Array(5)));
  await until('the bytes are taken', () => said.some(({ type }) => type === 'taken'));

  const finishing = transfer.ask({ type: 'uploaded' });
  await aTurn();
  await transfer.ask({ type: 'cancel' });
  const closing = transfer.close();
  placed.resolve();
  await Promise.all([finishing, closing]);

  t.deepEqual(done, ['in its place']);
  t.deepEqual(
    said.filter(({ type }) => type === 'file_failed' || type === 'moved'),
    [{ type: 'moved', path: '/own', bytes: 5 }],
  );
});

/** An upload of which everything is said before its file is open, and what came of it. */
function uploadAtOnce(open: (writer: FileWriter) => Promise<Result<FileWriter>>) {
  const said: ServiceMessage[] = [];
  const done: string[] = [];
  const writer: FileWriter = {
    path: '/early',
    write: async (bytes) => {
      done.push(Buffer.from(bytes).toString());
      return ok(null);
    },
    finish: async () => {
      done.push('in its place');
      return ok(null);
    },
    abort: async () => void done.push('taken back'),
  };
  const files: RemoteFiles = {
    list: async () => refuse('not_found', 'There is nothing.'),
    read: async () => refuse('not_found', 'There is nothing.'),
    makeFolder: async () => ok(null),
    rename: async () => ok(null),
    remove: async () => refuse('not_found', 'There is nothing.'),
    write: () => open(writer),
  };
  const transfer = new Transfer({ files, say: (message) => said.push(message), sendBytes: () => {} });
  const asked = [transfer.ask({ type: 'upload', path: '/early', replaces: false })];
  for (const piece of ['first ', 'second']) transfer.arrived(Buffer.from(piece));
  asked.push(transfer.ask({ type: 'uploaded' }));
  return { transfer, said, done, asked };
}

test('bytes that come before the file is open are in it, and it is finished behind them', async (t) => {
  const opened = Promise.withResolvers<void>();
  const { said, done, asked } = uploadAtOnce(async (writer) => {
    await opened.promise;
    return ok(writer);
  });
  await aTurn();
  t.deepEqual([said, done], [[], []]);

  opened.resolve();
  await Promise.all(asked);

  t.deepEqual(done, ['first ', 'second', 'in its place']);
  t.deepEqual(said, [
    { type: 'uploading', path: '/early' },
    { type: 'taken', channel: 'file', bytes: 6 },
    { type: 'taken', channel: 'file', bytes: 6 },
    { type: 'moved', path: '/early', bytes: 12 },
  ]);
});

test('bytes that come before the file is refused are dropped, and that is said once', async (t) => {
  const { said, done, asked } = uploadAtOnce(async () => refuse('conflict', 'There is such a file already.'));
  await Promise.all(asked);
  await until('all are taken', () => said.filter(({ type }) => type === 'taken').length === 2);

  t.deepEqual(done, []);
  t.deepEqual(
    said.filter(({ type }) => type !== 'taken'),
    [{ type: 'file_failed', message: 'There is such a file already.' }],
  );
});

test('where the opening of a file breaks, who asked for it hears so, and bytes behind it end nothing', async (t) => {
  const { transfer, said, done, asked } = uploadAtOnce(async () => {
    await aTurn();
    throw new Error('a fault of ours');
  });

  const came = await Promise.allSettled(asked);
  t.true(transfer.arrived(Buffer.from('third')));
  await until('all are taken', () => said.filter(({ type }) => type === 'taken').length === 3);

  t.deepEqual(
    came.map(({ status }) => status),
    ['rejected', 'fulfilled'],
  );
  t.deepEqual(done, []);
});

for (const [what, giveUp] of [
  ['cancelled', (transfer: Transfer) => transfer.ask({ type: 'cancel' })],
  ['left', (transfer: Transfer) => transfer.close()],
] as const)
  test(`an upload that is ${what} before its file is open leaves nothing`, async (t) => {
    const opened = Promise.withResolvers<void>();
    const { transfer, said, done, asked } = uploadAtOnce(async (writer) => {
      await opened.promise;
      return ok(writer);
    });

    const given = giveUp(transfer);
    opened.resolve();
    await Promise.all([given, ...asked]);
    await until('all are taken', () => said.filter(({ type }) => type === 'taken').length === 2);

    t.deepEqual(done, ['taken back']);
    t.deepEqual(
      said.filter(({ type }) => type !== 'taken'),
      what === 'cancelled' ? [{ type: 'file_failed', message: 'You cancelled it. Nothing of it stays.' }] : [],
    );
  });

for (const type of ['download', 'upload'] as const)
  test(`a cancelled ${type} whose file is refused later says no more, and is not what follows`, async (t) => {
    const said: ServiceMessage[] = [];
    const held = Promise.withResolvers<void>();
    const refused = async () => {
      await held.promise;
      return refuse('not_found', 'There is nothing.');
    };
    const listed = Promise.withResolvers<void>();
    const files: RemoteFiles = {
      list: async (path) => {
        await listed.promise;
        return ok({ path, entries: [], isCut: false });
      },
      read: refused,
      write: refused,
      makeFolder: async () => ok(null),
      rename: async () => ok(null),
      remove: async () => ok(null),
    };
    const transfer = new Transfer({ files, say: (message) => said.push(message), sendBytes: () => {} });

    const moving = transfer.ask({ type, path: '/none', replaces: false });
    await transfer.ask({ type: 'cancel' });
    const listing = transfer.ask({ type: 'list', path: '/' });
    held.resolve();
    await moving;
    await transfer.ask({ type: 'delete', path: '/other' });
    listed.resolve();
    await listing;

    t.deepEqual(said, [
      { type: 'file_failed', message: 'You cancelled it. Nothing of it stays.' },
      { type: 'file_failed', message: 'Another file is under way.' },
      { type: 'listed', path: '/', entries: [], is_cut: false },
    ]);
  });
