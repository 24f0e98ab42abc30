/**
 * The checker sees when one name, label or node cannot have behaved as clients were told, and says so shortly.
 *
 * Promises: E1, E2, O3.
 */
import test from 'ava';
import { violations } from './checker.ts';
import { NOTHING, type Call, type Named, type Outcome, type Request } from './history.ts';
import { NO_ROWS, type Rows } from './rows.ts';
import {
  AWAY,
  calls,
  create,
  DEADLINES,
  done,
  LOST,
  NONE,
  ONE,
  OTHER,
  refused,
  rowsWith,
  sawNode,
  shown,
  WEB,
} from './written-history.ts';

const SHOW: Request = { verb: 'show', ...WEB };
const destroy = (id: string | null): Request => ({ verb: 'delete', ...WEB, id });
const KEY: Named = { resource: 'enrollment_key', scope: 'east', name: 'key-1' };
const enrol = (node: string, recovery: string | null = null, machine = `machine of ${node}`): Request => ({
  verb: 'enrol',
  node,
  cluster: 'east',
  keyName: KEY.name,
  machine,
  recovery,
});
const COMMAND: Named = { resource: 'command', scope: '', name: 'mark' };
/** Refused from 3 s on. */
const createSoon = create('mark', { ...COMMAND, node: null, expiresMs: 3_000 });
const createKey = create('k', { ...KEY, node: null, value: '1' });
const key = (value: string | null) => ({ ...KEY, ...shown('key', { node: null, value }) });
const moved = (cluster: string): [Request, Outcome] => [{ verb: 'move', node: ONE, cluster }, done()];
/** A key that lets any number in, and a node that came with it. */
const entrance = [
  [create('k', { ...KEY, node: null }), done(shown('key', { node: null }))],
  [enrol(ONE), done()],
] as const;
const keyed = (secret: string) =>
  [
    { verb: 'set-recovery', node: ONE },
    { type: 'ok', status: 201, secret },
  ] as const;
const BUSY = { type: 'unavailable', status: 503, code: 'service_unavailable', why: '' } as const;
const label = (value: string | null): Request => ({ verb: 'label', node: ONE, label: 'tier', value });
const showNode: Request = { verb: 'show-node', node: ONE };
const east = (labels: Readonly<Record<string, string>> = {}) => ({ cluster: 'east', labels });
const inEast = (...nodes: readonly string[]): Rows => ({
  ...NO_ROWS,
  nodes: new Map(nodes.map((node) => [node, east()])),
  clusters: [{ name: 'east', nodeCount: nodes.length, nodeLimit: null }],
  named: [key(String(1 - nodes.length))],
});

function judged(history: readonly Call[], rows: Rows): string[] {
  return violations({ ...NOTHING, calls: history, faults: AWAY }, rows, DEADLINES);
}

