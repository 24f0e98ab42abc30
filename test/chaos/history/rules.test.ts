/**
 * The checker sees each breach that is no matter of one name, label or node.
 *
 * Promises: C6, E1, E5, L3, O1, O3, V1.
 */
import test from 'ava';
import type { Row } from '../invariants.ts';
import { violations } from './checker.ts';
import { answersByPlace } from './rules.ts';
import {
  NOTHING,
  type Call,
  type History,
  type Named,
  type Outcome,
  type Request,
  type Observation,
} from './history.ts';
import { NO_ROWS, type Rows } from './rows.ts';
import { calls, create, DEADLINES, done, LOST, NONE, ONE, refused, shown, WEB } from './written-history.ts';

const row: Row = {
  id: 'execution-1',
  command_id: 'command-1',
  command_text: 'echo mark-1 ',
  node_id: ONE,
  status: 'completed',
  exit_code: 0,
  output: '',
  sent: true,
  completed: true,
  cancelled: false,
};
const stored: Partial<Rows> = { executions: [row] };

function seen(status: string, atMs: number, more: Partial<Observation> = {}): Observation {
  const exitCode = status === 'completed' ? 0 : null;
  const { id: execution, command_id: command, node_id: node } = row;
  return {
    execution,
    command,
    node,
    status,
    exitCode,
    admin: 'admin-1',
    invokedMs: atMs,
    answeredMs: atMs + 9,
    ...more,
  };
}

const inEast: Partial<Rows> = { nodes: new Map([[ONE, { cluster: 'east', labels: {} }]]) };
const event = (id: string, subject = 'a') => ({ id, subject, type: 'edge.x' });
const reader = (...events: readonly ReturnType<typeof event>[]) => ({ eventReaders: [{ name: 'reader 1', events }] });
const watched = (isWhole: boolean, ...statuses: readonly string[]) => ({
  commandReaders: [
    {
      command: row.command_id,
      admin: 'admin-2',
      told: statuses.map((status) => ({ execution: row.id, status })),
      isWhole,
    },
  ],
});
const enrol: Request = { verb: 'enrol', node: ONE, cluster: 'east', keyName: 'k', machine: 'm', recovery: null };
const key: Named = { resource: 'enrollment_key', scope: 'east', name: 'k' };
const deletion = calls(
  [create('k', { ...key, node: null }), LOST, { fromMs: 0, toMs: 1 }],
  [enrol, done(), { fromMs: 2, toMs: 3 }],
  [{ verb: 'delete', ...key, id: null }, done(), { fromMs: 4, toMs: 5 }],
  [{ verb: 'delete-node', node: ONE }, done(), { fromMs: 4, toMs: 100 }],
);
const slow = calls([{ verb: 'show', ...WEB }, NONE, { fromMs: 0, toMs: 9_000, admin: 'admin-2' }]);
const fault = (what: string, fromMs: number, toMs: number) => ({
  name: 'freeze',
  what,
  holdsFrames: false,
  holdsRows: false,
  fromMs,
  toMs,
});
const owner = (epoch: number, admin: string, atMs: number, id = '1') => ({ cluster: 'east', id, epoch, admin, atMs });

