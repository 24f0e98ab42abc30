/** What admins tell each other by way of the database, and who is heard. */
import { once } from 'node:events';
import test from 'ava';
import type { Notification } from 'pg';
import { v7 } from 'uuid';
import { announcePresence, HERE_EVERY_MS, UNHEARD_MS_MIN } from '../../../persistence/admins/peer-presence.ts';
import { hearAdmins, LOOK_AGAIN_MS, type AdminListenerPorts } from '../../../persistence/admins/admin-listener.ts';
import {
  ADMIN_CHANNEL,
  readAdminMessage,
  tellAdmins,
  tokenHashes,
} from '../../../persistence/admins/admin-messages.ts';
import type { OnNotice } from '../../../persistence/connections/listening.ts';
import { wokenRows } from '../../../persistence/sweeps/forgotten.ts';
import { systemClock } from '../../../transport/net/clock.ts';
import { createFakeClock } from '../../support/fake-clock.ts';
import { recordingLog } from '../../support/log.ts';
import { until } from '../../support/until.ts';
import type { NodeId } from '../../../transport/protocol/ids.ts';
import { openedDatabase } from '../../support/database/opened.ts';
import { storeAdmin } from '../../support/database/stored-rows.ts';
import { sweepsOf } from '../../support/database/sweeps.ts';
import { openStoredFleet, openStorageFixture } from './fixture.ts';

test('nodes that are there have a hash of a token, and those that are gone have none', async (t) => {
  const {
    opened,
    fixture: { nodes },
  } = await openStoredFleet(t);
  const there = nodes.map(({ id }) => id as NodeId);

  const hashes = await tokenHashes(opened.pool, [...there, v7() as NodeId]);

  t.deepEqual([...hashes.keys()].toSorted(), there.toSorted());
  for (const hash of hashes.values()) t.regex(hash, /^(?:[0-9a-f]{2})+$/u);
  t.is((await tokenHashes(opened.pool, [])).size, 0);
});

test('what a node has open ends once its admin hears again, if its token was replaced meanwhile (E5)', async (t) => {
  const { opened, fixture } = await openStoredFleet(t);
  const { pool } = opened;
  const [replaced, kept, renewed] = fixture.nodes.map(({ id }) => id as NodeId);
  const adminId = v7();
  const ended: string[] = [];
  let reads = 0;
  const counted = new Proxy(pool, {
    get: (real, name) => (name === 'query' ? query : (Reflect.get(real, name) as unknown)),
  });
  const query = async (...args: Parameters<typeof pool.query>): Promise<unknown> => {
    const asked: unknown = pool.query(...args);
    const answer = await (asked as Promise<unknown>);
    setImmediate(() => (reads += 1)); // what was asked is taken up by then
    return answer;
  };
  let run: OnNotice = () => {};
  const hear = (_channels: readonly string[], told: OnNotice) => {
    run = told;
    return { stop: () => {} };
  };
  hearAdmins({ database: { pool: counted }, listener: { hear }, adminId }, {
    strays: { end: (node) => ended.push(`session ${node}`), nodes: () => [replaced] },
    tunnels: { end: (node) => ended.push(`tunnel ${node}`), nodes: () => [replaced, kept, renewed], refuse() {} },
    heard: () => {},
    clock: createFakeClock(),
    log: recordingLog(),
  } as Partial<AdminListenerPorts> as AdminListenerPorts);
  const say = (message: object) => run(ADMIN_CHANNEL, JSON.stringify(message));
  const replace = async (node: NodeId | undefined) =>
    pool.query(`update node set token_hash = sha256(token_hash) where id = $1`, [node]);
  const read = (count: number) => until('the rows are read', () => reads === count);

  say({ type: 'here', from: adminId });
  await read(1);
  say({ type: 'here', from: adminId }); // nothing new: no statement
  await replace(renewed);
  say({ type: 'node-revoked', from: adminId, node: renewed });
  say({ type: 'here', from: adminId });
  await read(2);
  await replace(replaced);
  run(ADMIN_CHANNEL, null);
  await read(3);
  run(ADMIN_CHANNEL, null);
  await read(4);

  t.deepEqual(ended, [`session ${replaced}`, `tunnel ${replaced}`]);
});

