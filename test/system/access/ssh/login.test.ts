/** Who gets in over SSH, with what, and who does not. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { ExecutionContext } from 'ava';
import { BUSY_MS, scaled } from '../../../support/busy.ts';
import { peerTest } from '../../../support/run/peer-test.ts';
import { until } from '../../../support/until.ts';
import { startSshFixture, type SshServerFixture, withAlice } from '../../../support/agent/ssh-fixture.ts';
import { connectRaw, forgedAgent } from '../../../support/ssh/raw-ssh-client.ts';
import { collect, askpass, blobOf, options } from '../../../support/ssh/openssh.ts';

const test = await peerTest('ssh', 'ssh-keygen');

/** Words that log alice in with this key. */
function asAlice(fixture: SshServerFixture, key: string | null): string[] {
  return [...fixture.options(key), 'alice@127.0.0.1', 'echo in'];
}

/** What somebody is told who does not get in. */
async function refusal(
  t: ExecutionContext,
  fixture: SshServerFixture,
  words: readonly string[],
  environment?: NodeJS.ProcessEnv,
): Promise<string> {
  const { status, stdout, stderr } = await fixture.ssh(words, '', environment);
  t.deepEqual({ status, stdout }, { status: 255, stdout: '' });
  return stderr;
}

test('keys of every kind that the admin stores let their user in, RSA with SHA-2', async (t) => {
  const fixture = await startSshFixture(t);
  const kinds = [['ed25519'], ['ecdsa', 256], ['ecdsa', 384], ['ecdsa', 521], ['rsa', 2048], ['rsa', 4096]] as const;
  const keys = await Promise.all(kinds.map(async ([type, bits]) => fixture.key(type, bits)));
  fixture.user('alice', keys);

  const ends = await Promise.all(keys.map(async (key) => fixture.ssh(asAlice(fixture, key))));

  t.deepEqual(
    ends,
    keys.map(() => ({ status: 0, signal: null, stdout: 'in\n', stderr: '' })),
  );
  t.deepEqual(
    fixture.asked
      .map(({ credential }) => (credential.method === 'public_key' ? credential.signature : ''))
      .toSorted((a, b) => a.localeCompare(b)),
    [...keys.map(() => 'none'), ...keys.map(() => 'verified')],
  );
});

test('an RSA key that signs with SHA-1 stays outside, and nobody is asked about it', async (t) => {
  const fixture = await startSshFixture(t);
  const key = await fixture.key('rsa', 2048);
  fixture.user('alice', [key]);

  const sha1 = options('PubkeyAcceptedAlgorithms=ssh-rsa');
  const stderr = await refusal(t, fixture, [...sha1, ...asAlice(fixture, key)]);

  t.regex(stderr, /Permission denied \(publickey,password\)|no mutual signature/u);
  t.deepEqual(fixture.asked, []);
});

test('a password lets its user in, and a wrong one does not', async (t) => {
  const fixture = await startSshFixture(t);
  fixture.user('alice', [], 'right and long enough');

  const right = await fixture.ssh(asAlice(fixture, null), '', askpass(fixture.directory, 'right and long enough'));
  const wrong = await refusal(t, fixture, asAlice(fixture, null), askpass(fixture.directory, 'wrong'));

  t.deepEqual(right, { status: 0, signal: null, stdout: 'in\n', stderr: '' });
  t.regex(wrong, /Permission denied \(publickey,password\)/u);
  t.deepEqual(
    fixture.asked.map(({ credential }) => credential),
    [
      { method: 'password', password: 'right and long enough' },
      ...Array.from({ length: 3 }, () => ({ method: 'password', password: 'wrong' })),
    ],
  );
});

test('a known public key without its private half stays outside, even when the admin would say yes (E6)', async (t) => {
  const fixture = await startSshFixture(t);
  const [known, own] = [await fixture.key(), await fixture.key()];
  const user = fixture.user('alice', [known]);
  fixture.verdict = async () => ({ accepted: true, grant: { ssh_username_id: user.id, ssh_public_key_id: null } });

  await t.throwsAsync(
    connectRaw(t, fixture.port, { username: 'alice', agent: forgedAgent(known, own), authHandler: ['agent'] }),
  );

  t.deepEqual(
    fixture.asked.map(({ credential }) => credential),
    (['none', 'wrong'] as const).map((signature) => ({ method: 'public_key', blob: blobOf(known), signature })),
  );
  t.deepEqual(fixture.server.grants(), []);
});

test('nobody gets in without a credential, as a user that is not known, or with a key that is not', async (t) => {
  const fixture = await startSshFixture(t);
  const [known, other] = [await fixture.key(), await fixture.key()];
  fixture.user('alice', [known], 'right and long enough');

  const none = await refusal(t, fixture, [...options('PreferredAuthentications=none'), ...asAlice(fixture, null)]);
  const unknownUser = await refusal(t, fixture, [...fixture.options(known), 'mallory@127.0.0.1', 'echo in']);
  const unknownKey = await refusal(t, fixture, asAlice(fixture, other));

  for (const stderr of [none, unknownUser, unknownKey]) t.regex(stderr, /Permission denied \(publickey,password\)/u);
  t.deepEqual(
    fixture.asked.map(({ username }) => username),
    ['mallory', 'alice'],
  );
});