const holds: Readonly<Record<string, readonly [Partial<History>, Partial<Rows>]>> = {
  'a call that is slow while its admin is frozen': [{ calls: slow, faults: [fault('admin-2', 100, 8_000)] }, {}],
  'an execution that goes on, as several admins show it': [
    {
      observations: [seen('pending', 0), seen('sent', 5), seen('pending', 8, { invokedMs: 2 }), seen('completed', 30)],
    },
    stored,
  ],
  'an execution that went with its command': [
    {
      observations: [seen('completed', 0)],
      calls: calls(
        [
          create('k', { resource: 'command', scope: '', name: 'm', node: null }),
          done(shown(row.command_id, { node: null })),
        ],
        [{ verb: 'delete', resource: 'command', scope: '', name: 'm', id: row.command_id }, done()],
      ),
    },
    {},
  ],
  'a session that ends with its node': [
    {
      sessions: [
        { node: ONE, admin: 'admin-1', liveMs: 0, endedMs: 900 },
        { node: 'another', admin: 'admin-1', liveMs: 0, endedMs: null },
      ],
    },
    {},
  ],
  'a session that outlives its node while its admin is frozen': [
    {
      calls: deletion,
      sessions: [{ node: ONE, admin: 'admin-2', liveMs: 0, endedMs: 5_500 }],
      faults: [fault('admin-2', 50, 5_000)],
    },
    {},
  ],
  'a cluster that changes its owner': [{ owners: [owner(1, 'admin-1', 0), owner(2, 'admin-2', 10)] }, {}],
  'a cluster that has the name of another': [{ owners: [owner(2, 'admin-1', 0), owner(1, 'admin-2', 10, '2')] }, {}],
  'a reader that begins late and sees all from there on': [
    reader(event('2'), event('3', 'b')),
    { events: [event('1'), event('2'), event('3', 'b'), event('4')] },
  ],
  'a command that is watched to its end': [watched(true, 'pending', 'sent', 'completed'), stored],
  'a command whose watch was cut': [watched(false, 'pending', 'sent'), stored],
  'the owner hands an execution to its node, also one that is so new that nobody saw it': [
    {
      owners: [owner(1, 'admin-1', 0), owner(2, 'admin-2', 10_000)],
      handed: [
        { frame: 'deliver', execution: row.id, admin: 'admin-1', atMs: 10_100 },
        { frame: 'deliver', execution: row.id, admin: 'admin-2', atMs: 9_900 },
      ],
    },
    { ...stored, ...inEast },
  ],
  'a former owner whose frames were held up on their way to a node': [
    {
      owners: [owner(1, 'admin-1', 0), owner(2, 'admin-2', 1_000)],
      handed: [{ frame: 'deliver', execution: row.id, admin: 'admin-1', atMs: 2_600 }],
      faults: [{ ...fault('admin-1', 500, 3_000), holdsFrames: true }],
    },
    { ...stored, ...inEast },
  ],
  'all nodes as they are, in whatever order their labels are': [
    { nodeReaders: [{ admin: 'admin-2', nodes: new Map([[ONE, { cluster: 'east', labels: { b: '2', a: '1' } }]]) }] },
    { nodes: new Map([[ONE, { cluster: 'east', labels: { a: '1', b: '2' } }]]) },
  ],
  'counts that fit': [
    {},
    {
      nodes: new Map([[ONE, { cluster: 'east', labels: {} }]]),
      clusters: [
        { name: 'east', nodeCount: 1, nodeLimit: 1 },
        { name: 'west', nodeCount: 0, nodeLimit: null },
      ],
    },
  ],
};

for (const [what, [history, rows]] of Object.entries(holds))
  test(`it holds: ${what}`, (t) => {
    t.deepEqual(violations({ ...NOTHING, ...history }, { ...NO_ROWS, ...rows }, DEADLINES), []);
  });