test('what a node has open ends when another admin revokes it, or with the first look after a missed deletion (E5)', async (t) => {
  const { opened, fixture } = await openStoredFleet(t);
  const revoked = fixture.nodes[0]?.id as NodeId;
  const gone = v7() as NodeId;
  const ended: string[] = [];
  const listener = opened.listen(systemClock);
  const hearing = hearAdmins({ database: opened, listener, adminId: v7() }, {
    strays: { end: (node) => ended.push(`session ${node}`), nodes: () => [revoked, gone] },
    tunnels: { end: (node) => ended.push(`tunnel ${node}`), nodes: () => [revoked], refuse() {} },
    clock: systemClock,
    log: recordingLog(),
  } as Partial<AdminListenerPorts> as AdminListenerPorts);
  t.teardown(async () => {
    hearing.stop();
    await listener.stop();
  });
  await until('the first look', () => ended.length > 0);
  const atFirst = ended.splice(0);

  await tellAdmins(opened.pool, { type: 'node-revoked', from: v7(), node: revoked });
  await until('its word', () => ended.length > 0);

  t.deepEqual(atFirst, [`session ${gone}`, `tunnel ${gone}`]);
  t.deepEqual(ended, [`session ${revoked}`, `tunnel ${revoked}`]);
});

test('a failed look for deleted nodes is repeated until it succeeds, a newer look begins or the listener stops (E5)', async (t) => {
  const { pool } = await openedDatabase(t);
  const gone = v7() as NodeId;
  const ended: string[] = [];
  const clock = createFakeClock();
  const log = recordingLog();
  let asked = 0;
  let isAway = true;
  const flaky = new Proxy(pool, {
    get: (real, name) => (name === 'query' ? query : (Reflect.get(real, name) as unknown)),
  });
  const query = (...args: Parameters<typeof pool.query>): unknown => {
    asked += 1;
    return isAway ? Promise.reject(new Error('timeout exceeded when trying to connect')) : pool.query(...args);
  };
  let run: OnNotice = () => {};
  const hear = (_channels: readonly string[], told: OnNotice) => {
    run = told;
    return { stop: () => {} };
  };
  const hearing = hearAdmins({ database: { pool: flaky }, listener: { hear }, adminId: v7() }, {
    strays: { end: () => {}, nodes: () => [] },
    tunnels: { end: (node) => ended.push(node), nodes: () => [gone], refuse() {} },
    clock,
    log,
  } as Partial<AdminListenerPorts> as AdminListenerPorts);
  const failed = (looks: number) => until('it waits to look again', () => asked === looks && clock.waiting() === 1);

  run(ADMIN_CHANNEL, null);
  await failed(1);
  run(ADMIN_CHANNEL, null);
  await failed(2);
  clock.pass(LOOK_AGAIN_MS);
  await failed(3);
  isAway = false;
  clock.pass(LOOK_AGAIN_MS);
  await until('it is ended', () => ended.length > 0);
  isAway = true;
  run(ADMIN_CHANNEL, null);
  await failed(5);
  hearing.stop();

  t.deepEqual([ended, clock.waiting(), asked], [[gone], 0, 5]);
  t.is(log.lines.filter(({ level }) => level === 'warn').length, 3);
});

