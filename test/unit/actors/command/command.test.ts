/** The behaviour of a command: stored with its executions, handed to its nodes, counted. */
import test from 'ava';
import type { CommandMessage } from '../../../../actors/command/messages.ts';
import type { CommandState } from '../../../../actors/command/state.ts';
import { EMPTY_SUMMARY } from '../../../../actors/command/state.ts';
import { COMMAND_REST_AFTER_MS, commandBehaviour as behaviour } from '../../../../actors/command/transition.ts';
import type { ExecutionStatus } from '../../../../actors/resources/command.ts';
import type { NodeId } from '../../../../transport/protocol/ids.ts';
import {
  answer,
  REPLY_TO,
  CLUSTER,
  commandRecord,
  execution,
  id,
  MADE_MS,
  NODE,
  NOW_MS,
  openCommand,
} from '../../../support/actors.ts';
import { refusal, tell } from '../../../support/steps.ts';
import { column } from '../../../support/database/columns.ts';

const OTHER = id<NodeId>('b', 2);
const TARGETS = [
  { node: NODE, cluster: CLUSTER, clusterName: 'factory' },
  { node: OTHER, cluster: CLUSTER, clusterName: 'factory' },
];
const COMMAND = commandRecord({ targeting: { type: 'all' }, timeoutMs: 5_000, expiredAtMs: NOW_MS + 60_000 });
const UNBORN: CommandState = { id: COMMAND.id, isCreated: false, summary: EMPTY_SUMMARY, open: new Map() };

const REST_LATER = { type: 'remind', key: 'rest', afterMs: COMMAND_REST_AFTER_MS, message: { type: 'rest' } } as const;

const resource = {
  id: COMMAND.id,
  command_text: 'true',
  targeting: { type: 'all' },
  timeout: 5_000,
  expired_at: '2026-01-15T10:02:00.000Z',
  summary: { ...EMPTY_SUMMARY, total: 2, pending: 2 },
  inserted_at: '2026-01-15T10:00:00.000Z',
  updated_at: '2026-01-15T10:00:00.000Z',
};

function say(state: CommandState, message: CommandMessage) {
  return behaviour.transition(state, message, NOW_MS);
}

function created(targets = TARGETS, command = COMMAND): ReturnType<typeof say> {
  return say(UNBORN, {
    type: 'create',
    replyTo: REPLY_TO,
    command,
    targets,
    executionIds: targets.map((_, index) => execution(index + 1)),
    idempotency: { scope: 's', key: 'k', bodyHash: 'h' },
  });
}

function changed(number: number, status: ExecutionStatus, exitCode: number | null = null) {
  return { execution: execution(number), node: number === 1 ? NODE : OTHER, status, exitCode };
}

test('a command is stored with an execution for each target, with events and explicit nulls, before any node gets it', (t) => {
  const step = created();

  const data = {
    command_execution_id: execution(1),
    command_id: COMMAND.id,
    node_id: NODE,
    cluster_name: 'factory',
    command_text: 'true',
    timeout: 5_000,
    status: 'pending',
    exit_code: null,
    target_all: true,
    expired_at: '2026-01-15T10:02:00.000Z',
    sent_at: null,
    completed_at: null,
    cancelled_at: null,
    inserted_at: '2026-01-15T10:00:00.000Z',
    updated_at: '2026-01-15T10:00:00.000Z',
  };
  const [change] = step.changes;
  t.deepEqual(change?.write, {
    kind: 'command-created',
    command: COMMAND,
    executions: [
      { id: execution(1), node: NODE, clusterName: 'factory' },
      { id: execution(2), node: OTHER, clusterName: 'factory' },
    ],
  });
  t.deepEqual(change?.events[0], {
    type: 'edge.command_execution.created',
    subject: execution(1),
    atMs: COMMAND.insertedAtMs,
    data,
  });
  t.deepEqual(column(change?.events, 'subject'), [execution(1), execution(2)]);
  t.deepEqual(change?.idempotencyRecord, { scope: 's', key: 'k', bodyHash: 'h', answer: resource });
  t.deepEqual(step.effects, [
    answer(resource),
    ...[1, 2].map((number) => ({
      type: 'tell',
      told: {
        to: { kind: 'node', id: number === 1 ? NODE : OTHER },
        message: {
          type: 'run',
          executions: [
            {
              id: execution(number),
              command: openCommand({ targetAll: true, timeoutMs: 5_000, expiredAtMs: NOW_MS + 60_000 }),
              node: number === 1 ? NODE : OTHER,
              clusterName: 'factory',
              status: 'pending',
              sentAtMs: null,
              cancelRequestedAtMs: null,
              insertedAtMs: COMMAND.insertedAtMs,
              updatedAtMs: COMMAND.insertedAtMs,
            },
          ],
        },
      },
      cluster: CLUSTER,
    })),
    REST_LATER,
  ] as never);
});

for (const [targeting, isAll] of [
  [{ type: 'all', labels: 'env=prod' }, true],
  [{ type: 'nodes', node_ids: [NODE] }, false],
  [{ type: 'group', group: 'everything' }, false],
] as const)
  test(`an execution says by the type of its targeting alone whether that is all: ${JSON.stringify(targeting)}`, (t) => {
    const step = created(TARGETS, { ...COMMAND, targeting });

    t.like(step.changes[0]?.events[0], { data: { target_all: isAll } });
  });

