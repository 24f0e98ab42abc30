/**
 * The checker sees who is turned away for no reason, what a cancel did not stop, and who was given nothing.
 *
 * Promises: C9, O3.
 */
import test from 'ava';
import type { Row } from '../invariants.ts';
import { NOTHING, type Call, type Fault, type Handed, type History, type Request, type Run } from './history.ts';
import { NO_ROWS, type Rows } from './rows.ts';
import { cancels, served, shares } from './service.ts';
import { calls, DEADLINES, done, ONE, type When } from './written-history.ts';

const BUSY = { type: 'unavailable', status: 503, code: 'service_unavailable', why: 'Another admin owns it.' } as const;
const fault = (what: string, more: Partial<Fault> = {}): Fault => ({
  name: 'freeze',
  what,
  holdsFrames: false,
  holdsRows: false,
  fromMs: 100,
  toMs: 800,
  ...more,
});
const asked = (when: When, request: Request = { verb: 'label', node: ONE, label: 'a', value: 'b' }): readonly Call[] =>
  calls([request, BUSY, { place: 'other', admin: 'admin-2', owner: 'admin-1', ...when }]);

const COMMAND = { resource: 'command', scope: '', name: 'mark-1' } as const;
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
const stored: Partial<Rows> = { executions: [row], nodes: new Map([[ONE, { cluster: 'east', labels: {} }]]) };
const ran = (startedMs: number, endedMs: number | null, end: Run['end'] = 'completed'): Run => ({
  execution: row.id,
  startedMs,
  endedMs,
  end,
});
const handed = (atMs: number): Handed => ({ frame: 'deliver', execution: row.id, admin: 'admin-1', atMs });
/** Cancelled at 1,000 ms, at a node that has its session and an owner all the time. */
const cancelled = (more: Partial<History>): Partial<History> => ({
  calls: calls([{ verb: 'cancel', ...COMMAND, id: row.command_id }, done(), { fromMs: 900, toMs: 1_000 }]),
  sessions: [{ node: ONE, admin: 'admin-1', liveMs: 0, endedMs: null }],
  owners: [{ cluster: 'east', id: '1', admin: 'admin-1', epoch: 1, atMs: 0 }],
  ...more,
});
const moves = calls([{ verb: 'move', node: ONE, cluster: 'west' }, done(), { fromMs: 0, toMs: 1 }]);
const visit = { admin: 'admin-4', fromMs: 0, toMs: 9_000, isGiven: false, isDue: true };

function judged(history: Partial<History>): readonly string[] {
  const rules = [served, cancels, shares];
  return rules.flatMap((rule) => rule({ ...NOTHING, ...history }, { ...NO_ROWS, ...stored }, DEADLINES));
}

