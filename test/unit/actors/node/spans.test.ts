import test from 'ava';
import { traced, traceOf, type TracedEnding } from '../../../../actors/node/spans.ts';
import type { EndedSpan } from '../../../../actors/tracer.ts';
import type { OpenExecution } from '../../../../actors/records.ts';
import { spanIdOf, traceparentOf } from '../../../../transport/protocol/trace-context.ts';
import { open } from '../../../support/actors.ts';

const TRACE = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', sampled: true };
const PROCESS = { ...TRACE, spanId: '00f067aa0ba902b7' };

const ofCommand = (trace: typeof TRACE): OpenExecution => {
  const execution = open(1);
  return {
    ...execution,
    insertedAtMs: 10_000,
    sentAtMs: 10_100,
    command: { ...execution.command, text: 'a script with a secret', trace },
  };
};

function spans(ending: Partial<TracedEnding> = {}, execution = ofCommand(TRACE)): EndedSpan[] {
  return (traced(execution, { status: 'completed', exitCode: 0, atMs: 15_000, ...ending }).onceStored ?? []).flatMap(
    (effect) => (effect.type === 'trace' ? [effect.span] : []),
  );
}

test('an execution that nobody traces, or nobody records, tells nothing', (t) => {
  t.deepEqual(spans({}, open(1)), []);
  t.deepEqual(spans({}, ofCommand({ ...TRACE, sampled: false })), []);
  t.is(traceOf(open(1)), null);
});

test('an execution is a span from its creation to its end, below the request that created its command', (t) => {
  const execution = ofCommand(TRACE);

  const [span, ...others] = spans({}, execution);

  t.deepEqual(others, []);
  t.like(span, {
    name: 'execution',
    context: { ...TRACE, spanId: spanIdOf(TRACE.traceId, execution.id) },
    parentSpanId: TRACE.spanId,
    startMs: 10_000,
    endMs: 15_000,
    failure: null,
  });
  t.deepEqual(span?.events, [{ name: 'sent', atMs: 10_100 }]);
  t.false(JSON.stringify(span).includes(execution.command.text), 'no script is in it');
});

test('its process is a span below it, placed by the durations that the agent measured', (t) => {
  const [whole, run] = spans({ machine: { traceparent: traceparentOf(PROCESS), ran_ms: 3_000, ended_ms_ago: 500 } });

  t.like(run, { name: 'run', parentSpanId: whole?.context.spanId, context: PROCESS, startMs: 11_500, endMs: 14_500 });
});

test('an agent cannot put its process outside of the life of its execution, nor into another trace', (t) => {
  const [, old] = spans({
    machine: {
      traceparent: traceparentOf(PROCESS),
      ran_ms: Number.MAX_SAFE_INTEGER,
      ended_ms_ago: Number.MAX_SAFE_INTEGER,
    },
  });
  const other = spans({
    machine: { traceparent: traceparentOf({ ...PROCESS, traceId: 'f'.repeat(32) }), ran_ms: 1, ended_ms_ago: 0 },
  });

  t.like(old, { startMs: 10_000, endMs: 10_000 });
  t.is(other.length, 1);
});

test('what did not end well says so', (t) => {
  t.deepEqual(
    [
      spans({ exitCode: 2 }),
      spans({ status: 'cancelled', exitCode: 143 }),
      spans({ status: 'expired', exitCode: null }),
    ].map(([span]) => span?.failure),
    ['exit code 2', 'cancelled', 'expired'],
  );
});
