import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { ExecutionContext } from 'ava';
import { BUSY_MS, patient } from '../../../support/busy.ts';
import { peerTest } from '../../../support/peer-test.ts';
import { until } from '../../../support/until.ts';
import { blobOf, askpass, collect, startSshRig } from '../../../support/agent/ssh-fixture.ts';
import type { SshRig } from '../../../support/agent/ssh-fixture.ts';
import { connectRaw, forgedAgent } from './raw-client.ts';

const test = await peerTest('ssh', 'ssh-keygen');

/** Arguments that log alice in with this key and run `true`. */
function asAlice(rig: SshRig, key: string | null): string[] {
  return [...rig.options(key), 'alice@127.0.0.1', 'echo in'];
}

async function refusal(
  t: ExecutionContext,
  rig: SshRig,
  words: readonly string[],
  environment?: NodeJS.ProcessEnv,
): Promise<string> {
  const { status, stdout, stderr } = await rig.ssh(words, '', environment);
  t.deepEqual({ status, stdout }, { status: 255, stdout: '' });
  return stderr;
}

test('keys of every kind that the admin stores let their user in, RSA with SHA-2', async (t) => {
  const rig = await startSshRig(t);
  const kinds = [['ed25519'], ['ecdsa', 256], ['ecdsa', 384], ['ecdsa', 521], ['rsa', 2048], ['rsa', 4096]] as const;
  const keys = await Promise.all(kinds.map(async ([type, bits]) => rig.key(type, bits)));
  rig.user('alice', keys);

  const ends = await Promise.all(keys.map(async (key) => rig.ssh(asAlice(rig, key))));

  t.deepEqual(
    ends,
    keys.map(() => ({ status: 0, signal: null, stdout: 'in\n', stderr: '' })),
  );
  t.deepEqual(
    rig.asked
      .map(({ credential }) => (credential.method === 'public_key' ? credential.signature : ''))
      .toSorted((a, b) => a.localeCompare(b)),
    [...keys.map(() => 'none'), ...keys.map(() => 'verified')],
  );
});

test('an RSA key that signs with SHA-1 stays outside, and nobody is asked about it', async (t) => {
  const rig = await startSshRig(t);
  const key = await rig.key('rsa', 2048);
  rig.user('alice', [key]);

  const stderr = await refusal(t, rig, ['-o', 'PubkeyAcceptedAlgorithms=ssh-rsa', ...asAlice(rig, key)]);

  t.regex(stderr, /Permission denied \(publickey,password\)|no mutual signature/u);
  t.deepEqual(rig.asked, []);
});

test('a password lets its user in, and a wrong one does not', async (t) => {
  const rig = await startSshRig(t);
  rig.user('alice', [], 'right and long enough');

  const right = await rig.ssh(asAlice(rig, null), '', askpass(rig.directory, 'right and long enough'));
  const wrong = await refusal(t, rig, asAlice(rig, null), askpass(rig.directory, 'wrong'));

  t.deepEqual(right, { status: 0, signal: null, stdout: 'in\n', stderr: '' });
  t.regex(wrong, /Permission denied \(publickey,password\)/u);
  t.deepEqual(
    rig.asked.map(({ credential }) => credential),
    [
      { method: 'password', password: 'right and long enough' },
      ...Array.from({ length: 3 }, () => ({ method: 'password', password: 'wrong' })),
    ],
  );
});

test('a known public key without its private half stays outside, even when the admin would say yes (E6)', async (t) => {
  const rig = await startSshRig(t);
  const [known, own] = [await rig.key('ed25519'), await rig.key('ed25519')];
  const user = rig.user('alice', [known]);
  rig.verdict = async () => ({ accepted: true, grant: { ssh_username_id: user.id, ssh_public_key_id: null } });

  await t.throwsAsync(
    connectRaw(t, rig.port, { username: 'alice', agent: forgedAgent(known, own), authHandler: ['agent'] }),
  );

  t.deepEqual(
    rig.asked.map(({ credential }) => credential),
    (['none', 'wrong'] as const).map((signature) => ({ method: 'public_key', blob: blobOf(known), signature })),
  );
  t.deepEqual(rig.server.grants(), []);
});

test('nobody gets in without a credential, as a user that is not known, or with a key that is not', async (t) => {
  const rig = await startSshRig(t);
  const [known, other] = [await rig.key('ed25519'), await rig.key('ed25519')];
  rig.user('alice', [known], 'right and long enough');

  const none = await refusal(t, rig, ['-o', 'PreferredAuthentications=none', ...asAlice(rig, null)]);
  const unknownUser = await refusal(t, rig, [...rig.options(known), 'mallory@127.0.0.1', 'echo in']);
  const unknownKey = await refusal(t, rig, asAlice(rig, other));

  for (const stderr of [none, unknownUser, unknownKey]) t.regex(stderr, /Permission denied \(publickey,password\)/u);
  t.deepEqual(
    rig.asked.map(({ username }) => username),
    ['mallory', 'alice'],
  );
});