const holds: Readonly<Record<string, Partial<History>>> = {
  'who is asked for what nobody owns says so': { calls: asked({ place: 'ownerless', owner: null }) },
  'who is asked is frozen': { calls: asked({}), faults: [fault('admin-2')] },
  'the owner is frozen': { calls: asked({}), faults: [fault('admin-1')] },
  'the database stands still': { calls: asked({}), faults: [fault('the database')] },
  'rows are locked': { calls: asked({}), faults: [fault('admin-3', { holdsRows: true })] },
  'of a node that moves about anybody may be the owner': {
    calls: [...moves, ...asked({})],
    faults: [fault('admin-3')],
  },
  'an admin that cannot be reached says nothing': {
    calls: calls([
      { verb: 'show-node', node: ONE },
      { type: 'unavailable', status: 0, code: 'unreached', why: '' },
    ]),
  },
  'what runs is stopped': cancelled({ runs: [ran(500, 1_200, 'stopped')] }),
  'what runs ends by itself before a cancel can reach it': cancelled({ runs: [ran(500, 2_900)] }),
  'a cancel waits for a session that comes too late': cancelled({
    runs: [ran(500, 9_000)],
    sessions: [
      { node: ONE, admin: 'admin-1', liveMs: 0, endedMs: 1_500 },
      { node: ONE, admin: 'admin-1', liveMs: 7_500, endedMs: null },
    ],
  }),
  'a cancel waits for an admin that is frozen': cancelled({
    runs: [ran(500, 9_000)],
    faults: [fault('admin-1', { fromMs: 2_000, toMs: 7_500 })],
  }),
  'a cancel waits for the owner after the next': cancelled({
    runs: [ran(500, 9_000)],
    owners: [0, 2_500, 4_000, 5_500, 7_400].map((atMs, place) => ({
      cluster: 'east',
      id: '1',
      admin: `admin-${1 + (place % 2)}`,
      epoch: place,
      atMs,
    })),
  }),
  'what is handed out while its cancel is answered': cancelled({
    runs: [ran(1_300, 1_400)],
    handed: [handed(1_200)],
  }),
  'what is handed out by one that was frozen': cancelled({
    runs: [ran(5_000, 5_100)],
    handed: [handed(4_990)],
    faults: [fault('admin-1', { fromMs: 500, toMs: 4_900 })],
  }),
  'an admin that came was given something, or was busy otherwise': {
    visits: [
      { ...visit, isGiven: true },
      { ...visit, isDue: false },
    ],
  },
};

for (const [what, history] of Object.entries(holds))
  test(`it holds: ${what}`, (t) => {
    t.deepEqual(judged(history), []);
  });

const breaks: Readonly<Record<string, readonly [Partial<History>, RegExp]>> = {
  'an admin turns away what another one owns that is well': [
    { calls: asked({}), faults: [fault('admin-3')] },
    /^O3: turned away, of admin-1, which lives: client 0 asked admin-2 for label .*\(Another admin owns it\.\)$/u,
  ],
  'an admin turns away what another one owns since their link is cut': [
    { calls: asked({}), faults: [fault('admin-1 and admin-2')] },
    /^O3: turned away, of admin-1/u,
  ],
  'the owner itself turns away': [
    { calls: asked({ place: 'owner', admin: 'admin-1' }), faults: [fault('admin-1', { fromMs: 5_000, toMs: 6_000 })] },
    /^O3: turned away, of admin-1/u,
  ],
  'what has no owner is turned away': [
    { calls: asked({ place: 'any', owner: null }), faults: [fault('admin-1')] },
    /^O3: turned away, of no owner/u,
  ],
  'what runs goes on after its cancel': [
    cancelled({ runs: [ran(500, 3_100)] }),
    /^C9: nobody stopped execution execution-1 of .* answered at 1000 ms: it ran from 500 to 3100 ms$/u,
  ],
  'what runs goes on after its admin is well again': [
    cancelled({ runs: [ran(500, 9_000)], faults: [fault('admin-1', { fromMs: 2_000, toMs: 6_900 })] }),
    /^C9: nobody stopped execution execution-1/u,
  ],
  'what runs goes on though its node came back': [
    cancelled({
      runs: [ran(500, 9_000)],
      sessions: [
        { node: ONE, admin: 'admin-1', liveMs: 0, endedMs: 1_500 },
        { node: ONE, admin: 'admin-1', liveMs: 6_900, endedMs: null },
      ],
    }),
    /^C9: nobody stopped execution execution-1/u,
  ],
  'what was cancelled is handed out': [
    cancelled({ runs: [ran(5_000, 5_100)], handed: [handed(4_990)] }),
    /^C9: admin-1 handed out execution execution-1 of .*, and it started at 5000 ms$/u,
  ],
  'an admin that came was given nothing': [
    { visits: [visit] },
    /^Balance: admin-4 came at 0 ms, and was given nothing until 9000 ms, while all were well$/u,
  ],
};

for (const [what, [history, said]] of Object.entries(breaks))
  test(`it is seen: ${what}`, (t) => {
    const lines = judged(history);

    t.is(lines.length, 1, JSON.stringify(lines));
    t.regex(lines[0] ?? '', said);
  });
