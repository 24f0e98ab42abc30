/** The codec under hostile input: a bad message is a value, never a throw, whatever its bytes. */
import { globSync, readFileSync } from 'node:fs';
import test from 'ava';
import * as fc from 'fast-check';
import { decodeAdminFrame, decodeAgentFrame, encodeFrame } from '../../../../transport/protocol/codec.ts';
import type { Decoded } from '../../../../transport/protocol/codec.ts';
import type { AdminFrame, AgentFrame } from '../../../../transport/protocol/frames.ts';
import { ExecutionId } from '../../../../transport/protocol/ids.ts';
import {
  COMMAND_TEXT_BYTES_MAX,
  EXECUTIONS_PER_FRAME_MAX,
  FRAME_BYTES_MAX,
  OUTPUT_PARTS_MAX,
  OUTPUT_PART_BYTES_MAX,
} from '../../../../transport/protocol/limits.ts';

/** Every frame as one version or another wrote it. */
const recordings = new URL('recordings/', import.meta.url);
const recorded = [
  ...new Set(
    globSync('*/*.json', { cwd: recordings }).map(
      (file) => (JSON.parse(readFileSync(new URL(file, recordings), 'utf8')) as { text: string }).text,
    ),
  ),
];

const ID = '0190f5c2-7a11-7c3e-8f00-000000000001';

/** What both directions make of a text; a refusal is one short line that repeats nothing. */
function decodeBoth(text: string): Decoded<AgentFrame | AdminFrame>[] {
  return [decodeAgentFrame(text), decodeAdminFrame(text)];
}

function isRefused(text: string): boolean {
  return decodeBoth(text).every(
    (decoded) => !decoded.ok && decoded.problem.length < 200 && !decoded.problem.includes('\n'),
  );
}

test('any text is decoded or refused, never thrown', (t) => {
  t.notThrows(() =>
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 500 }), (text) => {
        decodeBoth(text);
      }),
      { numRuns: 2_000 },
    ),
  );
});

test('any JSON is decoded or refused, never thrown', (t) => {
  t.notThrows(() =>
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => {
        decodeBoth(JSON.stringify(value));
      }),
      { numRuns: 2_000 },
    ),
  );
});

test('a recorded frame with any field of any depth replaced by any value is decoded or refused', (t) => {
  const replaced = fc
    .tuple(fc.constantFrom(...recorded), fc.nat(), fc.jsonValue({ maxDepth: 4 }))
    .map(([text, at, value]) => {
      const frame = JSON.parse(text) as unknown;
      const places = placesIn(frame);
      const { holder, name } = places[at % places.length] ?? { holder: {}, name: '' };
      holder[name] = value;
      return JSON.stringify(frame);
    });
  t.notThrows(() =>
    fc.assert(
      fc.property(replaced, (text) => {
        decodeBoth(text);
      }),
      { numRuns: 5_000 },
    ),
  );
});

/** Every field of an object or array, and of those in it. */
function placesIn(value: unknown): readonly { readonly holder: Record<string, unknown>; readonly name: string }[] {
  if (typeof value !== 'object' || value === null) return [];
  const holder = value as Record<string, unknown>;
  return Object.keys(holder).flatMap((name) => [{ holder, name }, ...placesIn(holder[name])]);
}

test('what an agent says of its machine is taken within its bounds, and else the whole frame is refused', (t) => {
  const facts = {
    hostname: 'press-7',
    os: 'debian',
    os_version: '13',
    os_name: null,
    kernel: '6.12',
    arch: 'x86_64',
    cpu_model: null,
    cpu_count: 4,
    memory_bytes: 8_124_899_328,
    virtualization: 'none',
    boot_id: '5f0c7e1e-2f0a-4c43-9a60-6b1d2c3e4f50',
    time_zone: 'Europe/Berlin',
  };
  const isTaken = (more: object) =>
    decodeAgentFrame(JSON.stringify({ seq: 1, type: 'facts-changed', facts: { ...facts, ...more } })).ok;

  t.true(isTaken({}));
  t.true(isTaken({ hostname: 'h'.repeat(253), cpu_count: 32_768, later_fact: 'of a newer agent' }));
  for (const wrong of [
    { hostname: '' },
    { hostname: 'h'.repeat(254) },
    { hostname: null },
    { os: 'o'.repeat(65) },
    { kernel: 'k'.repeat(129) },
    { cpu_count: 0 },
    { cpu_count: 1.5 },
    { memory_bytes: -1 },
    { memory_bytes: '8' },
    { boot_id: 'ffffffff-ffff-ffff-ffff-FFFFFFFFFFFF' },
    { arch: undefined },
    { time_zone: ['UTC'] },
  ])
    t.false(isTaken(wrong), JSON.stringify(wrong));
});

test('a recorded frame with any byte changed is decoded or refused', (t) => {
  const changed = fc
    .tuple(fc.constantFrom(...recorded), fc.nat(), fc.string({ unit: 'binary', maxLength: 2 }))
    .map(([text, at, piece]) => {
      const from = at % text.length;
      return text.slice(0, from) + piece + text.slice(from + 1);
    });
  t.notThrows(() =>
    fc.assert(
      fc.property(changed, (text) => {
        decodeBoth(text);
      }),
      { numRuns: 5_000 },
    ),
  );
});

