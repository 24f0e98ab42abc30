import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { UPDATER_SETTINGS } from '../../../agent/updater/settings.ts';
import { tokenAt } from '../../../agent/updater/token.ts';
import { readAdminConfig } from '../../../settings/admin.ts';
import { readSettings } from '../../../settings/environment.ts';
import { isWeakKey } from '../../../settings/weak-keys.ts';
import { scaled } from '../../support/busy.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const WEAK = [
  'x'.repeat(16),
  'x'.repeat(512),
  'abababababababab',
  'changemechangeme',
  'change-me-please-1',
  'ChangeMe!ChangeMe!',
  'passwordpassword',
  'Passw0rd-Passw0rd',
  'password-password-123456',
  'your-master-key-here',
  'MASTER_KEY_MASTER_KEY',
  'supersecretpassword',
  'admin-admin-admin',
  '0123456789abcdef',
  '1234567890123456',
  '9876543210987654',
  'abcdefghijklmnop',
  'qwertyuiopasdfgh',
  '0000000000000001',
  '1234-1234-1234-1234',
  'default-api-token-1234',
];

for (const key of WEAK) test(`${key.slice(0, 32)} is a key that is guessed`, (t) => t.true(isWeakKey(key)));

test('keys at random, and phrases that somebody made up, are not', (t) => {
  for (let n = 0; n < 2_000; n += 1) {
    for (const key of [
      randomBytes(16).toString('hex'),
      randomBytes(32).toString('hex'),
      randomBytes(12).toString('base64url'),
    ])
      t.false(isWeakKey(key), key);
  }
  for (const key of ['correct-horse-battery-staple', 'master-key-of-the-tests-1234', 'our-key-for-the-lab-in-Bern'])
    t.false(isWeakKey(key), key);
});

test('a long text is judged at once, whatever it holds', (t) => {
  for (const key of [`${'1'.repeat(511)}x`, `${'changeme'.repeat(63)}x`, `${'pass'.repeat(127)}w`]) {
    const beganMs = performance.now();
    isWeakKey(key);
    t.true(performance.now() - beganMs < scaled(1_000));
  }
});

test('an admin does not start with a key that is guessed, and says how to make one', (t) => {
  const refused = readAdminConfig({
    MASTER_KEY: 'changemechangeme',
    API_KEY: 'x'.repeat(20),
    PROXY_KEY: randomBytes(16).toString('hex'),
    ADMIN_DEBUG_DASHBOARD_PASSWORD: 'password1234',
  });

  t.deepEqual(refused, {
    ok: false,
    problems: [
      'MASTER_KEY holds a value of 16 characters that does not fit: it should be one that nobody guesses, as made by: openssl rand -hex 32',
      'API_KEY holds a value of 20 characters that does not fit: it should be one that nobody guesses, as made by: openssl rand -hex 32',
      'ADMIN_DEBUG_DASHBOARD_PASSWORD holds a value of 12 characters that does not fit: it should be one that nobody guesses, as made by: openssl rand -hex 16',
    ],
  });
});

test('an updater does not start with a token that is guessed, and says how to make one', (t) => {
  for (const [UPDATER_TOKEN, characters] of [
    ['changemechangeme', 16],
    ['a'.repeat(20), 20],
  ] as const)
    t.deepEqual(readSettings(UPDATER_SETTINGS, { UPDATER_TOKEN }), {
      ok: false,
      problems: [
        `UPDATER_TOKEN holds a value of ${characters} characters that does not fit: it should be one that nobody guesses, as made by: openssl rand -hex 32`,
      ],
    });
  t.true(readSettings(UPDATER_SETTINGS, { UPDATER_TOKEN: randomBytes(32).toString('hex') }).ok);
});

test('an updater takes no token that is guessed from its file, and makes one where there is none', (t) => {
  const file = join(temporaryDirectory(t), 'token');

  const made = tokenAt(file, undefined);
  t.is(tokenAt(file, undefined), made);
  writeFileSync(file, 'changemechangeme\n');

  t.throws(() => tokenAt(file, undefined), {
    message: `${file} holds no token that can be UPDATER_TOKEN: remove it, and the next start makes another`,
  });
});
