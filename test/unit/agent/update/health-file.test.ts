import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { HealthFile, type HealthFileContent } from '../../../../agent/update/health-file.ts';
import { recordingLog } from '../../../support/log.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

/** An agent whose session and services are the test's, and a second that passes with each look. */
function agentOf(t: ExecutionContext) {
  const directory = temporaryDirectory(t);
  const path = join(directory, 'health.json');
  const log = recordingLog();
  const now = {
    ms: 1_000,
    isLive: false,
    heardMs: null as number | null,
    welcomes: 0,
    problems: { journal: null as string | null, disk: null as string | null },
  };
  const file = new HealthFile({
    path,
    version: '0.1.0',
    services: () => Object.entries(now.problems).map(([name, problem]) => ({ name, problem: () => problem })),
    session: () => now,
    welcomes: () => now.welcomes,
    nowMs: () => now.ms,
    wallMs: () => 1_700_000_000_000 + now.ms,
    log,
  });
  let writes = 0;
  const look = (seconds = 1) => {
    for (let passed = 0; passed < seconds; passed += 1) {
      const before = contentIn(path);
      file.look();
      if (JSON.stringify(contentIn(path)) !== JSON.stringify(before)) writes += 1;
      now.ms += 1_000;
    }
    return contentIn(path);
  };
  return { file, now, look, path, directory, log, writes: () => writes };
}

function contentIn(path: string): HealthFileContent | null {
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as HealthFileContent) : null;
}

test('it is there at once, without a session', (t) => {
  const { look } = agentOf(t);

  const content = look();

  t.like(content, {
    pid: process.pid,
    version: '0.1.0',
    connected_since: null,
    services_ok: true,
    problems: [],
    last_answer_at: null,
  });
  t.true(Math.abs((content?.started_at ?? 0) - (1_700_000_001_000 - process.uptime() * 1_000)) < 2_000);
});

test('a session that begins, ends and is another one shows at once', (t) => {
  const { look, now } = agentOf(t);
  look();

  Object.assign(now, { isLive: true, heardMs: now.ms, welcomes: 1 });
  const first = look();
  Object.assign(now, { heardMs: now.ms, welcomes: 2 });
  const second = look();
  Object.assign(now, { isLive: false, heardMs: null });
  const none = look();

  t.deepEqual(
    [first, second, none].map((content) => [content?.connected_since, content?.last_answer_at]),
    [
      [1_700_000_002_000, 1_700_000_002_000],
      [1_700_000_003_000, 1_700_000_003_000],
      [null, 1_700_000_003_000],
    ],
  );
});

test('what the admin said last and what services say is no older than 5 s', (t) => {
  const { look, now, writes } = agentOf(t);
  Object.assign(now, { isLive: true, heardMs: 1_000, welcomes: 1 });
  look();
  now.heardMs = 2_500;
  now.problems.disk = 'it is full';

  const soon = look(4);
  const later = look();

  t.like(soon, { last_answer_at: 1_700_000_001_000, services_ok: true });
  t.like(later, { last_answer_at: 1_700_000_002_500, services_ok: false, problems: ['disk: it is full'] });
  t.is(writes(), 2);
});

test('it is never half there, only its owner reads it, and a clean stop removes it', (t) => {
  const { file, look, directory, path } = agentOf(t);
  look();

  t.deepEqual(readdirSync(directory), ['health.json']);
  file.close();
  t.false(existsSync(path));
});

test('a disk that does not take it is said once, and the agent goes on', (t) => {
  const { file, now, path, log } = agentOf(t);
  mkdirSync(path);

  for (let looks = 0; looks < 12; looks += 1) {
    file.look();
    now.ms += 1_000;
  }

  t.deepEqual(
    log.lines.map(({ level, message }) => [level, message]),
    [['warn', 'How the agent is cannot be written for its updater']],
  );
});
