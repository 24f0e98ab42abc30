/** When an agent brings reports by itself. */
import test from 'ava';
import { ReportUpload } from '../../../../../agent/observability/doctor/report-upload.ts';
import type { Diagnosis } from '../../../../../transport/protocol/diagnosis.ts';
import { createFakeClock } from '../../../../support/fake-clock.ts';
import { silentLog } from '../../../../support/log.ts';

const MINUTE_MS = 60_000;
const REPORT: Diagnosis = {
  overall: 'pass',
  collected_at: '2026-01-01T00:00:00.000Z',
  checks: [{ name: 'dns', status: 'pass', summary: 'Well.', hint: null, details: null, duration_ms: 1 }],
};

function fixture({ random = 0.5, answers = [] as readonly (number | Error)[] } = {}) {
  const clock = createFakeClock(0);
  const posts: { readonly url: string; readonly atMs: number; readonly key: string | undefined }[] = [];
  const upload = new ReportUpload({
    diagnose: async () => REPORT,
    token: 'the-token',
    clock,
    random: () => random,
    log: silentLog,
    post: async (url, _body, extras) => {
      const answer = answers[posts.length] ?? 204;
      posts.push({ url, atMs: clock.nowMs(), key: extras?.headers?.['authorization'] });
      if (answer instanceof Error) throw answer;
      return { status: answer, body: null };
    },
  });
  /** Lets time pass, and what hangs on it happen. */
  const pass = async (minutes: number) => {
    clock.pass(minutes * MINUTE_MS);
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
  };
  return { upload, posts, pass, clock };
}

test('the first report follows a connection after one to five minutes, the next ones after hours', async (t) => {
  for (const [random, first, next] of [
    [0, 1, 180],
    [0.999_999, 5, 360],
  ] as const) {
    const { upload, posts, pass } = fixture({ random });
    upload.connected('http://admin.example/base/');
    await pass(first - 0.1);
    t.is(posts.length, 0);
    await pass(0.2);
    t.deepEqual(
      posts.map(({ url, key }) => [url, key]),
      [['http://admin.example/base/api/v1/agents/diagnosis', 'Bearer the-token']],
    );
    await pass(next - 1);
    t.is(posts.length, 1);
    await pass(2);
    t.is(posts.length, 2);
  }
});

test('connections that come and go bring one report in half an hour, to the last admin', async (t) => {
  const { upload, posts, pass, clock } = fixture();
  for (let minute = 0; minute < 120; minute += 1) {
    upload.connected(`http://admin-${minute}`);
    await pass(minute < 10 ? 1 : 4);
    if (clock.nowMs() > 120 * MINUTE_MS) break;
  }

  t.true(posts.length >= 2 && posts.length <= 5, `${posts.length}`);
  t.is(clock.waiting() <= 1, true);
});

test('an admin that is busy, away or broken is tried again later; an old one not before hours', async (t) => {
  const { upload, posts, pass } = fixture({ answers: [503, new Error('refused'), 404, 204] });
  upload.connected('http://admin');
  await pass(3);
  await pass(6);
  await pass(6);
  t.is(posts.length, 3);
  await pass(200);
  t.is(posts.length, 3);
  await pass(100);
  t.is(posts.length, 4);
});

test('after the end no report is brought', async (t) => {
  const { upload, posts, pass } = fixture();
  upload.connected('http://admin');
  upload.close();
  upload.connected('http://admin');
  await pass(1_000);

  t.is(posts.length, 0);
});
