/** What operators do to the labels of a node. */
import { isSameLabels, LABELS_MAX, type Labels } from '../../transport/protocol/labels.ts';
import { ok } from '../refusal.ts';
import { answer, refuse, step, unchanged, type Step } from '../step.ts';
import type { MessageOf } from './messages.ts';
import { nodeResource } from './resource.ts';
import type { NodeState } from './state.ts';

/** Sets some labels and removes others; what is named in neither stays. Answers the node. */
export function setLabels(
  state: NodeState,
  { labels, removed, replyTo }: MessageOf<'set-labels'>,
  domain: string,
  nowMs: number,
): Step<NodeState> {
  const kept = Object.entries(state.record.labels).filter(([key]) => !removed.includes(key));
  const next: Labels = Object.fromEntries([...kept, ...Object.entries(labels)]);
  const count = Object.keys(next).length;
  if (count > LABELS_MAX)
    return step(
      state,
      [],
      [
        refuse(replyTo, {
          code: 'validation_failed',
          message: 'Validation failed',
          details: { labels: [`the node would have ${count} labels; it may have at most ${LABELS_MAX}`] },
        }),
      ],
    );
  const labelled = withLabels(state, next, nowMs);
  return step(labelled.state, labelled.changes, [
    answer(replyTo, ok(nodeResource(labelled.state.record, state.aliases, domain))),
  ]);
}

/** Removes one label. */
export function removeLabel(
  state: NodeState,
  { key, replyTo }: MessageOf<'remove-label'>,
  nowMs: number,
): Step<NodeState> {
  if (!Object.hasOwn(state.record.labels, key))
    return step(state, [], [refuse(replyTo, { code: 'not_found', message: 'Resource not found' })]);
  const left = Object.fromEntries(Object.entries(state.record.labels).filter(([one]) => one !== key));
  const labelled = withLabels(state, left, nowMs);
  return step(labelled.state, labelled.changes, [answer(replyTo, ok(null))]);
}

/** The same labels again are no change. */
function withLabels(state: NodeState, labels: Labels, nowMs: number): Step<NodeState> {
  if (isSameLabels(state.record.labels, labels)) return unchanged(state);
  const record = { ...state.record, labels, updatedAtMs: nowMs };
  return step({ ...state, record }, [
    {
      write: { kind: 'node-labelled', node: record.id, labels, atMs: nowMs },
      events: [],
      notices: [{ type: 'node-changed', node: record.id }],
    },
  ]);
}
