/** How checks are run: in order, within their time, and whatever they do. */
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import {
  CHECK_MS_MAX,
  diagnose,
  failed,
  passed,
  warned,
  type Check,
} from '../../../../../agent/observability/doctor/check.ts';
import type { Diagnosis } from '../../../../../transport/protocol/diagnosis.ts';
import { column } from '../../../../support/database/columns.ts';
import { until } from '../../../../support/until.ts';

const well = (name: string, ms = 0): Check => ({
  name,
  look: async () => {
    await sleep(ms);
    return passed('Well.');
  },
});
const hanging = (name: string): Check => ({ name, look: () => new Promise(() => {}) });

/** A report, and how long it took, of a time in which nothing held this process up: a timer beside it was not late. */
function unhindered(run: () => Promise<Diagnosis>) {
  return until('a report that nothing held up', async () => {
    const beganMs = performance.now();
    const beside = sleep(200).then(() => performance.now() - beganMs);
    const report = await run();
    const tookMs = performance.now() - beganMs;
    return (await beside) < 1_000 && { report, tookMs };
  });
}

test('checks are told in their order, whichever is done first, and the worst of them is the overall', async (t) => {
  const checks = [well('slow', 50), well('fast'), { name: 'warned', look: () => warned('So so.', 'Do.') }];

  const report = await diagnose(checks);
  const worse = await diagnose([...checks, { name: 'failed', look: () => failed('Bad.', 'Do more.', { value: 1 }) }]);

  t.deepEqual(
    [report.checks.map(({ name, status }) => [name, status]), report.overall],
    [
      [
        ['slow', 'pass'],
        ['fast', 'pass'],
        ['warned', 'warn'],
      ],
      'warn',
    ],
  );
  t.deepEqual([worse.overall, worse.checks[3]?.hint, worse.checks[3]?.details], ['fail', 'Do more.', { value: 1 }]);
  t.true((report.checks[0]?.duration_ms ?? 0) >= 45);
});

test('a check that throws, at once or later, is a fail without the words of its error, and hides no other', async (t) => {
  const secret = new Error('token-1234');
  const report = await diagnose([
    {
      name: 'at_once',
      look: () => {
        throw secret;
      },
    },
    { name: 'later', look: () => Promise.reject(secret) },
    { name: 'of_system', look: () => Promise.reject(Object.assign(secret, { code: 'EMFILE' })) },
    {
      name: 'odd',
      look: () => {
        throw null;
      },
    },
    well('last'),
  ]);

  t.deepEqual(column(report.checks, 'status'), ['fail', 'fail', 'fail', 'fail', 'pass']);
  t.notRegex(JSON.stringify(report), /token/u);
  t.regex(report.checks[2]?.summary ?? '', /EMFILE/u);
});

test('a check that hangs is over in its time, and is told to stop', async (t) => {
  let isStopped = false;
  const { report, tookMs } = await unhindered(() =>
    diagnose(
      [
        {
          name: 'hangs',
          look: (signal) =>
            new Promise(() => {
              signal.addEventListener('abort', () => {
                isStopped = true;
              });
            }),
        },
        well('other'),
      ],
      { checkMsMax: 60 },
    ),
  );

  t.true(tookMs < CHECK_MS_MAX, `${tookMs} ms`);
  t.deepEqual([report.checks.map(({ status }) => status), isStopped], [['fail', 'pass'], true]);
  t.regex(report.checks[0]?.summary ?? '', /no answer within/u);
});

test('however many hang, the whole is over in its time, and every check has its line', async (t) => {
  const names = Array.from({ length: 40 }, (_, index) => `check_${index}`);
  const { report, tookMs } = await unhindered(() => diagnose(names.map(hanging), { checkMsMax: 60, totalMsMax: 150 }));

  t.true(tookMs < CHECK_MS_MAX, `${tookMs} ms`);
  t.deepEqual(column(report.checks, 'name'), names);
  t.true(report.checks.every(({ status }) => status === 'fail'));
  t.regex(report.checks[39]?.summary ?? '', /no time left/u);
});
