/** SSH logins as the admin decides them, through a whole admin: verdicts, events, and what a deletion ends. */
import { setImmediate } from 'node:timers/promises';
import test from 'ava';
import { holdCommit } from '../../chaos/commit-hold.ts';
import {
  SSH_ATTEMPTS_BURST_MAX,
  SSH_ATTEMPTS_PER_SECOND,
  SSH_ATTEMPTS_VERIFYING_MAX,
} from '../../../actors/ssh/login-attempts.ts';
import type { SshCredential } from '../../../transport/protocol/ssh.ts';
import { BUSY_MS, scaled } from '../../support/busy.ts';
import { shared } from './fleet.ts';
import { newKey } from '../../support/ssh/ssh-keys.ts';
import { until } from '../../support/until.ts';
import { keyShown, passwordShown, startSshAdmin, type LoginEvent, type SshSession } from './ssh-fixture.ts';

/** One admin for all: each test has nodes of its own. */
const admin = shared(test, startSshAdmin);

const PASSWORD = 'correct horse battery';
const NO = { accepted: false } as const;

/** An event without its time. */
function plain({ verified_at: at, ...event }: LoginEvent): Omit<LoginEvent, 'verified_at'> {
  if (Number.isNaN(Date.parse(at))) throw new Error(`${at} is no time`);
  return event;
}

test.serial('every outcome has its verdict and its event', async (t) => {
  const node = await admin().node();
  const [key, other, stray] = [newKey(), newKey(), newKey()];
  const ada = await admin().username(node.id, 'ada', { password: PASSWORD, keys: [key] });
  const bob = await admin().username(node.id, 'bob', { keys: [other] });
  const session = await node.connect();
  const yes = (id: string, publicKey: string | null) =>
    ({ accepted: true, grant: { ssh_username_id: id, ssh_public_key_id: publicKey } }) as const;
  const told = (username: string, id: string | null, method: string, result: string) => ({
    ssh_username_id: id,
    node_id: node.id,
    username,
    cluster_name: id === null ? null : 'one',
    auth_method: id === null ? 'unknown' : method,
    result,
  });
  const cases: readonly (readonly [username: string, shown: SshCredential, verdict: object, event: object | null])[] = [
    ['ada', passwordShown(PASSWORD), yes(ada.id, null), told('ada', ada.id, 'password', 'success')],
    ['ada', passwordShown(`${PASSWORD}!`), NO, told('ada', ada.id, 'password', 'failure')],
    ['ada', passwordShown(''), NO, told('ada', ada.id, 'password', 'failure')],
    ['ada', keyShown(key), yes(ada.id, ada.keys[0] ?? ''), told('ada', ada.id, 'public_key', 'success')],
    ['ada', keyShown(key, 'none'), yes(ada.id, ada.keys[0] ?? ''), null],
    ['ada', keyShown(key, 'wrong'), NO, told('ada', ada.id, 'public_key', 'failure')],
    ['ada', keyShown(other), NO, told('ada', ada.id, 'public_key', 'failure')],
    ['ada', keyShown(stray, 'none'), NO, told('ada', ada.id, 'public_key', 'failure')],
    ['bob', passwordShown(PASSWORD), NO, told('bob', bob.id, 'password', 'failure')],
    ['bob', keyShown(other), yes(bob.id, bob.keys[0] ?? ''), told('bob', bob.id, 'public_key', 'success')],
    ['eve', passwordShown(PASSWORD), NO, told('eve', null, 'password', 'failure')],
    ['eve', keyShown(key), NO, told('eve', null, 'public_key', 'failure')],
    ['eve', keyShown(key, 'none'), NO, told('eve', null, 'public_key', 'failure')],
    ['ADA', keyShown(key), NO, told('ADA', null, 'public_key', 'failure')],
    ['', passwordShown(PASSWORD), NO, told('', null, 'password', 'failure')],
    ['ada\0', passwordShown(PASSWORD), NO, told('ada\uFFFD', null, 'password', 'failure')],
    ['%', keyShown({ ...key, blob: '' }), NO, told('%', null, 'public_key', 'failure')],
    [
      'ada',
      keyShown({ ...key, blob: Buffer.from(key.fingerprint).toString('base64') }),
      NO,
      told('ada', ada.id, 'public_key', 'failure'),
    ],
  ];

  for (const [index, [username, shown, verdict]] of cases.entries())
    t.deepEqual<unknown, unknown>(await session.attempt(username, shown), verdict, `case ${index}`);

  t.deepEqual<unknown, unknown>(
    (await admin().logins(node.id)).map(plain),
    cases.flatMap(([, , , event]) => event ?? []),
  );
});

