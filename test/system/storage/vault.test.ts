/** How secrets are stored, and how a wrong key is found out (E3). */
import test from 'ava';
import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { createVault, SealBroken } from '../../../persistence/vault.ts';

const KEY = Buffer.alloc(32, 1);

test('what is sealed opens to the same text under the same name, and looks different each time', (t) => {
  const vault = createVault(KEY);

  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (text, name) => {
      const sealed = vault.seal(text, name);

      t.is(vault.open(sealed, name), text);
      t.not(vault.seal(text, name), sealed);
    }),
    { numRuns: 50 },
  );
});

test('a sealed text does not open after any change, under another name, or with another key', (t) => {
  const vault = createVault(KEY);
  const sealed = vault.seal('secret', 'row/1');
  const changed = Array.from(
    sealed,
    (character, index) => `${sealed.slice(0, index)}${character === 'A' ? 'B' : 'A'}${sealed.slice(index + 1)}`,
  );
  // The last character of base64 may carry bits that mean nothing.
  const cut = [sealed.slice(0, -4), `${sealed}.`, '', 'v1', 'v1..', sealed.replace('v1', 'v2')];

  for (const text of [...changed.slice(0, -1), ...cut])
    t.throws(() => vault.open(text, 'row/1'), { instanceOf: SealBroken }, text);
  t.throws(() => vault.open(sealed, 'row/2'), { instanceOf: SealBroken });
  t.throws(() => createVault(Buffer.alloc(32, 2)).open(sealed, 'row/1'), { instanceOf: SealBroken });
  t.throws(() => createVault(Buffer.alloc(16)), { message: /16 bytes: it should have 32/u });
});

test('new secrets have 256 bits and never repeat; hashes are SHA-256', (t) => {
  const vault = createVault(KEY);

  const secrets = new Set(Array.from({ length: 1_000 }, () => vault.newSecret()));

  t.is(secrets.size, 1_000);
  for (const secret of secrets) t.is(Buffer.from(secret, 'base64url').byteLength, 32);
  t.deepEqual(Buffer.from(vault.sha256('abc')), createHash('sha256').update('abc').digest());
});