const holds: Readonly<Record<string, readonly [readonly Call[], Rows]>> = {
  'what was created is stored, and another admin shows it': [
    calls([create('a'), done(shown('1'))], [SHOW, done(shown('1')), { admin: 'admin-2' }]),
    rowsWith('1'),
  ],
  'a create in doubt was done': [calls([create('a'), LOST], [SHOW, done(shown('1'))]), rowsWith('1')],
  'a create in doubt was not done': [calls([create('a'), LOST], [SHOW, NONE]), rowsWith(null)],
  'a create in doubt is done later than a read that does not show it': [
    calls([create('a'), LOST], [SHOW, NONE], [SHOW, done(shown('1'))]),
    rowsWith('1'),
  ],
  'a create that is asked for again under its key is answered as the first one, also when it is deleted': [
    calls([create('a'), done(shown('1'))], [destroy('1'), done()], [create('a'), done(shown('1'))], [SHOW, NONE]),
    rowsWith(null),
  ],
  'of two that want one name at once the later one gets it': [
    calls(
      [create('a'), refused(), { fromMs: 0, toMs: 500 }],
      [create('b', { node: OTHER }), done(shown('2', { node: OTHER })), { fromMs: 100, toMs: 600 }],
    ),
    rowsWith(null, { named: [{ ...WEB, ...shown('2', { node: OTHER }) }] }),
  ],
  'a delete in doubt, and a name that is taken again': [
    calls(
      [create('a'), done(shown('1'))],
      [destroy('1'), LOST],
      [create('b'), done(shown('2'))],
      [SHOW, done(shown('2'))],
    ),
    rowsWith('2'),
  ],
  'of two that delete one thing at once both are told that it is gone, where one asked another admin': [
    calls([create('a'), done(shown('1'))], [destroy('1'), done(), { fromMs: 1_000, toMs: 2_000 }]).concat(
      calls([destroy('1'), done(), { fromMs: 1_500, toMs: 1_600 }]).map((call) => ({ ...call, place: 'other' })),
    ),
    rowsWith(null),
  ],
  'a command that has expired before it was asked for is refused, also when an earlier try was lost': [
    calls([createSoon, LOST], [createSoon, refused('validation_failed'), { fromMs: 2_900, toMs: 3_100 }]),
    NO_ROWS,
  ],
  'a name goes with its node': [
    calls([create('a'), done(shown('1'))], [{ verb: 'delete-node', node: ONE }, LOST], [SHOW, NONE]),
    rowsWith(null),
  ],
  'what is refused with 503 did nothing': [calls([create('a'), BUSY], [SHOW, NONE]), rowsWith(null)],
  'a key with one use lets one in, and the same machine again': [
    calls(
      [createKey, done(shown('key', { node: null, value: '1' }))],
      [enrol(ONE), LOST],
      [enrol(ONE), done()],
      [enrol(OTHER), refused('key_spent')],
    ),
    inEast(ONE),
  ],
  'labels are as they were written last': [
    calls(
      ...entrance,
      [label('a'), done()],
      [label('b'), LOST],
      [showNode, sawNode(east({ tier: 'b' }))],
      [label(null), done()],
    ),
    { ...inEast(ONE), named: [key(null)] },
  ],
  'a label that is removed while it is set is not there after it': [
    calls(
      ...entrance,
      [label('a'), done(), { fromMs: 2_000, toMs: 2_500 }],
      [label(null), done(), { fromMs: 2_400, toMs: 3_000 }],
      [showNode, sawNode(east())],
    ),
    { ...inEast(ONE), named: [key(null)] },
  ],
  'a recovery key works once, and not after a move': [
    calls(
      ...entrance,
      keyed('s'),
      [enrol(ONE, 's', 'new'), LOST],
      [enrol(ONE, 's', 'new'), done()],
      [enrol(ONE, 's', 'third'), refused()],
      keyed('t'),
      moved('west'),
      [enrol(ONE, 't', 'fourth'), refused()],
      moved('east'),
      [{ verb: 'clear-recovery', node: ONE }, refused('not_found')],
    ),
    { ...inEast(ONE), named: [key(null)] },
  ],
};

for (const [what, [history, rows]] of Object.entries(holds))
  test(`it may be: ${what}`, (t) => {
    t.deepEqual(judged(history, rows), []);
  });