const breaks: Readonly<Record<string, readonly [Partial<History>, Partial<Rows>, RegExp]>> = {
  'a call is slow for no reason': [
    { calls: slow, faults: [fault('admin-1', 100, 8_000)] },
    {},
    /^L3: it took 9000 ms: client 0 asked admin-2/u,
  ],
  'an answer is a fault of the service': [
    {
      calls: calls([
        { verb: 'show', ...WEB },
        { type: 'unavailable', status: 500, code: 'internal_error', why: '' },
      ]),
    },
    {},
    /^L3: client 0 .*: 500 internal_error$/u,
  ],
  'an execution goes back': [
    { observations: [seen('sent', 0), seen('pending', 30, { admin: 'admin-2' })] },
    stored,
    /^C6: execution execution-1 was sent at admin-1 \(9 ms\), and then pending at admin-2 \(30 ms\)$/u,
  ],
  'an end changes': [
    { observations: [seen('cancelled', 0)] },
    stored,
    /^C6: execution execution-1 was cancelled at admin-1 .*, and then completed at the database/u,
  ],
  'a result changes': [
    { observations: [seen('completed', 0, { exitCode: 137 })] },
    stored,
    /^C6: execution execution-1 ended with 137 at admin-1, and with 0 at the database$/u,
  ],
  'an execution that was seen is gone': [
    { observations: [seen('sent', 0)] },
    {},
    /^C1: execution execution-1 was seen/u,
  ],
  'a session outlives its node': [
    { calls: deletion, sessions: [{ node: ONE, admin: 'admin-1', liveMs: 0, endedMs: 3_100 }] },
    {},
    /^E5: node node-1 was deleted, and kept its session at admin-1 for 3000 ms$/u,
  ],
  'a deleted node connects again': [
    { calls: deletion, sessions: [{ node: ONE, admin: 'admin-1', liveMs: 9_000, endedMs: null }] },
    {},
    /^E5: node node-1 was deleted, and has a session at admin-1 still$/u,
  ],
  'two own a cluster in one epoch': [
    { owners: [owner(1, 'admin-1', 0), owner(1, 'admin-2', 10)] },
    {},
    /^O1: cluster east was admin-1's and admin-2's in epoch 1$/u,
  ],
  'an epoch falls': [{ owners: [owner(2, 'admin-1', 0), owner(1, 'admin-1', 10)] }, {}, /^O1: .* back to 1$/u],
  'a reader misses an event': [
    reader(event('1'), event('3')),
    { events: [event('1'), event('2'), event('3')] },
    /^V1: reader 1 was never told of edge\.x 2 of a$/u,
  ],
  'a reader is told twice': [reader(event('1'), event('1')), { events: [event('1')] }, /^V1: reader 1 .* twice$/u],
  'a reader is told of one subject out of order': [
    reader(event('2'), event('1')),
    { events: [event('1'), event('2')] },
    /^V1: reader 1 was told of edge\.x of a too late/u,
  ],
  'a watched command goes back': [watched(false, 'sent', 'pending'), stored, /^C6: .* was sent, and then pending$/u],
  'a watch that is whole ends before its command': [
    watched(true, 'sent'),
    stored,
    /^V1: .* was sent at last, and is completed$/u,
  ],
  'a former owner hands an execution to a node': [
    {
      owners: [owner(1, 'admin-1', 0), owner(2, 'admin-2', 1_000)],
      handed: [{ frame: 'deliver', execution: row.id, admin: 'admin-1', atMs: 2_600 }],
    },
    { ...stored, ...inEast },
    /^O1: admin-1 handed execution execution-1 to node node-1, of which admin-2 was the owner for 1600 ms$/u,
  ],
  'a feed keeps a node that is deleted': [
    { nodeReaders: [{ admin: 'admin-2', nodes: new Map([[ONE, { cluster: 'east', labels: {} }]]) }] },
    {},
    /^V1: node node-1 in the feed of admin-2 is east, and is none$/u,
  ],
  'a feed was not told of a label': [
    { nodeReaders: [{ admin: 'admin-2', nodes: new Map([[ONE, { cluster: 'east', labels: {} }]]) }] },
    { nodes: new Map([[ONE, { cluster: 'east', labels: { a: '1' } }]]) },
    /^V1: node node-1 in the feed of admin-2 is east, and is east a=1$/u,
  ],
  'a cluster counts a node that it has not': [
    {},
    { clusters: [{ name: 'east', nodeCount: 1, nodeLimit: null }] },
    /^E1: cluster east has 0 nodes, and says 1$/u,
  ],
  'a cluster has more nodes than its limit': [
    {},
    {
      nodes: new Map(['1', '2'].map((node) => [node, { cluster: 'east', labels: {} }])),
      clusters: [{ name: 'east', nodeCount: 2, nodeLimit: 1 }],
    },
    /^E1: cluster east has 2 nodes, of at most 1$/u,
  ],
  'what was only refused is stored': [
    { calls: calls([create('a'), refused()]) },
    { named: [{ ...WEB, ...shown('1') }] },
    /^O3: alias east web is stored, and every create of it was refused$/u,
  ],
};

for (const [what, [history, rows, said]] of Object.entries(breaks))
  test(`it is seen: ${what}`, (t) => {
    const lines = violations({ ...NOTHING, ...history }, { ...NO_ROWS, ...rows }, DEADLINES);

    t.is(lines.filter((line) => said.test(line)).length, 1, JSON.stringify(lines));
  });

test('answers are counted by operation, and by where they were given', (t) => {
  const [first] = calls([create('a'), done(shown('1'))]) as [Call];
  const away: Outcome = { type: 'unavailable', status: 503, code: 'service_unavailable', why: '' };

  t.deepEqual(
    answersByPlace([first, { ...first, place: 'other', outcome: away }, { ...first, place: 'other', outcome: away }]),
    new Map([
      [
        'create',
        new Map([
          ['any ok', 1],
          ['other 503', 2],
        ]),
      ],
    ]),
  );
});
