/** Passwords as slow hashes, a few at a time (E3). */
import test from 'ava';
import { createPasswords, HASHES_WAITING_MAX, HASHING_MAX } from '../../../../persistence/ssh/passwords.ts';

const PASSWORD = 'correct horse battery staple';

test('a password is kept as an Argon2id hash with its salt and the parameters of OWASP, and is known again by it', async (t) => {
  const passwords = createPasswords();

  const [hash, other] = await Promise.all([passwords.hash(PASSWORD), passwords.hash(PASSWORD)]);

  t.regex(hash ?? '', /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/u);
  t.not(hash, other, 'each has a salt of its own');
  t.true(await passwords.verify(PASSWORD, hash, 'node'));
  t.false(await passwords.verify(`${PASSWORD} `, hash, 'node'));
  t.false(await passwords.verify('', hash, 'node'));
  t.false(await passwords.verify(PASSWORD, null, 'node'));
});

test('a hash that the reference implementation made is known, whatever its parameters', async (t) => {
  // Source: argon2 reference implementation, src/test.c.
  const hash = '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc';
  const passwords = createPasswords();

  t.true(await passwords.verify('password', hash, 'node'));
  t.false(await passwords.verify('Password', hash, 'node'));
});

test('the same letters are the same password, however a keyboard puts them together', async (t) => {
  const passwords = createPasswords();

  t.true(
    await passwords.verify('Stra\u0308nge-pa\u0308ssword', await passwords.hash('Str\u00E4nge-p\u00E4ssword'), 'node'),
  );
});

test('what is stored and is no hash of ours is an error, and the queue goes on', async (t) => {
  const passwords = createPasswords();

  for (const wrong of [
    '',
    'x',
    '$2b$10$abcdefghijklmnopqrstuv',
    '$argon2i$v=19$m=19456,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc',
    '$argon2id$v=16$m=19456,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc',
  ]) {
    await t.throwsAsync(passwords.verify(PASSWORD, wrong, 'node'), {
      message: 'a stored password hash is not an Argon2id hash',
    });
  }

  t.true(await passwords.verify(PASSWORD, await passwords.hash(PASSWORD), 'node'));
});

test.serial(
  `${HASHING_MAX} hashes run and ${HASHES_WAITING_MAX} wait; one more is turned away, and there is room again afterwards`,
  async (t) => {
    const passwords = createPasswords();
    let ended = 0;
    const taken = Array.from({ length: HASHING_MAX + HASHES_WAITING_MAX }, async () => {
      const hash = await passwords.hash(PASSWORD);
      ended += 1;
      return hash;
    });

    t.is(await passwords.hash(PASSWORD), null);
    t.is(await passwords.verify(PASSWORD, null, ''), null);
    t.is(ended, 0, 'at once');
    const hashes = await Promise.all(taken);

    t.true(hashes.every((hash) => hash?.startsWith('$argon2id$')));
    t.not(await passwords.hash(PASSWORD), null);
  },
);

test.serial('no username costs as much as a wrong password', async (t) => {
  const passwords = createPasswords();
  const hash = await passwords.hash(PASSWORD);
  const timesMs = async (of: string | null): Promise<number> => {
    const times: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      const began = process.cpuUsage();
      await passwords.verify('wrong', of, 'node');
      const { user, system } = process.cpuUsage(began);
      times.push((user + system) / 1_000);
    }
    return times.toSorted((a, b) => a - b)[2] ?? 0;
  };
  const [known, unknown] = [await timesMs(hash), await timesMs(null)];

  t.true(
    unknown > known / 2 && unknown < known * 2,
    `${unknown} ms of processor for no username, ${known} ms for a wrong password`,
  );
});