test('an admin that cannot be asked is a no, and a yes is not remembered', async (t) => {
  const rig = await startSshRig(t);
  const key = await rig.key('ed25519');
  rig.user('alice', [key]);
  const before = await rig.ssh(asAlice(rig, key));
  rig.verdict = async () => null;

  const stderr = await refusal(t, rig, asAlice(rig, key));

  t.is(before.status, 0);
  t.regex(stderr, /Permission denied/u);
});

test('a client is told goodbye after six attempts', async (t) => {
  const rig = await startSshRig(t);
  const keys = await Promise.all(Array.from({ length: 7 }, async () => rig.key('ed25519')));
  const words = [...rig.options(keys[0] ?? ''), ...keys.flatMap((key) => ['-i', key]), 'alice@127.0.0.1'];

  const stderr = await refusal(t, rig, words);

  t.regex(stderr, /Too many authentication failures/u);
  t.is(rig.asked.length, 6);
});

test('a deleted user or key ends its connections within a second, and no others (E5)', async (t) => {
  const rig = await startSshRig(t);
  const keys = [await rig.key('ed25519'), await rig.key('ed25519'), await rig.key('ed25519')] as const;
  const alice = rig.user('alice', [keys[0], keys[1]]);
  const bob = rig.user('bob', [keys[2]]);
  const clients = keys.map((key, index) => {
    const child = rig.start([
      ...rig.options(key),
      '-o',
      'LogLevel=INFO',
      `${index < 2 ? 'alice' : 'bob'}@127.0.0.1`,
      'echo in; trap "" HUP; sleep 1000',
    ]);
    return { child, end: collect(child), isIn: once(child.stdout, 'data') };
  });
  await Promise.all(clients.map(({ isIn }) => isIn));
  const grants = rig.server.grants();

  const beganMs = performance.now();
  rig.server.end([], [alice.keys.get(blobOf(keys[0])) ?? '']);
  const first = await clients[0]?.end;
  const keyMs = performance.now() - beganMs;
  const left = rig.server.grants();
  rig.server.end([alice.id], []);
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
  t.true(keyMs < patient(1_000 + BUSY_MS) && userMs < patient(2_000 + BUSY_MS), `${keyMs} ms, ${userMs} ms`);
  t.deepEqual(
    rig.server.grants().map((grant) => grant.ssh_username_id),
    [bob.id],
  );
});

test('a user who is deleted while the admin is asked does not get in', async (t) => {
  const rig = await startSshRig(t);
  const key = await rig.key('ed25519');
  const user = rig.user('alice', [key]);
  rig.verdict = async (_username, credential) => {
    if (credential.method === 'public_key' && credential.signature === 'verified') rig.server.end([user.id], []);
    return { accepted: true, grant: { ssh_username_id: user.id, ssh_public_key_id: null } };
  };

  const stderr = await refusal(t, rig, asAlice(rig, key));

  t.regex(stderr, /this user or key was deleted/u);
});

test('a user has so many connections at once, and the machine so many of all; what is over is told why', async (t) => {
  const rig = await startSshRig(t, { limits: { connectionsPerUserMax: 2, connectionsMax: 3 } });
  const key = await rig.key('ed25519');
  rig.user('alice', [key]);
  rig.user('bob', [key]);
  rig.user('carol', [key]);
  const open = async (name: string) => {
    const child = rig.start([...rig.options(key), `${name}@127.0.0.1`, 'echo in; cat']);
    t.teardown(() => {
      child.kill();
    });
    await once(child.stdout, 'data');
  };
  await open('alice');
  await open('alice');

  const ofUser = await refusal(t, rig, asAlice(rig, key));
  await open('bob');
  const ofAll = await refusal(t, rig, [...rig.options(key), 'carol@127.0.0.1', 'echo in']);

  t.regex(ofUser, /2 connections of alice are open/u);
  t.regex(ofAll, /3 connections to this machine are open/u);
});

test('attempts and connections are counted, and live users are named once', async (t) => {
  const rig = await startSshRig(t);
  const key = await rig.key('ed25519');
  const alice = rig.user('alice', [key]);
  const clients = [0, 1].map(() => rig.start([...rig.options(key), 'alice@127.0.0.1', 'echo in; cat']));
  await Promise.all(clients.map(async (client) => once(client.stdout, 'data')));

  const during = { grants: rig.server.grants(), counters: { ...rig.server.counters } };
  for (const client of clients) client.stdin.end();
  await until('the connections are gone', () => rig.server.grants().length === 0);

  t.deepEqual(during, {
    grants: [{ ssh_username_id: alice.id, ssh_public_key_id: alice.keys.get(blobOf(key)) ?? randomUUID() }],
    counters: { authentications: 2, connections: 2 },
  });
});
