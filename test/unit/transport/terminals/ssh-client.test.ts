/** The client of nodes' SSH servers against one of ssh2: host keys, logins, and a machine that goes away. */
import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import { connect, createServer, type AddressInfo } from 'node:net';
import test from 'ava';
import type { TerminalAsked, TerminalHeard } from '../../../../api/terminal/ports.ts';
import { sshBlob } from '../../../../console/terminal/browser-key.ts';
import { notDialled } from '../../../../transport/net/streams/dialled.ts';
import { createSshTerminals } from '../../../../transport/terminals/ssh-client.ts';
import { sshString } from '../../../support/ssh/raw-payloads.ts';
import { asked, hostKey, machine } from './fixture.ts';

const NO_ONE: TerminalHeard = { data: () => {}, exit: () => {}, closed: () => {} };

function keyOf(privateKey: KeyObject, publicKey: KeyObject): Extract<TerminalAsked['signIn'], { type: 'key' }> {
  const raw = Buffer.from(String(publicKey.export({ format: 'jwk' }).x), 'base64url');
  return {
    type: 'key',
    publicKey: `ssh-ed25519 ${Buffer.from(sshBlob('ssh-ed25519', raw)).toString('base64')}`,
    sign: async (data) => sign(null, data, privateKey),
  };
}

const never = new AbortController().signal;

test('a password opens a shell; what is typed and how it ended comes back', async (t) => {
  const terminals = await machine(t);
  const heard: unknown[] = [];
  const over = Promise.withResolvers<string | null>();
  const shown = Promise.withResolvers<void>();

  const opened = await terminals.open(
    asked(),
    {
      data: (bytes) => {
        heard.push(Buffer.from(bytes).toString());
        shown.resolve();
      },
      exit: (code, signal) => heard.push([code, signal]),
      closed: over.resolve,
    },
    never,
  );
  if (!opened.ok) {
    t.fail(opened.refusal.message);
    return;
  }
  await new Promise<void>((resolve) => {
    opened.value.write(Buffer.from('hello'), resolve);
  });
  await shown.promise;
  opened.value.write(Buffer.from('exit'), () => {});

  t.is(await over.promise, null);
  t.deepEqual(heard, ['hello', [7, null]]);
});

test('a machine with another host key than the service knows is told no password', async (t) => {
  const terminals = await machine(t);
  const other = hostKey().line;

  const refused = await terminals.open(asked({ hostKey: other }), NO_ONE, never);
  const unknown = await terminals.open(asked({ hostKey: null }), NO_ONE, never);

  t.is(!refused.ok && refused.refusal.code, 'conflict');
  t.regex(refused.ok ? '' : refused.refusal.message, /another host key .*\(SHA256:/u);
  t.true(unknown.ok);
  if (unknown.ok) t.regex(unknown.value.hostKey, /^SHA256:/u);
});

test('a signature that is none of its kind of key refuses the login, and nothing ends by it', async (t) => {
  const terminals = await machine(t);
  const [type, numbers] = [Buffer.from('ecdsa-sha2-nistp256'), generateKeyPairSync('ec', { namedCurve: 'P-256' })];
  const { x = '', y = '' } = numbers.publicKey.export({ format: 'jwk' });
  const point = Buffer.concat([Buffer.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]);
  const blob = Buffer.concat([type, type.subarray(-8), point].map((part) => sshString(part)));
  const publicKey = `${String(type)} ${blob.toString('base64')}`;

  for (const signature of [[], [1], [0x30, 0], [0x30, 0xff]]) {
    const signIn = { type: 'key', publicKey, sign: async () => Promise.resolve(Uint8Array.from(signature)) } as const;
    const opened = await terminals.open(asked({ signIn }), NO_ONE, never);
    t.is(opened.ok ? null : opened.refusal.message, 'Your key did not sign.', String(signature));
  }
});

test('a key counts by its signature alone', async (t) => {
  const terminals = await machine(t);
  const [own, other] = [generateKeyPairSync('ed25519'), generateKeyPairSync('ed25519')];

  const signed = await terminals.open(asked({ signIn: keyOf(own.privateKey, own.publicKey) }), NO_ONE, never);
  const stolen = await terminals.open(asked({ signIn: keyOf(other.privateKey, own.publicKey) }), NO_ONE, never);
  const silent = await terminals.open(
    asked({ signIn: { ...keyOf(own.privateKey, own.publicKey), sign: () => Promise.reject(new Error('no')) } }),
    NO_ONE,
    never,
  );

  t.true(signed.ok);
  t.is(!stolen.ok && stolen.refusal.message, 'The node does not let ops in with this key.');
  t.is(!silent.ok && silent.refusal.message, 'Your key did not sign.');
});

test('a wrong password, a node that is away, and one that says nothing are refused in words', async (t) => {
  const terminals = await machine(t);
  const away = createSshTerminals({ reach: async () => notDialled('offline', 'The node is not connected.') });
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => {
    silent.listen(0, '127.0.0.1', resolve);
  });
  t.teardown(() => silent.close());
  const { port } = silent.address() as AddressInfo;
  const stream = connect(port, '127.0.0.1');
  const aborted = new AbortController();

  const wrong = await terminals.open(asked({ signIn: { type: 'password', password: 'wrong' } }), NO_ONE, never);
  const offline = await away.open(asked(), NO_ONE, never);
  const waiting = createSshTerminals({ reach: async () => ({ ok: true, stream }) }).open(
    asked(),
    NO_ONE,
    aborted.signal,
  );
  setTimeout(() => aborted.abort(), 20);

  t.is(!wrong.ok && wrong.refusal.message, 'The node does not let ops in with this password.');
  t.is(!offline.ok && offline.refusal.message, 'The node is not connected.');
  t.is((await waiting).ok, false);
  t.true(stream.destroyed);
});
