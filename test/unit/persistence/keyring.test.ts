/** A vault over the keys of a rotation. */
import test from 'ava';
import { createVault, SealBroken } from '../../../persistence/vault.ts';

const OLD = Buffer.alloc(32, 1);
const NEW = Buffer.alloc(32, 2);

test('one key seals, all of them open, and what was sealed by another is sealed anew under the same name', (t) => {
  const before = createVault(OLD);
  const during = createVault(NEW, [OLD]);
  const after = createVault(NEW);
  const sealed = before.seal('secret', 'row/1');

  const anew = during.sealedAnew(sealed, 'row/1') ?? '';

  t.is(during.open(sealed, 'row/1'), 'secret');
  t.is(after.open(anew, 'row/1'), 'secret');
  t.is(during.sealedAnew(anew, 'row/1'), null);
  t.throws(() => after.open(anew, 'row/2'), { instanceOf: SealBroken });
  t.throws(() => during.sealedAnew(sealed, 'row/2'), { instanceOf: SealBroken });
  t.throws(() => after.open(sealed, 'row/1'), { instanceOf: SealBroken });
  t.is(during.keyOf(sealed, 'row/1'), before.wanted);
  t.is(during.keyOf(anew, 'row/1'), after.wanted);
  t.is(after.keyOf(sealed, 'row/1'), null);
});

test('the key that seals can be the former one until it is changed', (t) => {
  const vault = createVault(NEW, [OLD]);
  const former = createVault(OLD);

  vault.sealWith(former.wanted);
  const before = [vault.sealing(), vault.roots('info')[0]?.id];
  const sealed = vault.seal('secret', 'row');
  vault.sealWith(vault.wanted);

  t.is(former.open(sealed, 'row'), 'secret');
  t.deepEqual(before, [former.wanted, former.wanted]);
  t.deepEqual(
    vault.roots('info').map(({ id }) => id),
    [vault.wanted, former.wanted],
  );
  t.deepEqual(vault.roots('info')[1]?.bytes, former.roots('info')[0]?.bytes);
  t.notDeepEqual(vault.roots('info')[1]?.bytes, former.roots('other')[0]?.bytes);
  t.throws(() => vault.sealWith('0123456789abcdef'), { message: /no encryption key 0123456789abcdef/u });
});

test('ids tell keys apart, and are no part of them', (t) => {
  const ids = [OLD, NEW].map((key) => createVault(key).wanted);

  t.is(new Set(ids).size, 2);
  for (const [index, id] of ids.entries()) {
    t.regex(id, /^[\da-f]{16}$/u);
    t.false([OLD, NEW][index]?.toString('hex').includes(id));
  }
  t.throws(() => createVault(OLD, [Buffer.alloc(16)]), { message: /16 bytes: it should have 32/u });
});
