/** What operators do to the labels of a node. */
import test from 'ava';
import { nodeBehaviour } from '../../../../actors/node/transition.ts';
import type { NodeMessage } from '../../../../actors/node/messages.ts';
import { LABELS_MAX, type Labels } from '../../../../transport/protocol/labels.ts';
import { liveNode, NODE, nodeRecord, NOW_MS, REPLY_TO, SETTINGS } from '../../../support/actors.ts';

const behaviour = nodeBehaviour(SETTINGS);

function say(message: NodeMessage, labels: Labels) {
  return behaviour.transition(liveNode([], { record: nodeRecord({ status: 'healthy', labels }) }), message, NOW_MS);
}

function set(labels: Labels, removed: readonly string[] = []): NodeMessage {
  return { type: 'set-labels', replyTo: REPLY_TO, labels, removed };
}

test('labels that are set are merged with those that are there, stored as a whole, and shown', (t) => {
  const step = say(set({ env: 'prod', zone: 'a' }, ['gpu']), { env: 'dev', line: '7', gpu: '' });

  const labels = { env: 'prod', line: '7', zone: 'a' };
  t.deepEqual(step.changes, [
    {
      write: { kind: 'node-labelled', node: NODE, labels, atMs: NOW_MS },
      events: [],
      notices: [{ type: 'node-changed', node: NODE }],
    },
  ]);
  t.like(step.effects[0], { type: 'answer', result: { ok: true, value: { id: NODE, labels } } } as never);
  t.deepEqual(step.state.record.labels, labels);
});

test('the same labels again change nothing', (t) => {
  const step = say(set({ env: 'prod' }, ['absent']), { env: 'prod', zone: 'a' });

  t.deepEqual(step.changes, []);
  t.like(step.effects[0], { type: 'answer', result: { ok: true } } as never);
});

test('a label is removed by its key; one that is not there is not found', (t) => {
  const removal: NodeMessage = { type: 'remove-label', replyTo: REPLY_TO, key: 'example.com/rack' };

  const there = say(removal, { env: 'prod', 'example.com/rack': '7' });
  const absent = say(removal, { env: 'prod', constructor: 'x' });

  t.like(there.changes[0]?.write, { kind: 'node-labelled', labels: { env: 'prod' } } as never);
  t.deepEqual(there.effects, [{ type: 'answer', to: REPLY_TO, result: { ok: true, value: null } }]);
  t.deepEqual(absent.changes, []);
  t.like(absent.effects[0], { result: { ok: false, refusal: { code: 'not_found' } } } as never);
});

test('a node has at most 64 labels: more are refused, and none of them is stored', (t) => {
  const full = Object.fromEntries(Array.from({ length: LABELS_MAX }, (_, index) => [`k${index}`, '']));

  const over = say(set({ one: 'more' }), full);
  const exchanged = say(set({ one: 'more' }, ['k0']), full);

  t.deepEqual(over.changes, []);
  t.like(over.effects[0], {
    result: {
      ok: false,
      refusal: {
        code: 'validation_failed',
        details: { labels: ['the node would have 65 labels; it may have at most 64'] },
      },
    },
  } as never);
  t.is(exchanged.changes.length, 1);
});
