/** Logins held against rows, many in one query, and a database that does not answer. */
import test from 'ava';
import { Pool } from 'pg';
import { v7 } from 'uuid';
import { DatabaseUnavailable } from '../../../../actors/ports.ts';
import { createSshLogins } from '../../../../persistence/ssh/login-check.ts';
import type { NodeId } from '../../../../transport/protocol/ids.ts';
import { recordingLog } from '../../../support/log.ts';
import { openedDatabase } from '../../../support/database/opened.ts';
import { newKey } from '../../../support/ssh/ssh-keys.ts';
import { openStoredFleet } from '../fixture.ts';
import type { Passwords } from '../../../../persistence/ssh/passwords.ts';
import { column } from '../../../support/database/columns.ts';

/** Knows a password by the hash `hash of …`, and counts what it was asked. */
function plainPasswords(answer?: null): Passwords & { readonly asked: (string | null)[] } {
  const asked: (string | null)[] = [];
  return {
    asked,
    hash: async (password) => Promise.resolve(`hash of ${password}`),
    verify: async (password, hash) => {
      asked.push(hash);
      return Promise.resolve(answer === null ? null : hash === `$argon2id$${password}`);
    },
  };
}

async function open(t: Parameters<typeof openedDatabase>[0], passwords: Passwords) {
  const {
    opened,
    fixture: { nodes },
  } = await openStoredFleet(t);
  const log = recordingLog();
  const [node = '', other = ''] = nodes.map(({ id }) => id);
  const [username, key, publicKey] = [v7(), newKey(), v7()];
  await opened.pool.query(
    `insert into ssh_username (id, node_id, username, password_hash, inserted_at, updated_at) values ($1, $2, 'login', '$argon2id$right', now(), now())`,
    [username, node],
  );
  await opened.pool.query(
    `insert into ssh_public_key (id, ssh_username_id, key_name, public_key, fingerprint, inserted_at, updated_at) values ($1, $2, 'k', $3, $4, now(), now())`,
    [publicKey, username, key.line, key.fingerprint],
  );
  return {
    ...opened,
    log,
    node: node as NodeId,
    other: other as NodeId,
    username,
    key,
    publicKey,
    logins: createSshLogins({ pool: opened.pool, passwords, log }),
  };
}

test('a password costs one look at a hash, also of a username that does not exist or has none', async (t) => {
  const passwords = plainPasswords();
  const { logins, node, username } = await open(t, passwords);
  const password = (text: string) => ({ method: 'password', password: text }) as const;

  t.deepEqual(await logins.verify(node, 'login', password('right')), {
    sshUsername: username,
    grant: { ssh_username_id: username, ssh_public_key_id: null },
  });
  t.deepEqual(await logins.verify(node, 'login', password('wrong')), { sshUsername: username, grant: null });
  t.deepEqual(await logins.verify(node, 'nobody', password('right')), { sshUsername: null, grant: null });
  t.deepEqual(await logins.verify(node, 'login\0', password('right')), { sshUsername: null, grant: null });

  t.deepEqual(passwords.asked, ['$argon2id$right', '$argon2id$right', null, null]);
  t.deepEqual(logins.counters, { accepted: 1, refused: 3, limited: 0, busy: 0, unavailable: 0 });
});

test('a thousand logins at once each get their own answer', async (t) => {
  const { logins, node, other, username, key, publicKey } = await open(t, plainPasswords());
  const stray = newKey();

  const outcomes = await Promise.all(
    Array.from({ length: 1_000 }, async (_, index) =>
      logins.verify(index % 2 === 0 ? node : other, 'login', {
        method: 'public_key',
        blob: index % 4 === 0 ? key.blob : stray.blob,
        signature: 'verified',
      }),
    ),
  );

  const expected = [
    { sshUsername: username, grant: { ssh_username_id: username, ssh_public_key_id: publicKey } },
    { sshUsername: null, grant: null },
    { sshUsername: username, grant: null },
    { sshUsername: null, grant: null },
  ];
  t.deepEqual(
    outcomes,
    outcomes.map((_, index) => expected[index % 4]),
  );
});

test('a login that finds no room to be looked at is refused and counted', async (t) => {
  const { logins, node, username } = await open(t, plainPasswords(null));

  t.deepEqual(await logins.verify(node, 'login', { method: 'password', password: 'right' }), {
    sshUsername: username,
    grant: null,
  });
  logins.limited();

  t.deepEqual(logins.counters, { accepted: 0, refused: 0, limited: 1, busy: 1, unavailable: 0 });
});

test('a database that does not answer, and a row that cannot be, give no answer and no noise', async (t) => {
  const { logins, node, key, log } = await open(t, {
    ...plainPasswords(),
    verify: async () => Promise.reject(new Error('a stored password hash is not an Argon2id hash')),
  });

  t.is(await logins.verify(node, 'login', { method: 'password', password: 'right' }), null);
  t.deepEqual(column(log.lines, 'message'), ['an SSH login could not be verified']);
  const gone = createSshLogins({ pool: new Pool({ host: '/nonexistent' }), passwords: plainPasswords(), log });
  t.is(await gone.verify(node, 'login', { method: 'public_key', blob: key.blob, signature: 'verified' }), null);
  await t.throwsAsync(gone.gone(node, []), { instanceOf: DatabaseUnavailable });

  t.is(log.lines.length, 1);
});
