/** Reports of agents that are old, broken or hostile. */
import { array, assert, integer, json, oneof, property, string } from 'fast-check';
import test from 'ava';
import { readReport, reportOf } from '../../../../transport/diagnoses/reading.ts';
import { Diagnosis, DIAGNOSIS_BYTES_MAX } from '../../../../transport/protocol/diagnosis.ts';

const RANGES = ['100.64.7.0/24', 'fd12:3456:789a:1::/64'];

const CHECK = { name: 'dns', status: 'pass', summary: 'Well.', hint: null, details: null, duration_ms: 1 };
const report = (...checks: readonly object[]) => ({
  overall: 'pass',
  collected_at: '2026-01-01T00:00:00.000Z',
  checks: checks.map((check) => ({ ...CHECK, ...check })),
});
const bytes = (value: unknown) => Buffer.from(JSON.stringify(value));

test('an honest report is read as it is, and what is unknown in it is left out', (t) => {
  const read = readReport(
    bytes({
      ...report({ details: { port: 22, key: 'SHA256:x', is_on: true, none: null }, more: 'of a later version' }),
      signature: 'x',
    }),
    RANGES,
  );

  t.deepEqual(read, {
    ok: true,
    checks: [{ ...CHECK, details: { port: 22, key: 'SHA256:x', is_on: true, none: null } }] as never,
  });
});

test('what is no report is refused with a reason: no JSON, wrong shapes, lengths, names and counts', (t) => {
  const hostile: readonly unknown[] = [
    null,
    1,
    'text',
    [],
    {},
    { ...report({}), checks: [] },
    { ...report({}), checks: 'x' },
    { ...report({}), collected_at: 'yesterday' },
    { ...report({}), overall: 'perfect' },
    report({ status: 'maybe' }),
    report({ name: 'Not a name' }),
    report({ name: '__proto__' }),
    report({ summary: '' }),
    report({ summary: 'x'.repeat(513) }),
    report({ hint: 'x'.repeat(513) }),
    report({ duration_ms: -1 }),
    report({ duration_ms: 1e12 }),
    report({ details: { deep: { er: 1 } } }),
    report({ details: { text: 'x'.repeat(257) } }),
    report({ details: { 'Not a name': 1 } }),
    report({ details: Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`d${index}`, index])) }),
    report({}, {}),
    report(...Array.from({ length: 49 }, (_, index) => ({ name: `c${index}` }))),
    report({ name: 'node_session' }),
    report({ name: 'version' }),
  ];

  for (const value of hostile) t.false(readReport(bytes(value), RANGES).ok, JSON.stringify(value).slice(0, 200));
  t.false(readReport(Buffer.from('{"overall"'), RANGES).ok);
  t.false(readReport(Buffer.from([0xff, 0xfe]), RANGES).ok);
  t.false(readReport(Buffer.from('['.repeat(60_000)), RANGES).ok);
  t.false(readReport(Buffer.concat([bytes(report({})), Buffer.alloc(DIAGNOSIS_BYTES_MAX, 0x20)]), RANGES).ok);
});

test('control characters, changes of direction and lone surrogates come out as blanks', (t) => {
  const read = reportOf(
    report({
      summary: 'a\u001B[31mred\u0001\n\u202Eb\u009Bc\uD800',
      hint: '\u0007',
      status: 'warn',
      details: { text: '\r\u2028x' },
    }),
    RANGES,
  );

  t.true(read.ok);
  if (!read.ok) return;
  const text = JSON.stringify(read.checks);
  t.notRegex(text, /\p{Cc}|\p{Cf}|\\u/u);
  t.is(read.checks[0]?.hint, '-');
});

test('addresses of the VPN of its cluster are blanked in every form, and others stay', (t) => {
  const inside = [
    '100.64.7.9',
    'fd12:3456:789a:1::5',
    'FD12:3456:789A:0001:0:0:0:5',
    '::ffff:100.64.7.9',
    '::ffff:6440:709',
  ];
  const outside = ['100.64.8.9', 'fd12:3456:789a:2::5', '192.168.1.1', '2001:db8::1', '1.2.3'];

  for (const address of inside) {
    const read = reportOf(
      report({
        summary: `to ${address} and [${address}]:80, (${address})`,
        status: 'fail',
        hint: `see ${address}`,
        details: { a: address },
      }),
      RANGES,
    );
    t.false(JSON.stringify(read).toLowerCase().includes(address.toLowerCase()), address);
    t.regex(JSON.stringify(read), /\[VPN address\]/u);
  }
  for (const address of outside)
    t.true(JSON.stringify(reportOf(report({ summary: `to ${address}` }), RANGES)).includes(address), address);
  // As programs write them into sentences: with a colon or a port behind, and a word with a colon before.
  for (const around of [
    'dial fd12:3456:789a:1::5: timed out',
    'peer:fd12:3456:789a:1::5',
    'node:fd12:3456:789a:1:0:0:0:5:44000',
    'connect ECONNREFUSED fd12:3456:789a:1::5:44000',
    'at ::ffff:100.64.7.9:80.',
  ]) {
    t.notRegex(JSON.stringify(reportOf(report({ summary: around }), RANGES)), /3456|100\.64\.7/u, around);
  }
  t.regex(
    JSON.stringify(reportOf(report({ summary: 'http://100.64.7.9:44000 at 12:30:15' }), RANGES)),
    /http:\/\/\[VPN address\]:44000 at 12:30:15/u,
  );
});

test('what is blanked never makes a text longer than it may be', (t) => {
  const read = reportOf(
    report({ summary: 'fd12:3456:789a:1:: '.repeat(26), details: { a: '100.64.7.9 '.repeat(23) } }),
    RANGES,
  );
  const tight = reportOf(report({ summary: 'fd00::1 '.repeat(64) }), ['fd00::/64']);

  for (const one of [read, tight]) t.true(one.ok && Diagnosis.safeParse({ ...report({}), checks: one.checks }).success);
});

test('a report of nothing but what may be addresses costs no more than a few of them', (t) => {
  for (const unit of ['1:', 'a:', '::', '1.1.1.1:']) {
    const text = unit.repeat(256).slice(0, 512);
    const checks = Array.from({ length: 48 }, (_, index) => ({
      ...CHECK,
      name: `check_${index}`,
      summary: text,
      details: { a: text.slice(0, 256) },
    }));
    const before = process.cpuUsage();
    const read = reportOf({ ...report({}), checks }, RANGES);
    const { user, system } = process.cpuUsage(before);

    t.true(read.ok);
    t.true(user + system < 500_000, `${unit}: ${user + system} us`);
  }
});

test('whatever comes, reading never throws, and what it accepts is a report', (t) => {
  t.notThrows(() =>
    assert(
      property(oneof(json({ maxDepth: 2 }), string()), (text) => {
        const read = readReport(Buffer.from(text), RANGES);
        return !read.ok || Diagnosis.safeParse({ ...report({}), checks: read.checks }).success;
      }),
    ),
  );
  t.notThrows(() =>
    assert(
      property(array(integer({ min: 1, max: 0xffff }), { minLength: 1, maxLength: 512 }), (units) => {
        const read = reportOf(report({ summary: String.fromCharCode(...units) }), RANGES);
        return read.ok && Diagnosis.safeParse({ ...report({}), checks: read.checks }).success;
      }),
    ),
  );
});
