/** What a self-update request does next, by its counts; and whole requests, played through by a model of the rows. */
import test from 'ava';
import { array, assert, boolean, infiniteStream, integer, nat, option, property } from 'fast-check';
import { SELF_UPDATE_STEP_NODES_MAX } from '../../../../actors/self-update/limits.ts';
import { nextMove } from '../../../../actors/self-update/next-move.ts';
import { counted, selfUpdateRecord } from '../../../support/self-updates.ts';

const all = selfUpdateRecord();
const batched = selfUpdateRecord({ batchSize: 10, maxFailures: 3 });

test('all nodes have their turn at once where nothing else is asked, so many in a transaction', (t) => {
  t.deepEqual(nextMove(all, counted({ waiting: 40 })), { type: 'due', nodes: 40 });
  t.deepEqual(nextMove(all, counted({ waiting: 5_000 })), { type: 'due', nodes: SELF_UPDATE_STEP_NODES_MAX });
});

test('a batch is filled up to its size, and no more', (t) => {
  t.deepEqual(nextMove(batched, counted({ waiting: 40, inFlight: 4 })), { type: 'due', nodes: 6 });
  t.is(nextMove(batched, counted({ waiting: 40, inFlight: 10, due: 10 })), null);
  t.deepEqual(nextMove(batched, counted({ waiting: 2, inFlight: 4 })), { type: 'due', nodes: 2 });
});

test('what time makes of the rows comes first, and the first trigger is told before another node has its turn', (t) => {
  const processing = { status: 'processing' } as const;

  t.deepEqual(nextMove(batched, counted({ waiting: 4, ripe: 1, failures: 3 })), { type: 'judge' });
  t.deepEqual(nextMove(batched, counted({ waiting: 4, triggered: 1 })), { type: 'begin' });
  t.deepEqual(nextMove(batched, counted({ waiting: 4, triggered: 1 }, processing)), { type: 'due', nodes: 4 });
});

test('no more nodes have their turn once so many failed, and those under way are waited for', (t) => {
  t.deepEqual(nextMove(batched, counted({ waiting: 4, failures: 3, inFlight: 2 })), { type: 'halt' });
  t.is(nextMove(batched, counted({ failures: 3, inFlight: 2 })), null);
  t.deepEqual(nextMove(batched, counted({ failures: 3 })), { type: 'complete' });
});

test('without batches it is completed when every node was triggered, whatever comes of it', (t) => {
  t.is(nextMove(all, counted({ due: 1, inFlight: 3 })), null);
  t.deepEqual(nextMove(all, counted({ inFlight: 2 })), { type: 'complete' });
  t.is(nextMove(all, counted({}, { status: 'completed' })), null);
});

/** A node of the model, and how it will go. */
interface ModelNode {
  state: 'waiting' | 'due' | 'updated' | 'failed' | 'skipped';
  readonly works: boolean;
}

test('whatever becomes of its nodes a request ends, keeps to its batches, and stops soon after too many failures', (t) => {
  assert(
    property(
      array(boolean(), { minLength: 1, maxLength: 60 }),
      option(integer({ min: 1, max: 8 }), { nil: null }),
      option(integer({ min: 1, max: 5 }), { nil: null }),
      infiniteStream(nat()),
      (fates, batchSize, maxFailures, choices) => {
        const record = selfUpdateRecord({ batchSize, maxFailures });
        const nodes = fates.map((works): ModelNode => ({ state: 'waiting', works }));
        const of = (...states: readonly ModelNode['state'][]): readonly ModelNode[] =>
          nodes.filter(({ state }) => states.includes(state));
        let steps = 0;
        for (;;) {
          steps += 1;
          if (steps > 1_000) return false;
          const counts = { waiting: of('waiting').length, due: of('due').length, inFlight: of('due').length };
          const triggered = of('updated').length;
          const move = nextMove(
            record,
            counted({ ...counts, failures: of('failed').length, triggered }, { status: 'processing' }),
          );
          if (move?.type === 'complete') break;
          if (move?.type === 'halt') for (const node of of('waiting')) node.state = 'skipped';
          if (move?.type === 'due') for (const node of of('waiting').slice(0, move.nodes)) node.state = 'due';
          if (batchSize !== null && of('due').length > batchSize) return false;
          if (move !== null) continue;
          const under = of('due');
          const next = under[(choices.next().value ?? 0) % under.length];
          if (next === undefined) return false; // it waits for nobody
          next.state = next.works ? 'updated' : 'failed';
        }
        const failures = of('failed').length;
        const reach = batchSize ?? nodes.length;
        return (
          of('waiting', 'due').length === 0 &&
          (maxFailures === null || failures < maxFailures + reach) &&
          (of('skipped').length === 0 || (maxFailures !== null && failures >= maxFailures))
        );
      },
    ),
  );
  t.pass();
});
