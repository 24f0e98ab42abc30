/** Sentences on a terminal of 80 columns: nothing of ours is wider, and nothing is left out. */
import test from 'ava';
import { reportText, type ToldCheck } from '../../../../cli/doctor/report-text.ts';
import { healthText } from '../../../../cli/output/health-text.ts';
import { plainView } from '../../../../cli/table/text.ts';
import { wrapped } from '../../../../cli/table/wrapping.ts';

const HINT = 'See whether the machine is switched on and has network, and run `edge-agent doctor --json` on it.';
const CHECKS: readonly ToldCheck[] = [
  {
    name: 'node_last_seen',
    status: 'fail',
    summary: 'No tunnel to the machine comes about: it is not connected.',
    hint: HINT,
    details: { status: 'unreachable', admin: 'admin-1', is_here: false, last_seen_at: '2026-01-02T03:04:05.678Z' },
    duration_ms: 3,
  },
  { name: 'version', status: 'pass', summary: 'It fits.', hint: null, details: null, duration_ms: 0 },
];
const REPORT = { overall: 'fail', collected_at: '2026-01-02T03:04:05.678Z', checks: CHECKS } as const;

/** What is said, without how it is broken into lines. */
const words = (text: string): string => text.replaceAll(/\s+/gu, ' ');

test('a sentence is broken between words, commands and short remarks stay whole, and only a terminal needs it', (t) => {
  t.is(wrapped('one two three', { width: null, indent: 2 }), 'one two three');
  t.is(wrapped('one two three', { width: 15, indent: 2 }), 'one two three');
  t.is(
    wrapped('then run `edge-agent up` on it again (31 ms)', { width: 24, indent: 4 }),
    'then run\n    `edge-agent up` on\n    it again (31 ms)',
  );
  t.is(
    wrapped(`a ${'x'.repeat(30)} b`, { width: 22, indent: 2 }),
    `a\n  ${'x'.repeat(30)}\n  b`,
    'what cannot be broken is whole',
  );
  t.is(wrapped('日本語 日本語 日本語 日本語', { width: 22, indent: 2 }), '日本語 日本語 日本語\n  日本語');
});

test('a report on a machine fits a terminal, and says the same as without one', (t) => {
  const whole = reportText(REPORT, { isColoured: false, width: null });
  const fitting = reportText(REPORT, { isColoured: false, width: 80 });

  t.true(whole.split('\n').some((line) => line.length > 80));
  t.is(words(fitting), words(whole));
  t.deepEqual(
    fitting.split('\n').filter((line) => line.length > 80),
    [],
  );
  t.is(
    fitting,
    [
      'FAIL  node_last_seen  No tunnel to the machine comes about: it is not connected.',
      '                      (3 ms)',
      '                      -> See whether the machine is switched on and has network,',
      '                         and run `edge-agent doctor --json` on it.',
      '                      status=unreachable admin=admin-1 is_here=false',
      '                      last_seen_at=2026-01-02T03:04:05.678Z',
      'pass  version         It fits. (0 ms)',
      'FAIL  1 passed, 0 warned, 1 failed, collected 2026-01-02T03:04:05.678Z',
      '',
    ].join('\n'),
  );
});

test('what is wrong with an admin is told whole, below its heading', (t) => {
  const checks = [
    { name: 'database', healthy: false, duration_ms: 5, error: 'the database does not answer, or not in time' },
    { name: 'events', healthy: true, duration_ms: 1, error: null },
    { name: 'vpn', healthy: false, duration_ms: 1, error: '' },
  ];

  t.is(
    healthText(checks, { ...plainView('table'), width: 48 }),
    [
      'CHECK     STATE  MS  ERROR',
      'database  fail   5   the database does not',
      '                     answer, or not in time',
      'events    pass   1   -',
      'vpn       fail   1',
      '',
    ].join('\n'),
  );
  t.true(healthText(checks, plainView('table')).includes('5   the database does not answer, or not in time\n'));
});