test('a targeting that matches nobody makes a command without executions, never "all" (C2)', (t) => {
  const step = created([]);

  t.deepEqual(step.changes[0]?.write, { kind: 'command-created', command: COMMAND, executions: [] });
  t.deepEqual(step.effects, [answer({ ...resource, summary: EMPTY_SUMMARY }), { type: 'stop' }] as never);
});

test('a command is created once', (t) => {
  const again = say(created().state, {
    type: 'create',
    replyTo: REPLY_TO,
    command: COMMAND,
    targets: TARGETS,
    executionIds: [execution(8), execution(9)],
    idempotency: null,
  });

  t.deepEqual(again.changes, []);
  t.like(again.effects[0], { result: { ok: false, refusal: { code: 'conflict' } } });
});

test('executions are counted by state, completed ones by their exit code, each once; the last one ends the actor', (t) => {
  let { state } = created();
  const effects: unknown[] = [];
  for (const change of [
    changed(1, 'sent'),
    changed(1, 'sent'),
    changed(1, 'pending'),
    changed(1, 'completed', 3),
    changed(1, 'completed', 3),
    changed(9, 'completed', 0),
  ]) {
    const step = say(state, { type: 'executions-changed', changes: [change] });
    ({ state } = step);
    effects.push(step.effects);
  }
  t.deepEqual(state.summary, { ...EMPTY_SUMMARY, total: 2, pending: 1, completed: 1, failed: 1 });
  t.deepEqual(effects, [[REST_LATER], [], [], [REST_LATER], [], []]);

  const last = say(state, { type: 'executions-changed', changes: [changed(2, 'completed', 0)] });
  t.deepEqual(last.state.summary, { ...EMPTY_SUMMARY, total: 2, completed: 2, succeeded: 1, failed: 1 });
  t.deepEqual(last.effects, [{ type: 'stop' }]);
});

test('every end is counted as what it is', (t) => {
  for (const status of ['cancelled', 'expired', 'dropped'] as const) {
    const step = say(created().state, {
      type: 'executions-changed',
      changes: [changed(1, status), changed(2, status)],
    });

    t.deepEqual(step.state.summary, { ...EMPTY_SUMMARY, total: 2, [status]: 2 });
  }
});

test('an execution whose row is gone counts no more, as in the rows; the last one ends the actor', (t) => {
  const first = say(created().state, { type: 'executions-removed', executions: [execution(1), execution(9)] });
  const last = say(first.state, { type: 'executions-removed', executions: [execution(2)] });

  t.deepEqual(first.state.summary, { ...EMPTY_SUMMARY, total: 1, pending: 1 });
  t.deepEqual([[...first.state.open.keys()], first.effects], [[execution(2)], [REST_LATER]]);
  t.deepEqual([last.state.summary, last.effects], [EMPTY_SUMMARY, [{ type: 'stop' }]]);
});

test('a command of which nothing is heard for long ends its actor, however many executions are open', (t) => {
  const { state, effects } = created();
  const rest = say(state, { type: 'rest' });

  t.deepEqual(effects.at(-1), REST_LATER);
  t.deepEqual([rest.state, rest.changes, rest.effects], [state, [], [{ type: 'stop' }]]);
});

test('a cancel is stored for all, then told to each node whose execution is open', (t) => {
  const half = say(created().state, { type: 'executions-changed', changes: [changed(1, 'completed', 0)] }).state;

  const step = say(half, { type: 'cancel', replyTo: REPLY_TO });

  t.deepEqual(step.changes, [
    { write: { kind: 'command-cancel-requested', command: COMMAND.id, atMs: NOW_MS }, events: [], notices: [] },
  ]);
  t.deepEqual(step.effects, [
    answer(half.summary),
    tell('node', OTHER, { type: 'cancel', executions: [execution(2)], replyTo: null }),
  ] as never);
});

test('a cancel of a finished command changes nothing', (t) => {
  const over: CommandState = {
    id: COMMAND.id,
    isCreated: true,
    summary: { ...EMPTY_SUMMARY, total: 1, completed: 1, succeeded: 1 },
    open: new Map(),
  };

  const step = say(over, { type: 'cancel', replyTo: REPLY_TO });

  t.deepEqual([step.changes, column(step.effects, 'type')], [[], ['answer', 'stop']]);
});

test('a command is deleted without events; whether all of it is over is for the rows to say', (t) => {
  const step = say(created().state, { type: 'delete', replyTo: REPLY_TO });

  t.deepEqual(step.changes, [
    {
      write: { kind: 'command-deleted', command: COMMAND.id },
      events: [],
      notices: [{ type: 'command-removed', command: COMMAND.id }],
    },
  ]);
  t.deepEqual(step.effects, [answer(), { type: 'stop' }]);
});

test('a command that is not stored refuses what is asked of it', (t) => {
  const step = say(UNBORN, { type: 'cancel', replyTo: REPLY_TO });

  t.deepEqual(step.effects, [refusal('not_found', 'Resource not found'), { type: 'stop' }]);
});

test('after a commit in doubt, the nodes of pending executions look for what they were not told', (t) => {
  const state: CommandState = {
    id: COMMAND.id,
    isCreated: true,
    summary: EMPTY_SUMMARY,
    open: new Map([
      [execution(1), { node: NODE, status: 'pending' }],
      [execution(2), { node: OTHER, status: 'sent' }],
    ]),
  };

  t.deepEqual(behaviour.recoveryEffects(state, MADE_MS), [tell('node', NODE, { type: 'rescan' }), REST_LATER]);
});
