/** Keys as `wg` makes and reads them. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { isWireguardKey } from '../../../../transport/protocol/wireguard.ts';
import { hexOfKey, keyOfHex, makeKeyPair, publicKeyOf } from '../../../../transport/vpn/wireguard/keys.ts';
import { peerTest } from '../../../support/run/peer-test.ts';

const test = await peerTest('wg');

async function wg(word: string, input = ''): Promise<string> {
  const running = promisify(execFile)('wg', [word]);
  running.child.stdin?.on('error', () => {}).end(input);
  return (await running).stdout.trim();
}

test('wg gives the same public keys for keys of both makings', async (t) => {
  const own = Array.from({ length: 5 }, () => makeKeyPair());
  for (const { privateKey, publicKey } of own) {
    t.true(isWireguardKey(privateKey) && isWireguardKey(publicKey));
    t.deepEqual([publicKeyOf(privateKey), await wg('pubkey', privateKey)], [publicKey, publicKey]);
  }
  t.is(new Set(own.map(({ privateKey }) => privateKey)).size, 5);
  const theirs = await wg('genkey');

  t.is(publicKeyOf(theirs), await wg('pubkey', theirs));
});

test('what is no key is none, and an error does not name it', (t) => {
  const { publicKey } = makeKeyPair();
  t.is(keyOfHex(hexOfKey(publicKey)), publicKey);
  const wrong = [
    '',
    publicKey.slice(1),
    `${publicKey}\n`,
    `A${publicKey}`,
    publicKey.replace(/.=$/u, 'B='),
    publicKey.replace(/^./u, '-'),
    `${publicKey.slice(0, 43)}A`,
    Buffer.alloc(32).toString('base64url'),
  ];

  t.deepEqual(
    wrong.map((text) => isWireguardKey(text)),
    wrong.map(() => false),
  );
  for (const text of wrong)
    t.throws(() => publicKeyOf(text), { message: 'this is no key of WireGuard: 32 bytes in base64' });
  t.deepEqual(
    ['', 'a'.repeat(63), 'A'.repeat(64), 'g'.repeat(64), `${'a'.repeat(64)}\n`].map((hex) => keyOfHex(hex)),
    [null, null, null, null, null],
  );
});