test('what is encoded is decoded as it was', (t) => {
  const id = fc.uuid().map((text) => ExecutionId.parse(text));
  const text = fc.string({ unit: 'grapheme', maxLength: 300 });
  const result = fc.record({
    execution: id,
    outcome: fc.constantFrom('completed' as const, 'cancelled' as const),
    exit_code: fc.integer({ min: -1, max: 255 }),
    output: text,
    parts: fc.integer({ min: 0, max: OUTPUT_PARTS_MAX }),
    output_truncated: fc.boolean(),
  });
  const body = fc.oneof(
    fc.record({ type: fc.constant('result' as const), results: fc.array(result, { minLength: 1, maxLength: 20 }) }),
    fc.record({
      type: fc.constant('tail-output' as const),
      execution: id,
      offset: fc.maxSafeNat(),
      text,
      end: fc.boolean(),
    }),
    fc.record({ type: fc.constant('acknowledge' as const), executions: fc.array(id, { minLength: 1, maxLength: 50 }) }),
  );
  fc.assert(
    fc.property(body, fc.integer({ min: 1, max: 2 ** 40 }), (frame, seq) => {
      t.deepEqual(decodeAgentFrame(encodeFrame(frame, seq)), { ok: true, frame: { seq, ...frame } } as never);
    }),
    { numRuns: 300 },
  );
});

test('200,000 levels of nesting are refused or ignored wherever they stand', (t) => {
  const deep = '['.repeat(200_000) + ']'.repeat(200_000);
  const deepObject = '{"a":'.repeat(200_000) + '1' + '}'.repeat(200_000);
  for (const nested of [deep, deepObject]) {
    t.true(isRefused(nested));
    t.true(isRefused(`{"seq":${nested},"type":"ping"}`));
    t.true(isRefused(`{"seq":1,"type":${nested}}`));
    t.true(isRefused(`{"seq":1,"type":"acknowledge","executions":${nested}}`));
    t.true(isRefused(`{"seq":1,"type":"result","results":[${nested}]}`));
    t.false(decodeAgentFrame(`{"seq":1,"type":"hello","report":${nested}}`).ok);
    t.deepEqual(decodeAgentFrame(`{"seq":1,"type":"ping","extra":${nested}}`), {
      ok: true,
      frame: { seq: 1, type: 'ping' },
    });
  }
});

test('hostile keys are ignored and change no prototype', (t) => {
  const decoded = decodeAgentFrame(
    '{"seq":1,"type":"ping","__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}',
  );

  t.deepEqual(decoded, { ok: true, frame: { seq: 1, type: 'ping' } });
  t.is(({} as { polluted?: boolean }).polluted, undefined);
  t.true(isRefused('{"seq":1,"type":"__proto__"}'));
  t.true(isRefused('{"seq":1,"type":"constructor"}'));
  t.true(isRefused('{"seq":1,"type":"toString"}'));
  t.false(decodeAgentFrame('{"type":"ping","__proto__":{"seq":1}}').ok, 'a field is not inherited from the message');
});

test('numbers that are no sequence numbers are refused', (t) => {
  for (const seq of ['0', '-1', '1.5', '1e400', 'null', '"1"', 'true', '9007199254740993'])
    t.true(isRefused(`{"seq":${seq},"type":"ping"}`), seq);
});

test('lists, scripts and pieces over their limits are refused, those at the limit are taken', (t) => {
  const ids = (count: number) => Array.from({ length: count }, () => ID);
  const acknowledge = (count: number) =>
    decodeAgentFrame(JSON.stringify({ seq: 1, type: 'acknowledge', executions: ids(count) })).ok;
  const deliver = (chars: number) =>
    decodeAdminFrame(
      JSON.stringify({
        seq: 1,
        type: 'deliver',
        deliveries: [{ execution: ID, command_text: 'x'.repeat(chars), timeout_ms: null, expires_in_ms: null }],
      }),
    ).ok;
  const part = (part: number, chars: number) =>
    decodeAgentFrame(JSON.stringify({ seq: 1, type: 'output-part', execution: ID, part, text: 'x'.repeat(chars) })).ok;

  t.deepEqual([0, 1, EXECUTIONS_PER_FRAME_MAX, EXECUTIONS_PER_FRAME_MAX + 1].map(acknowledge), [
    false,
    true,
    true,
    false,
  ]);
  t.deepEqual([0, 1, COMMAND_TEXT_BYTES_MAX, COMMAND_TEXT_BYTES_MAX + 1].map(deliver), [false, true, true, false]);
  t.deepEqual(
    [
      part(0, OUTPUT_PART_BYTES_MAX),
      part(0, OUTPUT_PART_BYTES_MAX + 1),
      part(OUTPUT_PARTS_MAX - 1, 1),
      part(OUTPUT_PARTS_MAX, 1),
    ],
    [true, false, true, false],
  );
});

test('the largest part and the longest script, escaped at their worst, fit a frame', (t) => {
  const execution = ExecutionId.parse(ID);
  const part = encodeFrame(
    { type: 'output-part', execution, part: OUTPUT_PARTS_MAX - 1, text: '\u0001'.repeat(OUTPUT_PART_BYTES_MAX) },
    Number.MAX_SAFE_INTEGER,
  );
  const script = encodeFrame(
    {
      type: 'deliver',
      deliveries: [
        { execution, command_text: '\u0001'.repeat(COMMAND_TEXT_BYTES_MAX), timeout_ms: 1, expires_in_ms: 1 },
      ],
    },
    Number.MAX_SAFE_INTEGER,
  );

  t.true(Buffer.byteLength(part) < FRAME_BYTES_MAX);
  t.true(Buffer.byteLength(script) < FRAME_BYTES_MAX);
});
