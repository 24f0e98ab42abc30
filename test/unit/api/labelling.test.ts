/** Labels of many nodes in the time of one call (L3). */
import { setImmediate as aTurn } from 'node:timers/promises';
import test from 'ava';
import { v7 } from 'uuid';
import { ASK_MS_MAX } from '../../../actors/limits.ts';
import { IN_DOUBT, ok, UNAVAILABLE, type Refusal, type Result } from '../../../actors/refusal.ts';
import type { LabelledNodesResource } from '../../../actors/resources/labelled-nodes.ts';
import type { Target } from '../../../actors/targeting-schema.ts';
import { FORWARD_MS_MAX } from '../../../api/forwarding/deadline.ts';
import { LABELLED_AT_ONCE_MAX } from '../../../api/labelling.ts';
import type { Call } from '../../../api/operation.ts';
import { label_nodes } from '../../../api/operations/labels.ts';
import { createFakeClock } from '../../support/fake-clock.ts';

const refused = (refusal: Refusal): Result<unknown> => ({ ok: false, refusal });

/** Nodes of one cluster, more than are asked at once. */
const TARGETS = Array.from(
  { length: 3 * LABELLED_AT_ONCE_MAX },
  () => ({ node: v7(), cluster: 'cluster-1', clusterName: 'one' }) as unknown as Target,
);

/** What the node in this place answers, and after which time in ms. */
type Answers = (place: number) => readonly [ms: number, answer: Result<unknown>];

/**
 * What comes of labelling all of them, and after which time. `readMs`: that of finding them; `forward`: their owner.
 */
async function label(
  answers: Answers,
  { readMs = 0, forward = (part) => part.handle(null, false) }: { readMs?: number; forward?: Call['forward'] } = {},
): Promise<{ readonly done: LabelledNodesResource | null; readonly ms: number }> {
  const clock = createFakeClock();
  const beganMs = clock.nowMs();
  const waited = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve));
  let asked = 0;
  const ask = async () => {
    const [ms, answer] = answers((asked += 1) - 1);
    await waited(ms);
    return answer;
  };
  const targets = async () => {
    await waited(readMs);
    return TARGETS;
  };
  const call = { ports: { clock, ask, reads: { targets } }, forward } as unknown as Call;
  const input = { targeting: { type: 'all' as const }, set: { env: 'prod' } };
  const ended: { done: LabelledNodesResource | null; ms: number }[] = [];
  const ending = async () => {
    const result = await label_nodes.handle(input, call);
    ended.push({ done: result.ok ? result.value : null, ms: clock.nowMs() - beganMs });
  };
  void ending();
  for (;;) {
    for (let turn = 0; turn < 5; turn += 1) await aTurn();
    const [first] = ended;
    if (first !== undefined) return first;
    clock.pass(100);
  }
}

test('with the database away the nodes that were asked are named, and no others are asked', async (t) => {
  const asked = new Set<number>();

  const { done } = await label((place) => {
    asked.add(place);
    return [0, refused(UNAVAILABLE)];
  });

  t.like(done, { node_count: TARGETS.length, labelled_count: 0, failed_count: TARGETS.length });
  t.like(done?.failed[0], { node_id: TARGETS[0]?.node, code: 'service_unavailable' });
  t.is(asked.size, LABELLED_AT_ONCE_MAX);
});

test('a database that stands still in the middle holds a call up for the time of one, and what was done by then counts', async (t) => {
  const labelledCount = LABELLED_AT_ONCE_MAX + 100;

  const { done, ms } = await label(
    (place) => {
      if (place >= labelledCount) return [ASK_MS_MAX, refused(IN_DOUBT)];
      return [place < LABELLED_AT_ONCE_MAX ? 2_000 : 200, ok(null)];
    },
    { readMs: 1_000 },
  );

  t.is(ms, FORWARD_MS_MAX);
  t.like(done, { labelled_count: labelledCount, failed_count: TARGETS.length - labelledCount });
  t.deepEqual(done?.failed[0], {
    node_id: TARGETS[labelledCount]?.node ?? '',
    code: IN_DOUBT.code,
    message: IN_DOUBT.message,
  });
});

test('an admin that does not answer holds a call up no longer than that, either', async (t) => {
  const { done, ms } = await label(() => [0, ok(null)], { readMs: 1_000, forward: () => new Promise(() => {}) });

  t.is(ms, FORWARD_MS_MAX);
  t.like(done, { labelled_count: 0, failed_count: TARGETS.length });
});