test('what a sweep expires is told to the other admins with its commit, and an owner that did not listen finds it', async (t) => {
  const opened = await openedDatabase(t);
  await openStorageFixture(opened);
  const [sweeping, owner] = [v7(), await storeAdmin(opened.pool, 'owner')];
  await opened.pool.query(
    `insert into cluster_ownership (cluster_id, admin_id, epoch, lease_until) select id, $1, 1, now() + interval '1 minute' from cluster on conflict (cluster_id) do update set admin_id = $1`,
    [owner],
  );
  await opened.pool.query(`update command_execution set expired_at = null where finished_at is null`);
  await opened.pool.query(
    `update command_execution set expired_at = clock_timestamp() where id = (select e.id from command_execution e join node n on n.id = e.node_id where e.finished_at is null limit 1)`,
  );
  const listener = await opened.pool.connect();
  t.teardown(() => listener.release(true));
  await listener.query(`listen ${ADMIN_CHANNEL}`);
  const heard = once(listener, 'notification') as Promise<[Notification]>;

  const { executions } = await sweepsOf(opened.pool, { adminId: sweeping }).expireDue();
  const [ended, ...others] = executions;

  t.deepEqual(others, []);
  t.deepEqual(readAdminMessage((await heard)[0].payload ?? ''), {
    type: 'executions-ended',
    from: sweeping,
    ended: [[ended?.node, ended?.execution]],
  } as never);
  const missedBy = async (admin: string) => (await wokenRows(opened.pool, admin).findMissed()).expired;
  t.deepEqual(await missedBy(owner), [{ node: ended?.node, execution: ended?.execution }] as never);
  t.deepEqual(await missedBy(sweeping), []);
});

test('what is no message of admins is left aside', (t) => {
  for (const payload of ['', 'null', '{', '{"type":"tunnel-wanted"}', '{"type":"of another version"}'])
    t.is(readAdminMessage(payload), null, payload);
});

test('an admin that checks in but sends nothing is unheard; other versions, new admins and gone ones do not count', async (t) => {
  const { pool } = await openedDatabase(t);
  const [me, peer] = [await storeAdmin(pool, 'me'), await storeAdmin(pool, 'peer')];
  await storeAdmin(pool, 'other', { version: '0.0.9' });
  await storeAdmin(pool, 'fresh', { startedAgo: -600 }); // and stays so, however long this takes
  await storeAdmin(pool, 'gone', { heardAgo: 60 });
  const clock = createFakeClock();
  const presence = announcePresence(pool, me, { clock, monotonicMs: () => clock.nowMs(), log: recordingLog() });
  t.teardown(() => presence.stop());
  t.deepEqual(await presence.unheard(), { total: 2, unheard: 0 });

  clock.pass(UNHEARD_MS_MIN);
  presence.heard(me);
  clock.pass(HERE_EVERY_MS);

  t.deepEqual(await presence.unheard(), { total: 2, unheard: 1 });
  presence.heard(peer);
  t.deepEqual(await presence.unheard(), { total: 2, unheard: 0 });
});

test("what was lost with the database is nobody's silence", async (t) => {
  const { pool } = await openedDatabase(t);
  const me = await storeAdmin(pool, 'me');
  const clock = createFakeClock();
  let isAway = true;
  const flaky = new Proxy(pool, {
    get: (real, name) =>
      name === 'query' && isAway
        ? () => Promise.reject(Object.assign(new Error('away'), { code: 'ECONNREFUSED' }))
        : (Reflect.get(real, name) as unknown),
  });
  const presence = announcePresence(flaky, me, { clock, monotonicMs: () => clock.nowMs(), log: recordingLog() });
  t.teardown(() => presence.stop());
  await until('it is tried again', () => clock.waiting() === 1);

  clock.pass(UNHEARD_MS_MIN * 4);
  isAway = false;
  t.deepEqual(await presence.unheard(), { total: 1, unheard: 0 });
  await until('it was said', async () => {
    clock.pass(HERE_EVERY_MS);
    return (await presence.unheard()).unheard === 1;
  });
});

test('the message that an admin is here comes to all who listen', async (t) => {
  const { pool } = await openedDatabase(t);
  const listener = await pool.connect();
  t.teardown(() => listener.release(true));
  await listener.query(`listen ${ADMIN_CHANNEL}`);
  const heard = once(listener, 'notification') as Promise<[Notification]>;

  const presence = announcePresence(pool, 'me', {
    clock: createFakeClock(),
    monotonicMs: () => 0,
    log: recordingLog(),
  });
  t.teardown(() => presence.stop());

  t.deepEqual(readAdminMessage((await heard)[0].payload ?? ''), { type: 'here', from: 'me' });
});