test.serial('a name opens the node that it was made for, and no other', async (t) => {
  const [one, two] = [await admin().node(), await admin().node()];
  const [key, other] = [newKey(), newKey()];
  const first = await admin().username(one.id, 'ada', { password: PASSWORD, keys: [key] });
  const second = await admin().username(two.id, 'ada', { password: `${PASSWORD} 2`, keys: [other] });
  const [atOne, atTwo] = [await one.connect(), await two.connect()];

  const accepted = async (session: SshSession, credential: SshCredential): Promise<string | null> => {
    const verdict = await session.attempt('ada', credential);
    return verdict.accepted ? verdict.grant.ssh_username_id : null;
  };

  const shown = [keyShown(key), keyShown(other), passwordShown(PASSWORD), passwordShown(`${PASSWORD} 2`)];
  for (const [session, opens] of [
    [atOne, [first.id, null, first.id, null]],
    [atTwo, [null, second.id, null, second.id]],
  ] as const) {
    const accepts = [];
    for (const credential of shown) accepts.push(await accepted(session, credential));
    t.deepEqual(accepts, opens);
  }
  await admin().request('POST', '/clusters', { name: 'two' });
  t.is((await admin().request('POST', `/nodes/${one.id}/change_cluster`, { cluster_name: 'two' })).status, 200);
  const moved = await one.connect();

  t.is(await accepted(moved, keyShown(key)), first.id, 'it moves with its node');
  t.is((await admin().logins(one.id)).at(-1)?.cluster_name, 'two');
});

test.serial(
  'an attempt that is told twice has one verdict and one event; the same number later is another attempt',
  async (t) => {
    const { node, key, session } = await admin().ada();

    const results = async () => (await admin().logins(node.id)).map(({ result }) => result);

    for (const _ of [1, 2, 3]) session.show('ada', keyShown(key), 1);
    await session.verdictOf(1);
    await session.attempt('ada', keyShown(key, 'wrong'));
    t.deepEqual(await results(), ['success', 'failure']);
    session.show('ada', keyShown(key), 1);
    await until('its verdict', () => session.verdicts() === 3);

    t.deepEqual(await results(), ['success', 'failure', 'success']);
  },
);

test.serial('the agent hears of a login when the event is stored, and not before', async (t) => {
  const { node, key, session } = await admin().ada();
  const hold = await holdCommit(admin().admin.database, 'ssh-verified');
  t.teardown(() => hold.release());

  session.show('ada', keyShown(key));
  await hold.caught;
  const early = session.verdicts();
  await hold.release();

  t.is(early, 0);
  t.true((await session.verdictOf(1)).accepted);
  t.is((await admin().logins(node.id)).length, 1);
});

test.serial('a deleted username, and a deleted key, end what they opened within a second', async (t) => {
  const {
    node,
    key,
    shown: [, other = key],
    ada,
    publicKey,
    session,
  } = await admin().ada({ keys: 2, password: PASSWORD });
  t.true((await session.attempt('ada', keyShown(key))).accepted);

  const began = performance.now();
  t.is((await admin().request('DELETE', `/ssh_public_keys/${publicKey}`)).status, 204);
  await until('the end of what the key opened', () => session.ended().keys.length === 1);
  t.true(performance.now() - began < scaled(1_000 + BUSY_MS));
  t.deepEqual(session.ended(), { usernames: [], keys: [publicKey] });
  t.false((await session.attempt('ada', keyShown(key))).accepted);
  t.true((await session.attempt('ada', keyShown(other))).accepted, 'the other key still opens');

  t.is((await admin().request('DELETE', `/ssh_usernames/${ada.id}`)).status, 204);
  await until('the end of all that the username opened', () => session.ended().usernames.length === 1);
  t.deepEqual(session.ended().usernames, [ada.id]);
  t.false((await session.attempt('ada', passwordShown(PASSWORD))).accepted);
  t.is((await admin().logins(node.id)).at(-1)?.ssh_username_id, null);
});

test.serial(
  'an agent that comes back with sessions of usernames and keys that are gone is told to end them, and only those',
  async (t) => {
    const { node, key, ada, publicKey } = await admin().ada({ keys: 2, password: PASSWORD });
    const elsewhere = await admin().node();
    const bob = await admin().username(node.id, 'bob', { password: PASSWORD });
    const foreign = await admin().username(elsewhere.id, 'ada', { keys: [key] });
    const grant = (username: string, opened: string | null = null) => ({
      ssh_username_id: username,
      ssh_public_key_id: opened,
    });
    await admin().request('DELETE', `/ssh_public_keys/${publicKey}`);
    await admin().request('DELETE', `/ssh_usernames/${bob.id}`);
    const session = await node.connect();

    session.send({
      type: 'ssh-grants',
      grants: [
        grant(ada.id),
        grant(ada.id, publicKey),
        grant(ada.id, ada.keys[1]),
        grant(bob.id),
        grant(foreign.id, foreign.keys[0]),
      ] as never,
    });
    await session.frame('end-ssh');

    t.deepEqual(
      { usernames: session.ended().usernames.toSorted(), keys: session.ended().keys.toSorted() },
      { usernames: [bob.id, foreign.id].toSorted(), keys: [publicKey, foreign.keys[0] ?? ''].toSorted() },
    );
  },
);

