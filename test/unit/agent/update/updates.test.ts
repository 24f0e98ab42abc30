import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { RECORDS_MAX } from '../../../../agent/update/update-records.ts';
import { accepted, agentOf, request } from '../../../support/agent/updates-fixture.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

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
