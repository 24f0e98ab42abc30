/** Whether admins reach each other, before it is needed. */
import test from 'ava';
import type { PeerCall, PeerOutcome } from '../../../../api/forwarding/ports.ts';
import { PROBE_EVERY_MS, PROBE_MS_MAX } from '../../../../transport/admins/limits.ts';
import { Peers, type CheckedIn } from '../../../../transport/admins/peers.ts';
import { Probes } from '../../../../transport/admins/probes.ts';
import { LINK_VERSION } from '../../../../transport/admins/protocol/version.ts';
import { linkedAdmins } from '../../../support/linked-admins.ts';
import { until } from '../../../support/until.ts';
import { recordingLog } from '../../../support/log.ts';

const ROW: CheckedIn = {
  id: 'b-id',
  name: 'b',
  instanceId: 'b-process',
  peerUrl: 'http://b.test',
  linkVersion: LINK_VERSION,
};
const LOST: PeerOutcome = { type: 'lost', sure: true, why: 'does not take connections (ECONNREFUSED)' };

function fixture() {
  const time = { nowMs: 0 };
  const log = recordingLog();
  const peers = new Peers('a-id', { log, nowMs: () => time.nowMs });
  const asked: PeerCall[] = [];
  const answers = { outcome: LOST };
  const probes = new Probes({
    peers,
    newId: () => 'id',
    monotonicMs: () => time.nowMs,
    calls: {
      call: async (admin, call) => {
        asked.push(call);
        const peer = peers.callable(admin);
        if (answers.outcome.type === 'answered' && peer !== null) peers.reached(peer);
        return Promise.resolve(answers.outcome);
      },
    },
  });
  const said = (): readonly unknown[] => log.lines.map(({ level, fields, message }) => [level, message, fields]);
  const round = async (): Promise<void> => {
    time.nowMs += 1_000;
    peers.saw([ROW]);
    await probes.round();
  };
  return { time, peers, asked, answers, round, said, probes };
}

const PONG: PeerOutcome = { type: 'answered', result: { ok: true, value: null } };

test('an admin that does not answer twice is told of once, and again when it is reached', async (t) => {
  const { answers, round, said, peers } = fixture();

  await round();
  const afterOne = said().length;
  for (let count = 0; count < 4; count += 1) await round();
  const state = peers.states();
  answers.outcome = PONG;
  await round();
  await round();

  t.is(afterOne, 0);
  t.like(state, [
    { id: 'b-id', name: 'b', state: { type: 'unreached', why: 'does not take connections (ECONNREFUSED)' } },
  ]);
  t.deepEqual(said(), [
    ['warn', 'an admin cannot be reached', { admin: 'b', reason: 'does not take connections (ECONNREFUSED)' }],
    ['info', 'an admin is reached now', { admin: 'b' }],
  ]);
});

test('one that is reached is asked every few seconds, one that is not in each round', async (t) => {
  const { answers, round, asked } = fixture();
  for (let count = 0; count < 3; count += 1) await round();
  const unreached = asked.length;
  answers.outcome = PONG;
  for (let count = 0; count <= PROBE_EVERY_MS / 1_000; count += 1) await round();

  t.is(unreached, 3);
  t.is(asked.length - unreached, 2);
  t.is(asked[0]?.remaining_ms, PROBE_MS_MAX);
});

test('an address that leads to another admin now and then, as one of a balancer does, is told of once', async (t) => {
  const { peers, round, said, answers } = fixture();
  const turn = async (isMisled: boolean): Promise<void> => {
    answers.outcome = isMisled ? LOST : PONG;
    await round();
    const peer = peers.callable('b-id');
    if (isMisled && peer !== null) peers.misled(peer);
  };

  for (let count = 0; count < 20; count += 1) await turn(count % 2 === 0);
  const state = peers.states()[0]?.state;
  for (let count = 0; count < 61; count += 1) await turn(false);

  t.like(state, { type: 'unreached', why: 'has an address that leads to another admin (ADMIN_PEER_URL)' });
  t.deepEqual(said(), [
    [
      'warn',
      'the address of an admin leads to another one: ADMIN_PEER_URL there must be a URL of that admin alone',
      { admin: 'b', url: 'http://b.test', setting: 'ADMIN_PEER_URL' },
    ],
    ['info', 'an admin is reached now', { admin: 'b' }],
  ]);
});

test('one failure between two answers is no news', async (t) => {
  const { answers, round, said } = fixture();
  answers.outcome = PONG;
  await round();
  answers.outcome = LOST;
  for (let count = 0; count < PROBE_EVERY_MS / 1_000; count += 1) await round();
  answers.outcome = PONG;
  await round();

  t.deepEqual(said(), [['info', 'an admin is reached now', { admin: 'b' }]]);
});

test('another process of the same name is another one: what was known of the first is forgotten', async (t) => {
  const { answers, round, peers } = fixture();
  answers.outcome = PONG;
  await round();

  peers.saw([{ ...ROW, instanceId: 'another' }]);

  t.deepEqual(peers.states(), [{ id: 'b-id', name: 'b', state: { type: 'unknown' }, latencyMs: null }]);
  t.deepEqual([peers.has('b-id', 'b-process'), peers.has('b-id', 'another')], [false, true]);
});

test('an admin is no peer of itself, and one of before calls is asked nothing', async (t) => {
  const { peers, asked, probes } = fixture();

  peers.saw([
    { ...ROW, id: 'a-id', name: 'a' },
    { ...ROW, instanceId: null, peerUrl: null, linkVersion: null },
  ]);
  await probes.round();

  t.deepEqual(peers.states(), [{ id: 'b-id', name: 'b', state: { type: 'other_version' }, latencyMs: null }]);
  t.deepEqual(asked, []);
});

test('two admins that learn of each other say that they reach each other', async (t) => {
  const { a, b } = await linkedAdmins(t);

  const said = ({ log }: typeof a) => log.lines.find(({ message }) => message === 'an admin is reached now');
  await until('both say so', () => {
    for (const one of [a, b]) one.saw(a.row, b.row); // which asks once more where a busy machine had no time for the first
    return [a, b].every(said);
  });

  t.deepEqual([said(a)?.fields, said(b)?.fields], [{ admin: 'b' }, { admin: 'a' }]);
});
