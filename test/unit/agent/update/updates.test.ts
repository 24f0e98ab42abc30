import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { RECORDS_MAX } from '../../../../agent/update/update-records.ts';
import { Updates, type UpdatesOptions } from '../../../../agent/update/updates.ts';
import type { AgentUpdateFrameBody } from '../../../../agent/session/ports.ts';
import { UPDATER_TOKEN, UpdaterDouble } from '../../../support/agent/updater-double.ts';
import { silentLog } from '../../../support/log.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { until } from '../../../support/until.ts';

/** A request by its number. */
function request(n: number): string {
  return `0190f5c2-7a11-7c3e-8f00-${String(n).padStart(12, '0')}`;
}

/** An updater that is asked, and answers when the test says. */
class ScriptedSignal {
  readonly asked: string[] = [];
  readonly #answers: ((problem: string | null) => void)[] = [];

  readonly signal: UpdatesOptions['signalUpdate'] = (_place, asked, over) => {
    this.asked.push(asked);
    return new Promise((resolve, reject) => {
      this.#answers.push(resolve);
      over.addEventListener('abort', () => reject(new Error('aborted')));
    });
  };

  async answer(problem: string | null): Promise<void> {
    const answer = await until('a question', () => this.#answers.shift());
    answer(problem);
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}

/** The agent of a directory: of a new one, or of one that an agent before left. */
function agentOf(t: ExecutionContext, more: Partial<UpdatesOptions> = {}, directory = temporaryDirectory(t)) {
  const said: AgentUpdateFrameBody[] = [];
  const updater = new ScriptedSignal();
  const paths = {
    updates: join(directory, 'updates.json'),
    updating: join(directory, 'updating.json'),
    pin: join(directory, 'update-pinned'),
  };
  const updates = new Updates({
    isEnabled: true,
    place: { url: 'http://127.0.0.1:1', token: UPDATER_TOKEN },
    paths,
    version: '0.1.0',
    say: (message) => {
      said.push(message);
      return true;
    },
    signalUpdate: updater.signal,
    wallMs: () => 1_000_000,
    log: silentLog,
    ...more,
  });
  t.teardown(() => updates.close());
  return { updates, said, updater, directory, paths };
}

function accepted(n: number): AgentUpdateFrameBody {
  return { type: 'update-answer', request: request(n), accepted: true, error: null };
}

test('a request becomes one signal, and its answer is the one of the updater', async (t) => {
  const { updates, said, updater } = agentOf(t);

  updates.asked(request(1));
  updates.asked(request(1));
  await updater.answer(null);
  updates.asked(request(1));

  t.deepEqual(updater.asked, [request(1)]);
  t.deepEqual(said, [accepted(1), accepted(1)]);
  t.like(updates.counters, { asked: 1, accepted: 1, refused: 0 });
});

test('a refusal is told with its reason, and again when the same is asked again', async (t) => {
  const { updates, said, updater } = agentOf(t);

  updates.asked(request(1));
  await updater.answer('no updater listens');
  updates.asked(request(1));

  const refused = { type: 'update-answer', request: request(1), accepted: false, error: 'no updater listens' };
  t.deepEqual(said, [refused, refused] as never);
  t.deepEqual(updater.asked, [request(1)]);
  t.like(updates.counters, { asked: 1, accepted: 0, refused: 1 });
});

test('what was asked is on the disk before the updater hears of it', (t) => {
  const { updates, updater, paths } = agentOf(t);

  updates.asked(request(1));

  t.deepEqual(updater.asked, [request(1)]);
  t.like(JSON.parse(readFileSync(paths.updates, 'utf8')), { requests: [{ request: request(1), state: 'asked' }] });
});

test('an agent that ended between the signal and its answer says accepted, and signals no second time', (t) => {
  const before = agentOf(t);
  before.updates.asked(request(1));
  before.updates.close();

  const { updates, said, updater } = agentOf(t, {}, before.directory);
  updates.asked(request(1));

  t.deepEqual(said, [accepted(1)]);
  t.deepEqual(updater.asked, []);
});

test('what was answered is answered the same by the next agent', async (t) => {
  const before = agentOf(t);
  before.updates.asked(request(1));
  await before.updater.answer('no room');
  before.updates.close();

  const { updates, said } = agentOf(t, {}, before.directory);
  updates.asked(request(1));

  t.deepEqual(said, [{ type: 'update-answer', request: request(1), accepted: false, error: 'no room' }]);
});

test('a disk that takes no note keeps the updater from being asked', (t) => {
  const { updates, said, updater, paths } = agentOf(t);
  mkdirSync(paths.updates); // nothing can take its place

  updates.asked(request(1));

  t.deepEqual(updater.asked, []);
  t.like(said[0], {
    accepted: false,
    error: 'that it is asked for could not be written down, so the updater was not asked',
  });
});

for (const [why, options, prepare, error] of [
  ['switched off', { isEnabled: false }, () => {}, /^self-updates are switched off on this machine \(AGENT_SELF/u],
  ['without a token', { place: null }, () => {}, /^AGENT_UPDATER_TOKEN is not set/u],
  [
    'pinned',
    {},
    (pin: string) => writeFileSync(pin, 'until the fair is over\nsee the log\n'),
    /^this machine is pinned to its version by the file \/.*update-pinned \(until the fair is over\): remove it/u,
  ],
  ['pinned by an empty file', {}, (pin: string) => writeFileSync(pin, ''), /update-pinned: remove it/u],
] as const) {
  test(`a machine that is ${why} refuses, and asks no updater`, (t) => {
    const { updates, said, updater, paths } = agentOf(t, options);
    prepare(paths.pin);

    updates.asked(request(1));

    t.deepEqual(updater.asked, []);
    t.like(said[0], { type: 'update-answer', request: request(1), accepted: false });
    t.regex((said[0] as { error: string }).error, error);
  });
}

test('several requests are signalled one after the other, and no more than so many wait', async (t) => {
  const { updates, said, updater } = agentOf(t);

  for (let n = 0; n <= RECORDS_MAX; n += 1) updates.asked(request(n));
  await updater.answer(null);

  t.deepEqual(updater.asked, [request(0), request(1)]);
  t.like(said[0], {
    request: request(RECORDS_MAX),
    error: `${RECORDS_MAX} update requests wait on this machine already`,
  });
  t.deepEqual(said[1], accepted(0));
});

test('only so many requests are remembered; one whose outcome nobody has stored is forgotten last', async (t) => {
  const { updates, updater, paths } = agentOf(t);
  updates.asked(request(0));
  await updater.answer(null);

  for (let n = 1; n <= RECORDS_MAX + 3; n += 1) {
    updates.asked(request(n));
    await updater.answer('busy');
  }

  const { requests } = JSON.parse(readFileSync(paths.updates, 'utf8')) as { requests: { request: string }[] };
  t.is(requests.length, RECORDS_MAX);
  t.is(requests[0]?.request, request(0));
  t.is(requests.at(-1)?.request, request(RECORDS_MAX + 3));
});

for (const content of ['', '{', '[]', '{"requests": 7}', 'x'.repeat(2_000_000)]) {
  test(`a file of requests that is damaged (${content.slice(0, 20)}) is given up, and the agent goes on`, async (t) => {
    const directory = temporaryDirectory(t);
    writeFileSync(join(directory, 'updates.json'), content);

    const { updates, said, updater } = agentOf(t, {}, directory);
    updates.asked(request(1));
    await updater.answer(null);

    t.deepEqual(said, [accepted(1)]);
  });
}

test('of a file that a newer agent wrote what this one knows is kept', async (t) => {
  const before = agentOf(t);
  before.updates.asked(request(1));
  await before.updater.answer(null);
  const file = JSON.parse(readFileSync(before.paths.updates, 'utf8')) as { requests: object[] };
  file.requests.push({ ...file.requests[0], request: request(2), state: 'postponed' });
  writeFileSync(before.paths.updates, JSON.stringify({ ...file, format: 2 }));

  const { updates, said, updater } = agentOf(t, {}, before.directory);
  updates.asked(request(1));

  t.deepEqual(said, [accepted(1)]);
  t.deepEqual(updater.asked, []);
});

/** One whose updater says this of the last update. */
async function withOutcome(t: ExecutionContext, outcome: () => { status: number; body?: unknown }) {
  const updater = await UpdaterDouble.start(t, { '/v1/outcome': () => outcome() });
  const place = { url: updater.url, token: UPDATER_TOKEN };
  return { ...agentOf(t, { place, outcomeWaitMsMin: 1, signalUpdate: () => Promise.resolve(null) }), updater };
}

const ROLLED_BACK = {
  outcome: 'rolled_back',
  from: '0.1.0',
  to: '0.2.0',
  error: `it crashes: ${UPDATER_TOKEN}`,
  finished_at: 1,
};

test('what came of an update is asked for until the updater says it, told, and kept until an admin has it', async (t) => {
  let body: unknown = { request: null, ...ROLLED_BACK };
  const { updates, said, updater, directory } = await withOutcome(t, () => ({ status: 200, body }));
  const told = { request: request(1), ...ROLLED_BACK, error: 'it crashes: ***', finished_at: undefined };
  const { finished_at: _, ...outcome } = told;

  updates.asked(request(1));
  await until('some questions', () => updater.of('/v1/outcome').length > 2);
  t.deepEqual(updates.outcomes(), [], 'that was another update');
  body = { request: request(1), ...ROLLED_BACK };
  await until('the outcome', () => said.length === 2);

  t.deepEqual(said, [accepted(1), { type: 'update-outcome', ...outcome }] as never);
  t.is(updates.counters.lastOutcome, 'rolled_back');
  const next = agentOf(t, {}, directory);
  t.deepEqual(next.updates.outcomes(), [outcome] as never);
  next.updates.outcomeStored(request(7));
  next.updates.outcomeStored(request(1));
  t.deepEqual(next.updates.outcomes(), []);
  t.deepEqual(agentOf(t, {}, directory).updates.outcomes(), []);
});

test('an updater that does not know the question is asked once', async (t) => {
  const { updates, updater, said } = await withOutcome(t, () => ({ status: 404 }));

  updates.asked(request(1));
  await until('the question', () => updater.of('/v1/outcome').length === 1);
  await new Promise((resolve) => {
    setTimeout(resolve, 50);
  });

  t.is(updater.of('/v1/outcome').length, 1);
  t.deepEqual(said, [accepted(1)]);
});

test('an agent that is started anew asks what came of the update that ended it', async (t) => {
  const before = agentOf(t);
  before.updates.asked(request(1));
  before.updates.close();
  const updater = await UpdaterDouble.start(t, {
    '/v1/outcome': () => ({
      status: 200,
      body: { request: request(1), outcome: 'updated', from: '0.1.0', to: '0.2.0', error: null },
    }),
  });

  const place = { url: updater.url, token: UPDATER_TOKEN };
  const { updates, said } = agentOf(t, { place, version: '0.2.0' }, before.directory);
  updates.begin();

  await until('the outcome', () => said.length === 1);
  t.like(said[0], { type: 'update-outcome', request: request(1), outcome: 'updated', to: '0.2.0' });
  t.is(updater.asks[0]?.query, `?request=${request(1)}`);
});

test('garbage of an updater is no outcome', async (t) => {
  const bodies = ['', '{', '[1]', { request: 7 }, { ...ROLLED_BACK, outcome: 'exploded' }, { request: request(1) }];
  const { updates, updater } = await withOutcome(t, () => ({ status: 200, body: bodies.shift() ?? 'x' }));

  updates.asked(request(1));
  await until('all of it', () => updater.of('/v1/outcome').length > 6);

  t.deepEqual(updates.outcomes(), []);
});