const breaks: Readonly<Record<string, readonly [readonly Call[], Rows, RegExp]>> = {
  'what was acknowledged is not stored': [
    calls([create('a'), done(shown('1'))]),
    rowsWith(null),
    /^O3: alias web of east: the rows at the end show: none; against client 0 asked admin-1 for create under key a on node node-1 \(0\.000 to 0\.900 s\): 1 node-1$/u,
  ],
  'another admin does not show what was acknowledged': [
    calls([create('a'), done(shown('1'))], [SHOW, NONE, { admin: 'admin-2' }]),
    rowsWith('1'),
    /client 1 asked admin-2 for show .*: none; against client 0/u,
  ],
  'what was refused is stored': [
    calls([create('a'), done(shown('1'))], [destroy('1'), done()], [create('b'), refused()]),
    rowsWith(null),
    /client 2 asked admin-1 for create under key b .*: 409 conflict; against client 1/u,
  ],
  'what was refused with 503 is there all the same': [
    calls([create('a'), BUSY], [SHOW, done(shown('1'))]),
    rowsWith('1'),
    /client 1 asked admin-1 for show/u,
  ],
  'a create in doubt was done twice': [
    calls([create('a', { ...KEY, node: null }), LOST]),
    {
      ...NO_ROWS,
      named: [
        { ...KEY, ...shown('1', { node: null }) },
        { ...KEY, ...shown('2', { node: null }) },
      ],
    },
    /the rows at the end show: 1 and 2; against nothing that was answered/u,
  ],
  'a command that has not expired yet is refused as if it had': [
    calls([createSoon, refused('validation_failed'), { fromMs: 2_000, toMs: 2_900 }]),
    NO_ROWS,
    /^O3: command mark: client 0 .*: 409 validation_failed; against nothing that was answered$/u,
  ],
  'a command that was created is refused when it is asked for again, as it has expired since': [
    calls(
      [createSoon, done(shown('1', { node: null }))],
      [createSoon, refused('validation_failed'), { fromMs: 3_000, toMs: 3_100 }],
    ),
    { ...NO_ROWS, named: [{ ...COMMAND, ...shown('1', { node: null }) }] },
    /^O3: command mark: client 1 /u,
  ],
  'a create that is asked for again under its key is made twice': [
    calls([create('a'), done(shown('1'))], [create('a'), done(shown('2'))]),
    rowsWith('2'),
    /create under key a .*: 2 node-1.*; against client 0/u,
  ],
  'one name is given twice': [
    calls([create('a'), done(shown('1'))], [create('b'), done(shown('2'))]),
    rowsWith('2'),
    /create under key b/u,
  ],
  'what was deleted comes back': [
    calls([create('a'), done(shown('1'))], [destroy('1'), done()], [SHOW, NONE], [SHOW, done(shown('1'))]),
    rowsWith(null),
    /client 3 asked .*: 1 node-1; against client 1 asked admin-1 for delete/u,
  ],
  'a create in doubt is there, gone, and there again': [
    calls([create('a'), LOST], [SHOW, done(shown('1'))], [SHOW, NONE], [SHOW, done(shown('1'))]),
    rowsWith('1'),
    /client 2 asked .*: none; against client 1/u,
  ],
  'one thing is deleted twice, one after the other': [
    calls([create('a'), done(shown('1'))], [destroy('1'), done()], [destroy('1'), done()]).map((call) => ({
      ...call,
      place: 'other',
    })),
    rowsWith(null),
    /^O3: alias web of east: client 2/u,
  ],
  'a name outlives its node': [
    calls([create('a'), done(shown('1'))], [{ verb: 'delete-node', node: ONE }, done()], [SHOW, done(shown('1'))]),
    rowsWith(null),
    /client 2 asked/u,
  ],
  'a key with one use lets two in': [
    calls([createKey, done(shown('key', { node: null, value: '1' }))], [enrol(ONE), done()], [enrol(OTHER), done()]),
    inEast(ONE, OTHER),
    /enrollment key key-1 of east: client 2 asked admin-1 for enrol into east with key-1/u,
  ],
  'a machine that asks again spends a second use': [
    calls(
      [create('k', { ...KEY, node: null, value: '2' }), done(shown('key', { node: null, value: '2' }))],
      [enrol(ONE), LOST],
      [enrol(ONE), done()],
    ),
    { ...inEast(ONE), named: [key('0')] },
    /the rows at the end show: key 0/u,
  ],
  'a label that was written is read as it was before': [
    calls(...entrance, [label('a'), done()], [label('b'), done()], [showNode, sawNode(east({ tier: 'a' }))]),
    { ...inEast(ONE), nodes: new Map([[ONE, east({ tier: 'b' })]]), named: [key(null)] },
    /^O3: label tier of node node-1: client 4 .*; against client 2 .*; and client 3/u,
  ],
  'a recovery key works twice': [
    calls(...entrance, keyed('s'), [enrol(ONE, 's', 'new'), done()], [enrol(ONE, 's', 'third'), done()]),
    { ...inEast(ONE), named: [key(null)] },
    /^O3: node node-1: client 4 .* with a recovery key/u,
  ],
  'a machine whose recovery is in doubt is refused when it asks again': [
    calls(...entrance, keyed('s'), [enrol(ONE, 's', 'new'), LOST], [enrol(ONE, 's', 'new'), refused()]),
    { ...inEast(ONE), named: [key(null)] },
    /^O3: node node-1: client 4 .* with a recovery key .*: 409 conflict.*; in doubt client 3 /u,
  ],
  'a recovery key outlives a move': [
    calls(...entrance, keyed('s'), moved('west'), moved('east'), [enrol(ONE, 's', 'new'), done()]),
    { ...inEast(ONE), named: [key(null)] },
    /^O3: node node-1: client 5/u,
  ],
  'another machine takes a node without a recovery key': [
    calls(...entrance, [enrol(ONE, null, 'another'), done()]),
    { ...inEast(ONE), named: [key(null)] },
    /^O3: node node-1: client 2/u,
  ],
  'a node that moved is where it was': [
    calls(...entrance, moved('west')),
    { ...inEast(ONE), named: [key(null)] },
    /^O3: node node-1: the rows at the end show: \{"cluster":"east".*; against client 2/u,
  ],
  'a node that was deleted is back': [
    calls(...entrance, [{ verb: 'delete-node', node: ONE }, done()], [enrol(ONE), done()]),
    { ...inEast(ONE), named: [key(null)] },
    /^O3: node node-1: client 3/u,
  ],
};

for (const [what, [history, rows, said]] of Object.entries(breaks))
  test(`it cannot be: ${what}`, (t) => {
    const [line = '', ...more] = judged(history, rows).filter((one) => said.test(one));

    t.regex(line, said, JSON.stringify(judged(history, rows)));
    t.deepEqual(more, []);
  });
