/** Files over the connection of a terminal: one thing at a time, and nothing that was asked for is lost. */
import { setImmediate as aTurn } from 'node:timers/promises';
import { join } from 'node:path';
import test from 'ava';
import { ROOT } from '../../../support/source/source-text.ts';

/** As much of it as is looked at here: all of it is written for a browser. */
interface Files {
  readonly move: { readonly value: { readonly kind: string; readonly name: string } | null };
  readonly told: { readonly value: { readonly text: string; readonly isFailed: boolean } | null };
  connected(connection: object): void;
  list(path: string): void;
  download(path: string, bytes: number): Promise<void>;
  upToDate(): Promise<void>;
  upload(path: string, file: File, replaces: boolean): Promise<void>;
  said(message: object): void;
  over(): void;
}

const { FileMoves } = (await import(join(ROOT, 'console/terminal/file-moves.ts'))) as {
  readonly FileMoves: new (say: (message: object) => void) => Files;
};

const LISTED = { type: 'listed', path: '/srv', entries: [], is_whole: true };

/** Files of a folder that was listed, and is being listed once more, as after an upload. */
function listing(): { readonly files: Files; readonly said: object[] } {
  const said: object[] = [];
  const files = new FileMoves((message) => void said.push(message));
  files.list('/srv');
  files.said(LISTED);
  files.list('/srv');
  said.length = 0;
  return { files, said };
}

test('a download that is asked for while the folder is listed begins once it is there; of two, the first', async (t) => {
  const { files, said } = listing();

  const asked = ['/srv/one', '/srv/two'].map((path) => files.download(path, 3));
  await aTurn();
  t.deepEqual(said, []);
  files.said(LISTED);
  await Promise.all(asked);

  t.deepEqual(said, [{ type: 'download', path: '/srv/one' }]);
  t.like(files.move.value, { kind: 'download', name: 'one' });
});

test('so does an upload; beside something else that is under way nothing begins', async (t) => {
  const { files, said } = listing();

  const upload = files.upload('/srv/own', new File(['own'], 'own'), false);
  files.said(LISTED);
  await upload;
  await files.download('/srv/one', 3);

  t.deepEqual(said, [{ type: 'upload', path: '/srv/own', replaces: false }]);
});

test('whoever asks whether a name is taken already waits until the folder is listed', async (t) => {
  const { files } = listing();

  const [before, after] = [files.upToDate().then(() => 'listed'), aTurn('not yet')];
  t.is(await Promise.race([before, after]), 'not yet');
  files.said(LISTED);

  t.is(await before, 'listed');
  await files.upToDate();
});

test('what was asked for while a folder is listed comes to nothing when the connection is lost', async (t) => {
  const { files, said } = listing();

  const asked = files.download('/srv/one', 3);
  files.over();
  await asked;

  t.deepEqual(said, []);
  t.is(files.move.value, null);
});

test('a file that cannot be read while it is uploaded is given up, and that is what is told', async (t) => {
  const said: object[] = [];
  const given = Promise.withResolvers<void>();
  const files = new FileMoves((message) => {
    said.push(message);
    if ('type' in message && message.type === 'cancel') given.resolve();
  });
  files.connected({ sendPiece: () => Promise.resolve(true) });
  files.list('/srv');
  files.said(LISTED);
  const file = new File(['own'], 'own');
  file.stream = () => new ReadableStream({ pull: () => Promise.reject(new Error('it changed')) });

  await files.upload('/srv/own', file, false);
  files.said({ type: 'uploading', path: '/srv/own' });
  await given.promise;
  files.said({ type: 'file_failed', message: 'You cancelled it. Nothing of it stays.' });

  t.is(files.told.value?.text, 'own changed, or could not be read, while it was uploaded. Nothing of it stays.');
  t.deepEqual(said.at(-1), { type: 'cancel' });
});