test.serial('a login that races the deletion of what opens it is refused, or is ended behind it', async (t) => {
  const node = await admin().node();
  const session = await node.connect();
  const outcomes = { refused: 0, ended: 0 };

  for (let round = 0; round < 40; round += 1) {
    const key = newKey();
    const ada = await admin().username(node.id, 'ada', { keys: [key] });
    const byKey = round % 2 === 0;
    const attempt = session.show('ada', keyShown(key));
    for (let turn = 0; turn < round; turn += 1) await setImmediate(); // a little later in each round
    const deletion = admin().request(
      'DELETE',
      byKey ? `/ssh_public_keys/${ada.keys[0] ?? ''}` : `/ssh_usernames/${ada.id}`,
    );
    const [verdict, { status }] = await Promise.all([session.verdictOf(attempt), deletion]);
    t.is(status, 204);
    const gone = byKey ? (ada.keys[0] ?? '') : ada.id;
    await until('its end', () => (byKey ? session.ended().keys : session.ended().usernames).includes(gone));
    const event = (await admin().logins(node.id)).at(-1);

    t.is(event?.result, verdict.accepted ? 'success' : 'failure', `round ${round}`);
    const frames = session.frames.map((frame) =>
      frame.type === 'ssh-verdict' && frame.attempt === attempt
        ? 'verdict'
        : frame.type === 'end-ssh' && [...frame.ssh_username_ids, ...frame.ssh_public_key_ids].includes(gone)
          ? 'end'
          : '',
    );
    if (verdict.accepted)
      t.true(frames.indexOf('verdict') < frames.indexOf('end'), `round ${round}: a yes is always followed by its end`);
    outcomes[verdict.accepted ? 'ended' : 'refused'] += 1;
    if (byKey) await admin().request('DELETE', `/ssh_usernames/${ada.id}`);
  }
  t.log(outcomes);
});

for (const [what, table] of [
  ['username', 'ssh_username'],
  ['key', 'ssh_public_key'],
] as const) {
  test.serial(`a ${what} that goes between the look at the rows and the event is no login`, async (t) => {
    const { node, key, ada, session } = await admin().ada();

    // The first look still sees the row; the second one waits for what becomes of it.
    await admin().rows('begin');
    await admin().rows(`delete from ${table} where id = $1`, [table === 'ssh_username' ? ada.id : ada.keys[0]]);
    const attempt = session.show('ada', keyShown(key));
    const waiting = `from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await until('the second look', async () => (await admin().rows(`select ${waiting}`)).length > 0);
    await admin().rows('commit');
    const verdict = await session.verdictOf(attempt);

    t.deepEqual(verdict, NO);
    const [login, ...others] = (await admin().logins(node.id)).map(plain);
    t.like(login, { ssh_username_id: ada.id, username: 'ada', cluster_name: 'one', auth_method: 'public_key' });
    t.deepEqual([login?.node_id, login?.result, others], [node.id, 'failure', []]);
  });
}

test.serial('a deletion waits for a login that is being stored, and ends it', async (t) => {
  const { ada, session } = await admin().ada({ keys: 0, password: PASSWORD });
  const hold = await holdCommit(admin().admin.database, 'ssh-verified');
  t.teardown(() => hold.release());

  const attempt = session.show('ada', passwordShown(PASSWORD));
  await hold.caught;
  const deletion = admin().request('DELETE', `/ssh_usernames/${ada.id}`);
  await hold.release();

  t.true((await session.verdictOf(attempt)).accepted);
  t.is((await deletion).status, 204);
  await until('its end', () => session.ended().usernames.includes(ada.id));
});

test.serial(
  'of too many attempts at one node the rest is refused without a look, and another node does not notice',
  async (t) => {
    const [{ node, session }, other] = [await admin().ada(), await admin().ada()];
    const total = SSH_ATTEMPTS_BURST_MAX + 60;
    const beganMs = performance.now();

    for (let attempt = 0; attempt < total; attempt += 1) {
      session.show('ada', keyShown(newKey(), 'wrong'));
      if (attempt % SSH_ATTEMPTS_VERIFYING_MAX === SSH_ATTEMPTS_VERIFYING_MAX - 1)
        await until('their verdicts', () => session.verdicts() === attempt + 1);
    }
    await until('all verdicts', () => session.verdicts() === total);
    // the others are told as well, without a look
    const lookedAt = (await admin().logins(node.id)).filter((login) => login.ssh_username_id !== null).length;

    const most = SSH_ATTEMPTS_BURST_MAX + (SSH_ATTEMPTS_PER_SECOND * (performance.now() - beganMs)) / 1_000 + 1;
    t.true(lookedAt >= SSH_ATTEMPTS_BURST_MAX && lookedAt <= most, `${lookedAt} of ${total}, ${most} at most`);
    t.true((await other.session.attempt('ada', keyShown(other.key))).accepted);
    const state = await Promise.race([session.closed, Promise.resolve('open')]);
    t.is(state, 'open', 'nobody is cut for the attempts of others');
  },
);