test('an admin that cannot be asked is a no, and a yes is not remembered', async (t) => {
  const { fixture, key } = await withAlice(t);
  const before = await fixture.ssh(asAlice(fixture, key));
  fixture.verdict = async () => null;

  const stderr = await refusal(t, fixture, asAlice(fixture, key));

  t.is(before.status, 0);
  t.regex(stderr, /Permission denied/u);
});

test('a client is told goodbye after six attempts', async (t) => {
  const fixture = await startSshFixture(t);
  const keys = await Promise.all(Array.from({ length: 7 }, async () => fixture.key()));
  const words = [...fixture.options(keys[0] ?? ''), ...keys.flatMap((key) => ['-i', key]), 'alice@127.0.0.1'];

  const stderr = await refusal(t, fixture, words);

  t.regex(stderr, /Too many authentication failures/u);
  t.is(fixture.asked.length, 6);
});

test('a deleted user or key ends its connections within a second, and no others (E5)', async (t) => {
  const fixture = await startSshFixture(t);
  const keys = [await fixture.key(), await fixture.key(), await fixture.key()] as const;
  const alice = fixture.user('alice', [keys[0], keys[1]]);
  const bob = fixture.user('bob', [keys[2]]);
  const clients = keys.map((key, index) => {
    const child = fixture.start([
      ...fixture.options(key),
      `${index < 2 ? 'alice' : 'bob'}@127.0.0.1`,
      'echo in; trap "" HUP; sleep 1000',
    ]);
    return { child, end: collect(child), isIn: once(child.stdout, 'data') };
  });
  await Promise.all(clients.map(({ isIn }) => isIn));
  const grants = fixture.server.grants();

  const beganMs = performance.now();
  fixture.server.end([], [alice.keys.get(blobOf(keys[0])) ?? '']);
  const first = await clients[0]?.end;
  const keyMs = performance.now() - beganMs;
  const left = fixture.server.grants();
  fixture.server.end([alice.id], []);
  const second = await clients[1]?.end;
  const userMs = performance.now() - beganMs;

  t.is(grants.length, 3);
  const kept = [alice.keys.get(blobOf(keys[1])), bob.keys.get(blobOf(keys[2]))];
  t.deepEqual(
    kept.map((key) => left.filter((grant) => grant.ssh_public_key_id === key).length),
    [1, 1],
  );
  t.is(left.length, kept.length);
  t.regex(first?.stderr ?? '', /The key of this session was deleted/u);
  t.regex(second?.stderr ?? '', /The user of this session was deleted/u);
  t.true(keyMs < scaled(1_000 + BUSY_MS) && userMs < scaled(2_000 + BUSY_MS), `${keyMs} ms, ${userMs} ms`);
  t.deepEqual(
    fixture.server.grants().map((grant) => grant.ssh_username_id),
    [bob.id],
  );
});

test('a user who is deleted while the admin is asked does not get in', async (t) => {
  const fixture = await startSshFixture(t);
  const key = await fixture.key();
  const user = fixture.user('alice', [key]);
  fixture.verdict = async (_username, credential) => {
    if (credential.method === 'public_key' && credential.signature === 'verified') fixture.server.end([user.id], []);
    return { accepted: true, grant: { ssh_username_id: user.id, ssh_public_key_id: null } };
  };

  const stderr = await refusal(t, fixture, asAlice(fixture, key));

  t.regex(stderr, /this user or key was deleted/u);
});

test('a user has so many connections at once, and the machine so many of all; what is over is told why', async (t) => {
  const fixture = await startSshFixture(t, { limits: { connectionsPerUserMax: 2, connectionsMax: 3 } });
  const key = await fixture.key();
  fixture.user('alice', [key]);
  fixture.user('bob', [key]);
  fixture.user('carol', [key]);
  const open = async (name: string) => {
    const child = fixture.start([...fixture.options(key), `${name}@127.0.0.1`, 'echo in; cat']);
    await once(child.stdout, 'data');
  };
  await open('alice');
  await open('alice');

  const ofUser = await refusal(t, fixture, asAlice(fixture, key));
  await open('bob');
  const ofAll = await refusal(t, fixture, [...fixture.options(key), 'carol@127.0.0.1', 'echo in']);

  t.regex(ofUser, /2 connections of alice are open/u);
  t.regex(ofAll, /3 connections to this machine are open/u);
});

test('attempts and connections are counted, and live users are named once', async (t) => {
  const fixture = await startSshFixture(t);
  const key = await fixture.key();
  const alice = fixture.user('alice', [key]);
  const clients = [0, 1].map(() => fixture.start([...fixture.options(key), 'alice@127.0.0.1', 'echo in; cat']));
  await Promise.all(clients.map(async (client) => once(client.stdout, 'data')));

  const during = { grants: fixture.server.grants(), counters: { ...fixture.server.counters } };
  for (const client of clients) client.stdin.end();
  await until('the connections are gone', () => fixture.server.grants().length === 0);

  t.deepEqual(during, {
    grants: [{ ssh_username_id: alice.id, ssh_public_key_id: alice.keys.get(blobOf(key)) ?? randomUUID() }],
    counters: { authentications: 2, connections: 2 },
  });
});
