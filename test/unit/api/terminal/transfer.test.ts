/** Files of terminals: how large one may be, and what becomes of one that is larger. */
import { setImmediate as aTurn } from 'node:timers/promises';
import test from 'ava';
import { ok, refuse } from '../../../../actors/refusal.ts';
import type { ServiceMessage } from '../../../../api/terminal/messages.ts';
import type { RemoteFiles } from '../../../../api/terminal/ports.ts';
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
