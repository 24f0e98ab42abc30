/** What the terminal of the console knows without a browser: pastes, paths, keys. */
import { generateKeyPairSync } from 'node:crypto';
import test from 'ava';
import ssh2 from 'ssh2';
import { base64, bytesOf, sshBlob } from '../../../console/terminal/browser-key.ts';
import { pasteOf, shownLines } from '../../../console/terminal/paste.ts';
import { folderPlanOf } from '../../../console/terminal/folder-upload.ts';
import {
  folderAbove,
  isPlainName,
  modeText,
  nameIn,
  pathIn,
  shownName,
  typedNameOf,
} from '../../../console/terminal/paths.ts';

test('one line is pasted as it is; more, and what holds control characters, is asked about', (t) => {
  t.like(pasteOf('ls -l\tx'), { text: 'ls -l\tx', isAsked: false });
  t.like(pasteOf('one\r\ntwo'), { text: 'one\ntwo', isAsked: true });
  t.like(pasteOf('one\rtwo'), { text: 'one\ntwo', isAsked: true });
  t.like(pasteOf('ls\u001B[201~\u0003rm'), { text: 'ls[201~rm', isAsked: true }, 'it ends no bracketed paste');
  t.deepEqual(shownLines(pasteOf('one\ntwo')), ['1  one', '2  two']);
  t.is(shownLines(pasteOf('x\n'.repeat(1_000))).length, 200);
});

test('paths are those of machines', (t) => {
  t.deepEqual(['/etc', '/', '/etc/ssh/', '/a/b/c'].map(folderAbove), ['/', '/', '/etc', '/a/b']);
  t.deepEqual([pathIn('/', 'x'), pathIn('/etc', 'x'), nameIn('/etc/x'), nameIn('x')], ['/x', '/etc/x', 'x', 'x']);
  t.deepEqual([0o755, 0o600, 0o000].map(modeText), ['rwxr-xr-x', 'rw-------', '---------']);
});

test('a name can be read whatever is in it', (t) => {
  t.deepEqual(
    ['plain name.txt', '\u202Egpj.exe', 'two\nlines', ' a ', ' ', 'soft\u00ADly', '👩\u200D🚀'].map(shownName),
    ['plain name.txt', '\\u{202e}gpj.exe', 'two\\u{a}lines', '␣a␣', '␣', 'soft\\u{ad}ly', '👩\u200D🚀'],
  );
});

test('a folder is uploaded from the outside in, whatever the order in which the browser found it', (t) => {
  const found = ['site/a/b/deep', 'site/index', 'site/a/x'].map((path) => ({
    name: nameIn(path),
    webkitRelativePath: path,
  }));

  const plan = folderPlanOf('/srv', found);

  t.deepEqual(plan?.folders, ['/srv/site', '/srv/site/a', '/srv/site/a/b']);
  t.deepEqual(
    plan?.files.map(({ path }) => path),
    ['/srv/site/a/b/deep', '/srv/site/index', '/srv/site/a/x'],
  );
  t.is(plan?.name, 'site');
  t.is(folderPlanOf('/srv', []), null);
});

test('what is deleted has its name typed, or a word where no keyboard has it; a new name leads nowhere else', (t) => {
  t.deepEqual(
    ['a.txt', '\u202Egpj.exe', ' ', 'x'.repeat(255)].map((name) => typedNameOf(name, 'delete')),
    ['a.txt', 'delete', 'delete', 'delete'],
  );
  t.deepEqual(['a', '', '.', '..', 'a/b', '...'].map(isPlainName), [true, false, false, false, false, true]);
});

test('a public key is written as OpenSSH writes it', (t) => {
  const { publicKey } = generateKeyPairSync('ed25519');
  const raw = Buffer.from(String(publicKey.export({ format: 'jwk' }).x), 'base64url');

  const blob = base64(sshBlob('ssh-ed25519', raw));
  const parsed = ssh2.utils.parseKey(`ssh-ed25519 ${blob}`);

  t.false(parsed instanceof Error);
  t.deepEqual(Buffer.from(bytesOf(blob)), Buffer.from(blob, 'base64'));
  t.is(!(parsed instanceof Error) && parsed.getPublicSSH().toString('base64'), blob);
});
