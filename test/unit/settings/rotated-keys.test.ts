/** Settings by which keys are rotated: of callers, and those under which secrets are stored. */
import { randomBytes } from 'node:crypto';
import test from 'ava';
import { readAdminConfig } from '../../../settings/admin.ts';

const MASTER_KEY = 'a-master-key-for-tests';
const read = (env: Record<string, string>) => readAdminConfig({ MASTER_KEY, ...env }, 'host.example');

function configOf(env: Record<string, string>) {
  const result = read(env);
  if (!result.ok) throw new Error(result.problems.join('\n'));
  return result.config;
}

function problemsOf(env: Record<string, string>): readonly string[] {
  const result = read(env);
  return result.ok ? [] : result.problems;
}

test('former encryption keys are a list of such keys, none of them twice, and none is told', (t) => {
  const [one, two, three] = Array.from({ length: 3 }, () => randomBytes(32));
  const base64 = (key = Buffer.alloc(0)) => key.toString('base64');
  const five = Array.from({ length: 5 }, () => base64(randomBytes(32))).join(',');

  const { ENCRYPTION_KEYS_OLD: former = [] } = configOf({
    ENCRYPTION_KEY: base64(one),
    ENCRYPTION_KEYS_OLD: `${base64(two)}, ${three?.toString('hex')}`,
  });

  t.deepEqual(
    former.map((key) => Buffer.from(key)),
    [two, three],
  );
  for (const [env, expected] of [
    [{ ENCRYPTION_KEY: base64(one), ENCRYPTION_KEYS_OLD: base64(one) }, /holds ENCRYPTION_KEY itself, or a key twice/u],
    [{ ENCRYPTION_KEY: base64(one), ENCRYPTION_KEYS_OLD: `${base64(two)},${base64(two)}` }, /or a key twice/u],
    [{ ENCRYPTION_KEY: base64(one), ENCRYPTION_KEYS_OLD: `${base64(two)},short` }, /at most 4 such keys/u],
    [{ ENCRYPTION_KEY: base64(one), ENCRYPTION_KEYS_OLD: five }, /at most 4 such keys/u],
    [{ ENCRYPTION_KEYS_OLD: base64(two) }, /and ENCRYPTION_KEY is not: the key in DATA_DIR is rotated by/u],
  ] as const) {
    const problems = problemsOf(env);
    t.regex(problems.join(), expected);
    t.is(problems.length, 1);
    t.false(problems.join().includes(base64(two)));
  }
});

test('an encryption key that others guess is known', (t) => {
  const phrase = (text: string) => Buffer.from(text.padEnd(32, text)).toString('base64');
  const isWeak = (ENCRYPTION_KEY: string) => configOf({ ENCRYPTION_KEY }).isEncryptionKeyWeak;

  for (const weak of [
    '0'.repeat(64),
    'ab'.repeat(32),
    '0123456789abcdef'.repeat(4),
    Buffer.from(Array.from({ length: 32 }, (_, i) => i + 1)).toString('hex'),
    phrase('changeme'),
    phrase('12345678'),
    phrase('abcdefghijklmnopqrstuvwxyzabcdef'),
    phrase('supersecretpasswordadminmaster01'),
  ])
    t.true(isWeak(weak), weak);
  for (let times = 0; times < 1_000; times += 1) t.false(isWeak(randomBytes(32).toString('base64')));
  t.false(isWeak(Buffer.from(randomBytes(16).toString('hex')).toString('base64')));
  t.false(configOf({}).isEncryptionKeyWeak);
});

test('a former key of callers is any that could be one, also a weak one, and not the present one', (t) => {
  const former = 'changeme-changeme-changeme';

  t.is(configOf({ API_KEY: 'a-key-of-the-api-for-tests', API_KEY_OLD: former }).API_KEY_OLD, former);
  t.deepEqual(problemsOf({ MASTER_KEY_OLD: MASTER_KEY }), [
    'MASTER_KEY_OLD is MASTER_KEY itself: it should be the key of before, or unset',
  ]);
  t.regex(problemsOf({ MCP_KEY_OLD: 'short' }).join(), /^MCP_KEY_OLD holds a value of 5 characters that does not fit/u);
});
