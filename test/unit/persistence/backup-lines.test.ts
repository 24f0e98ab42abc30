/**
 * The file of a backup while it is written: in bounded memory, and ending with what the system says where it cannot be
 * written.
 */
import { stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import v8 from 'node:v8';
import vm from 'node:vm';
import { gzipSync } from 'node:zlib';
import test from 'ava';
import { BACKUP_FORMAT, BackupRefused, readLines, writeLines } from '../../../persistence/backup/lines.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** Lines that each fill the buffer of the compressor, and what each may leave behind, in bytes. */
const LINES = 5_000;
const LEFT_BYTES_MAX = 50;

test('writing a backup holds no more memory, however long it is', async (t) => {
  const dir = temporaryDirectory(t);
  const file = join(dir, 'backup');
  const collect = collector();
  const line = 'x'.repeat(20_000);
  const writer = writeLines(file);
  for (let index = 0; index < 100; index += 1) await writer.write(line);
  collect();
  const before = process.memoryUsage().heapUsed;

  for (let index = 0; index < LINES; index += 1) await writer.write(line);

  collect();
  const left = process.memoryUsage().heapUsed - before;
  await writer.finish();
  t.true(left < LINES * LEFT_BYTES_MAX, `${left} bytes`);
  t.true((await stat(file)).size > 0);
});

test('a backup into a place that is not there ends with what the system says, while it is written', async (t) => {
  const writer = writeLines('/nowhere/backup');
  await t.throwsAsync(
    async () => {
      for (let index = 0; index < LINES; index += 1) await writer.write('x'.repeat(20_000));
    },
    { code: 'ENOENT' },
  );
});

test('a backup that cannot be read is told in words', async (t) => {
  const read = async (file: string): Promise<unknown> => readLines(file).next();

  await t.throwsAsync(read('/nowhere/backup'), {
    message: 'The backup cannot be read: /nowhere/backup does not exist.',
  });
  await t.throwsAsync(read(tmpdir()), { message: `The backup cannot be read: ${tmpdir()} is a directory.` });
});

const HEADER = { format: BACKUP_FORMAT, version: '1', made_at: 'now', migrations: [], tables: [], sequences: [] };

for (const [what, lines] of Object.entries({
  'null in place of a line': [HEADER, null],
  'a number in place of a line': [HEADER, 5],
  'an end of nothing': [HEADER, { end: null }],
  'an end without its rows': [HEADER, { end: {} }],
  'a table without a name': [HEADER, { table: 1 }],
  'a header without its migrations': [{ ...HEADER, migrations: undefined }],
  'a header whose table has no columns': [{ ...HEADER, tables: [{ name: 'node' }] }],
}))
  test(`a backup with ${what} is told to be none, or damaged`, async (t) => {
    const file = join(temporaryDirectory(t), 'backup');
    await writeFile(file, gzipSync(lines.map((line) => `${JSON.stringify(line)}\n`).join('')));

    await t.throwsAsync(
      async () => {
        for await (const line of readLines(file)) t.not(line, null);
      },
      { instanceOf: BackupRefused, message: /is damaged: its line 2 is none|is no backup of this form/u },
    );
  });

/** Collects garbage at once. */
function collector(): () => void {
  v8.setFlagsFromString('--expose-gc');
  return vm.runInNewContext('gc') as () => void;
}
