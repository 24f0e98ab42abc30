import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { readSettings, SECRET_FILE_BYTES_MAX, settingsHelp, settingsMarkdown } from '../../../settings/environment.ts';
import { flag, integer, list, secret, text, urls } from '../../../settings/fields.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const shape = {
  HTTP_PORT: integer({ min: 1, max: 65_535 }).default(44_000).describe('Port of the API.'),
  NAME: text().optional().meta({ defaultText: 'the host name', description: 'Name | label.' }),
  PASSWORD: secret().describe('Password of the proxy.'),
  VERBOSE: flag().default(false).describe('More lines.'),
};

async function fileWith(t: ExecutionContext, content: string): Promise<string> {
  const dir = temporaryDirectory(t);
  const path = join(dir, 'secret');
  await writeFile(path, content);
  return path;
}

test('settings are read, unset ones get their default, and unknown variables are ignored', (t) => {
  const read = readSettings(shape, { PASSWORD: ' kept as it is ', VERBOSE: '1', PATH: '/bin', HTTP_PORTS: 'x' });

  t.deepEqual(read, {
    ok: true,
    settings: { HTTP_PORT: 44_000, NAME: undefined, PASSWORD: ' kept as it is ', VERBOSE: true },
  });
});

test('an empty value counts as unset', (t) => {
  const read = readSettings(shape, { HTTP_PORT: '', PASSWORD: '' });

  t.deepEqual(read, { ok: false, problems: ['PASSWORD is not set: it should be text of 1 to 4096 characters'] });
});

test('every problem is told at once, in one line that names the setting, what it was and what it should be', (t) => {
  const read = readSettings(shape, { HTTP_PORT: '99999', VERBOSE: 'perhaps\nnot', PASSWORD: 'x' });

  t.deepEqual(read, {
    ok: false,
    problems: [
      'HTTP_PORT is "99999": it should be a whole number from 1 to 65535',
      'VERBOSE is "perhaps\\nnot": it should be true or false',
    ],
  });
});

test('no problem repeats a secret, the credentials of a URL, or an endless value', (t) => {
  const read = readSettings(
    { PASSWORD: secret().min(10), ADMIN_URLS: urls(), PORT: integer({ min: 0, max: 1 }) },
    { PASSWORD: 'hunter2', ADMIN_URLS: 'ftp://me:hunter2@host', PORT: '9'.repeat(5_000) },
  );

  t.false(read.ok);
  const lines = read.ok ? [] : read.problems;
  t.is(lines.length, 3);
  t.notRegex(lines.join('\n'), /hunter2/u);
  t.true(lines.every((line) => line.length < 300));
});

test('what may be credentials is blanked also where a URL parser would not find them', (t) => {
  for (const text of [
    'http://me:hun/ter2@host:80',
    'ftp://me:hun@ter2@host',
    'me:hunter2@host:9092',
    'ftp://a:hun,ter2@host,ftp://b',
    'ftp://me:hun ter2@host',
  ]) {
    const read = readSettings({ ADMIN_URLS: urls() }, { ADMIN_URLS: text });

    t.notRegex(read.ok ? 'taken' : read.problems.join('\n'), /taken|hun|ter2/u, text);
    t.regex(read.ok ? '' : read.problems.join('\n'), /^ADMIN_URLS is ".*\*\*\*@host/u);
  }
});

test('a secret is read from the file that NAME_FILE names, without its last line break', async (t) => {
  const read = readSettings(shape, { PASSWORD_FILE: await fileWith(t, 'from a file\n') });

  t.is(read.ok && read.settings.PASSWORD, 'from a file');
});

test('a secret given twice is a problem', async (t) => {
  const read = readSettings(shape, { PASSWORD: 'a', PASSWORD_FILE: await fileWith(t, 'b') });

  t.deepEqual(read, { ok: false, problems: ['PASSWORD and PASSWORD_FILE are both set: it should be one of them'] });
});

test('a secret file that is missing, empty, a directory or huge is a problem that names the file', async (t) => {
  const problemOf = (path: string) => {
    const read = readSettings(shape, { PASSWORD_FILE: path });
    return read.ok ? 'none' : read.problems.join('\n');
  };

  t.regex(
    problemOf('/does/not/exist'),
    /^PASSWORD_FILE is "\/does\/not\/exist": the file cannot be read \(ENOENT\); it should be a readable file/u,
  );
  t.regex(problemOf(await fileWith(t, '\n')), /the file is empty/u);
  t.regex(problemOf(tmpdir()), /cannot be read \(EISDIR\)/u);
  t.regex(problemOf(await fileWith(t, 'x'.repeat(SECRET_FILE_BYTES_MAX + 1))), /too large/u);
});

test('NAME_FILE means nothing for a setting that is not secret', (t) => {
  const read = readSettings({ NAME: text().default('x') }, { NAME_FILE: '/does/not/exist' });

  t.deepEqual(read, { ok: true, settings: { NAME: 'x' } });
});

test('the help lists name, default and meaning, aligned', (t) => {
  const lines = settingsHelp(shape).trimEnd().split('\n');

  t.is(lines[0], '  HTTP_PORT  44000          Port of the API. Takes a whole number from 1 to 65535.');
  t.regex(lines[2] ?? '', /^ {2}PASSWORD {3}required {7}Password of the proxy\..*Secret; also as/u);
  t.true(lines.every((line) => line.length <= 110));
});

test('the Markdown table escapes what would break it', (t) => {
  const lines = settingsMarkdown({ ...shape, WORDS: list().default(['a', 'b']) }).split('\n');

  t.is(lines[2], '| `HTTP_PORT` | `44000` | Port of the API. Takes a whole number from 1 to 65535. |');
  t.regex(lines[3] ?? '', /^\| `NAME` \| the host name \| Name \\\| label\./u);
  t.regex(lines[6] ?? '', /^\| `WORDS` \| `a,b` \|/u);
});
