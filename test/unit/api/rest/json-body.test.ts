/** JSON bodies, by the byte. */
import * as fc from 'fast-check';
import test from 'ava';
import { BODY_DEPTH_MAX, BODY_MEMBERS_MAX, BodyRefused, parseJson } from '../../../../api/rest/json-body.ts';

const bytes = (text: string) => Buffer.from(text);

test('any JSON within the depth comes out as it went in', (t) => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
      const text = JSON.stringify(value);
      let parsed: unknown;
      try {
        parsed = parseJson(bytes(text));
      } catch (error) {
        return error instanceof BodyRefused && /__proto__|constructor/u.test(text);
      }
      t.deepEqual(parsed, JSON.parse(text));
      return true;
    }),
    { numRuns: 300 },
  );
});

test('any bytes are a value or a refusal, never another error', (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (raw) => {
      try {
        parseJson(Buffer.from(raw));
      } catch (error) {
        t.true(error instanceof BodyRefused);
      }
    }),
    { numRuns: 500 },
  );
});

test('200,000 levels are refused without being parsed, and brackets in strings are no levels', (t) => {
  t.throws(() => parseJson(bytes('['.repeat(200_000) + ']'.repeat(200_000))), { instanceOf: BodyRefused });
  t.throws(() => parseJson(bytes('['.repeat(BODY_DEPTH_MAX + 1) + ']'.repeat(BODY_DEPTH_MAX + 1))), {
    instanceOf: BodyRefused,
  });
  t.notThrows(() => parseJson(bytes('['.repeat(BODY_DEPTH_MAX) + ']'.repeat(BODY_DEPTH_MAX))));
  for (const text of ['[{"\\"'.repeat(1_000), `"${'['.repeat(100)}`, `\\${'['.repeat(100)}`])
    t.is(parseJson(bytes(JSON.stringify(text))), text);
});

test('members beyond a limit are refused without being parsed, wherever they stand, and colons in strings are none', (t) => {
  const body = (members: number) =>
    `{"labels":[{${Array.from({ length: members - 1 }, (_, n) => `"!${n}":"a:b"`).join()}}]}`;

  t.throws(() => parseJson(bytes(body(BODY_MEMBERS_MAX + 1))), {
    instanceOf: BodyRefused,
    message: `The body has more than ${BODY_MEMBERS_MAX} members of objects.`,
  });
  t.notThrows(() => parseJson(bytes(body(BODY_MEMBERS_MAX))));
});

test('bytes that are not UTF-8 are refused, and an empty body is none', (t) => {
  t.throws(() => parseJson(Buffer.from([0x22, 0xff, 0x22])), { instanceOf: BodyRefused });
  t.is(parseJson(Buffer.alloc(0)), undefined);
});
