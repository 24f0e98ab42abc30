/** The key by which clients know a machine again. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ssh2 from 'ssh2';
import test from 'ava';
import { createHostKey, openHostKey, publicHostKey } from '../../../../../agent/access/ssh/host-key.ts';
import { NodeFacts } from '../../../../../transport/protocol/facts.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';

test('every new key is one that can be read, also of those whose public key begins with a zero byte', (t) => {
  const unreadable = Array.from({ length: 1_500 }, createHostKey).filter(
    (key) => ssh2.utils.parseKey(key) instanceof Error,
  );

  t.deepEqual(unreadable, []);
});

test('the key is made once and kept for ever, readable by its owner alone', (t) => {
  const path = join(temporaryDirectory(t), 'ssh-host-key');

  const [first, second] = [openHostKey(path), openHostKey(path)];

  t.true(first.ok);
  t.deepEqual(second, first);
  t.is(statSync(path).mode & 0o777, 0o600);
  t.is(publicHostKey(path), first.ok ? first.publicKey : null);
  t.true(NodeFacts.shape.ssh_host_key.safeParse(publicHostKey(path)).success);
});

test('a damaged key is left as it is, and said', (t) => {
  const path = join(temporaryDirectory(t), 'ssh-host-key');
  writeFileSync(path, 'no key');

  const opened = openHostKey(path);

  t.regex(opened.ok ? '' : opened.problem, /is damaged: restore it, or remove it/u);
  t.is(readFileSync(path, 'utf8'), 'no key');
  t.is(publicHostKey(path), null);
});

/** Where a key that is made here has what, in bytes of its body. Source: OpenSSH, PROTOCOL.key. */
const PLACES = { 'how many keys there are': 38, 'its public half': 140, 'its private half': 170 };

test('a key is damaged of which one bit is another, wherever that is', (t) => {
  const path = join(temporaryDirectory(t), 'ssh-host-key');
  t.true(openHostKey(path).ok);
  const [head = '', ...lines] = readFileSync(path, 'latin1').trim().split('\n');
  const tail = lines.pop() ?? '';

  for (const [what, at] of Object.entries(PLACES)) {
    const body = Buffer.from(lines.join(''), 'base64');
    body.writeUInt8(body.readUInt8(at) ^ 1, at);
    writeFileSync(path, [head, body.toString('base64'), tail, ''].join('\n'));
    const opened = openHostKey(path);
    t.regex(opened.ok ? '' : opened.problem, /is damaged/u, what);
  }
});
