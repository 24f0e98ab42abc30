/** Results that a journal holds, also of agents of before, as frames: one that no admin takes would keep all others. */
import { join } from 'node:path';
import test from 'ava';
import * as fc from 'fast-check';
import { Journal } from '../../../../agent/execution/journal/journal.ts';
import { machineTimeline } from '../../../../agent/execution/timeline.ts';
import { ResultSender } from '../../../../agent/session/result-sender.ts';
import { decodeAgentFrame, encodeFrame } from '../../../../transport/protocol/codec.ts';
import type { AgentFrameBody } from '../../../../transport/protocol/frames.ts';
import { OUTPUT_PART_BYTES_MAX } from '../../../../transport/protocol/limits.ts';
import { delivery, executionId } from '../../../support/agent/session-fixture.ts';
import { silentLog } from '../../../support/log.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

/** An end as some agent stored it: any three digits were an exit status once. */
const ending = fc.record({
  outcome: fc.constantFrom('completed' as const, 'cancelled' as const),
  exitCode: fc.integer({ min: -1, max: 999 }),
  output: fc
    .oneof(fc.uint8Array({ maxLength: 300 }), fc.constant(Buffer.alloc(OUTPUT_PART_BYTES_MAX + 1, '\0')))
    .map((bytes) => Buffer.from(bytes)),
  outputTruncated: fc.boolean(),
  hasRun: fc.boolean(),
  isTraced: fc.boolean(),
});

test('every result that a journal can hold is a frame that an admin takes, as it is sent', (t) => {
  const journal = new Journal(join(temporaryDirectory(t), 'journal.db'), machineTimeline(), silentLog);
  t.teardown(() => journal.close());

  fc.assert(
    fc.property(fc.array(ending, { minLength: 1, maxLength: 20 }), (endings) => {
      const ids = endings.map((_, index) => executionId(index));
      journal.receive(endings.map(({ isTraced }, n) => delivery(n, isTraced ? { traceparent: TRACEPARENT } : {})));
      journal.start(ids.map((execution) => ({ execution, shim: 'a' })));
      journal.finish(endings.map((end, index) => ({ ...end, execution: executionId(index) })));
      const frames: AgentFrameBody[] = [];
      const sender = new ResultSender(
        journal,
        (frame) => frames.push(frame),
        () => true,
        true,
      );

      sender.add(journal.finished());
      for (const frame of frames) if (frame.type === 'output-part') sender.partStored(frame.execution, frame.part);

      for (const frame of frames) {
        const text = encodeFrame(frame, 1);
        t.deepEqual(decodeAgentFrame(text), { ok: true, frame: JSON.parse(text) as never });
      }
      const told = frames.flatMap((frame) => (frame.type === 'result' ? frame.results : []));
      t.deepEqual(told.map(({ execution }) => execution).toSorted(), ids);
      for (const { execution, exit_code } of told)
        t.is(exit_code, Math.min(255, endings[ids.indexOf(execution)]?.exitCode ?? 0));
      journal.erase(ids);
    }),
    { numRuns: 30 },
  );
});

test('a larger exit code of an agent of before counts as the largest, and none below the smallest is taken', (t) => {
  const frameOf = (exitCode: number) => {
    const result = { execution: executionId(1), outcome: 'completed' as const, exit_code: exitCode };
    return encodeFrame({ type: 'result', results: [{ ...result, output: '', parts: 0, output_truncated: false }] }, 1);
  };

  const decoded = decodeAgentFrame(frameOf(404));

  t.like(decoded, { ok: true, frame: { results: [{ exit_code: 255 }] } });
  t.false(decodeAgentFrame(frameOf(-2)).ok);
  t.false(decodeAgentFrame(frameOf(3.5)).ok);
});
