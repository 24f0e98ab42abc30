/** The updater's own timer: what it does for an agent that says nothing, without anybody's word. */
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { checkAfterMs, serveUpdater } from '../../../agent/updater/serve.ts';
import type { UpdaterConfig } from '../../../agent/updater/settings.ts';
import type { UpdaterParts } from '../../../agent/updater/parts.ts';
import { STARTS_MAX } from '../../../agent/updater/transition.ts';
import type { Log } from '../../../transport/net/log.ts';
import { scaled } from '../../support/busy.ts';
import { fillAt } from '../../support/small-disk.ts';
import { storedState, updaterFixture, type UpdaterFixture } from '../../support/updater/fixture.ts';
import { SHORT_TIMES, TIMES } from '../../support/updater/times.ts';
import { until } from '../../support/until.ts';

/** Instead of 10 minutes each, in ms. */
const EVERY_MS = 100;
const DEAD_MS = scaled(1_500);

/** Serves until it is told to end, or the test is over. */
function served(
  t: ExecutionContext,
  machine: UpdaterFixture,
  config: Partial<UpdaterConfig> = {},
  changes: Partial<UpdaterParts> = {},
): () => Promise<void> {
  const stop = new AbortController();
  const parts = machine.parts({ signal: stop.signal, deadMs: DEAD_MS, ...changes });
  const over = serveUpdater(
    { ...parts, config: { ...parts.config, UPDATER_CHECK_EVERY: EVERY_MS, ...config } },
    'none',
  );
  const end = async () => {
    stop.abort();
    await over;
  };
  t.teardown(end);
  return end;
}

async function installed(t: ExecutionContext): Promise<UpdaterFixture> {
  const machine = await updaterFixture(t);
  await machine.publish('0.1.0');
  await machine.install();
  await until('the agent', () => machine.running() === '0.1.0');
  return machine;
}

/** An update to a version that does not connect, whose updater is gone while it watches. */
async function leftWatching(machine: UpdaterFixture): Promise<void> {
  const stop = new AbortController();
  await machine.publish('0.2.0', 'not-connected');
  const update = machine.update({}, { signal: stop.signal });
  await until('the new version', () => machine.running() === '0.2.0');
  stop.abort();
  await update;
}

const isLogged = ({ lines }: UpdaterFixture, words: string) => lines.some((line) => line.includes(words));

test('machines that started together look at different times, a fifth around the setting', (t) => {
  t.deepEqual(
    [0, 0.5, 1].map((random) => Math.round(checkAfterMs(600_000, random))),
    [480_000, 600_000, 720_000],
  );
});

test('an agent that cannot start, as its files are damaged, is repaired by the timer', async (t) => {
  const machine = await installed(t);
  const file = join(machine.layout.current, 'edge-agent.cjs');
  writeFileSync(file, 'process.exit(1);'.padEnd(statSync(file).size));
  machine.agent.kill();

  served(t, machine);

  await until('the repair', () => machine.running() === '0.1.0');
  await until('its outcome', () => storedState(machine).outcome?.outcome === 'updated');
  t.like(storedState(machine).outcome, { request: null, from: '0.1.0', to: '0.1.0', error: null });
});

test('an agent that hangs is restarted, at most once in the time after which one is dead', async (t) => {
  const machine = await installed(t);
  const { pid } = machine.agent;
  const restarts: number[] = [];
  const { service } = machine.parts();
  const restart = async () => {
    restarts.push(performance.now());
    t.true(existsSync(join(machine.dataDirectory, 'updating.json')), 'its commands go on');
    if (restarts.length === 2) machine.agent.kill(); // it does not end when it is told to
  };
  process.kill(pid ?? 0, 'SIGSTOP');

  served(t, machine, {}, { service: { ...service, restart } });

  await until('an agent again', () => machine.agent.pid !== pid && machine.running() === '0.1.0');
  await until('the end of it', () => !existsSync(join(machine.dataDirectory, 'updating.json')));
  const gaps = restarts.slice(1).map((atMs, index) => atMs - (restarts[index] ?? 0));
  t.true(gaps.length > 0 && gaps.every((ms) => ms >= DEAD_MS), gaps.join()); // more where its start takes so long
  t.true(isLogged(machine, 'The agent hangs: it is restarted'));
});

/** Mirrors without a place, for which an update waits as long as a test takes. */
const MANY_RETRIES = { triesMax: 2, msMax: 600_000, waitSecondsMax: 0.01 };

const waits = (machine: UpdaterFixture) =>
  until('an update that waits', () => isLogged(machine, 'Who has the release is busy: it is asked again'));

test('an agent that hangs is restarted although no mirror has a place, and repairs go on to wait for one', async (t) => {
  const machine = await installed(t);
  const { pid } = machine.agent;
  const { service } = machine.parts();
  machine.mirror.behave(() => 'busy');
  process.kill(pid ?? 0, 'SIGSTOP');
  const restart = async () => machine.agent.kill(); // it does not end when it is told to

  served(t, machine, {}, { retries: MANY_RETRIES, service: { ...service, restart } });

  await until('an agent again', () => machine.agent.pid !== pid && machine.running() === '0.1.0');
  t.is(storedState(machine).phase.step, 'preparing');
  machine.mirror.behave(() => 'ok');
  await until('the end of it', () => storedState(machine).phase.step === 'idle');
  t.like(storedState(machine).outcome, { outcome: 'unchanged', error: null });
});

test('an agent that hangs while an update waits for a place is restarted, and updated once there is one', async (t) => {
  const machine = await installed(t);
  await machine.publish('0.2.0');
  const { pid } = machine.agent;
  const { service } = machine.parts();
  let [isHanging, restarts] = [true, 0];
  const restart = async () => {
    restarts += 1;
    if (isHanging) machine.agent.kill();
    else await service.restart();
  };
  machine.mirror.behave(() => 'busy');

  served(
    t,
    machine,
    { UPDATER_AUTOMATIC: true },
    { retries: MANY_RETRIES, times: TIMES, service: { ...service, restart } },
  );
  await waits(machine);
  process.kill(pid ?? 0, 'SIGSTOP');
  await until('an agent again', () => machine.agent.pid !== pid && machine.running() === '0.1.0');
  isHanging = false;
  machine.mirror.behave(() => 'ok');

  await until('the update', () => machine.running() === '0.2.0');
  await until('its outcome', () => storedState(machine).outcome?.outcome === 'updated');
  t.is(restarts, 2);
});

test('an agent that lives, or was stopped on purpose, is nobody to repair', async (t) => {
  const machine = await installed(t);
  const { service } = machine.parts();
  let asked = 0;
  const isStopped = async () => {
    asked += 1;
    return true;
  };
  machine.mirror.requests.splice(0);

  served(t, machine, {}, { service: { ...service, isStopped } });

  await sleep(2 * DEAD_MS); // that nothing is asked is seen by time alone
  t.is(asked, 0);
  await machine.agent.stop();
  await until('that it asks whether somebody stopped it', () => asked > 2);
  t.deepEqual(machine.mirror.requests, []);
  t.false(isLogged(machine, 'has said nothing'));
});

test('with UPDATER_AUTOMATIC an agent that was stopped on purpose is not updated', async (t) => {
  const machine = await installed(t);
  await machine.publish('0.2.0');
  const { service } = machine.parts();
  await machine.agent.stop();
  machine.mirror.requests.splice(0);
  let asked = 0;
  const isStopped = async () => {
    asked += 1;
    return true;
  };

  served(t, machine, { UPDATER_AUTOMATIC: true }, { service: { ...service, isStopped } });

  await until('that it asks whether somebody stopped it', () => asked > 2);
  t.deepEqual(machine.mirror.requests, []);
});

test('an agent that is dead and a mirror that is away: it is tried again when it is time', async (t) => {
  const machine = await installed(t);
  const file = join(machine.layout.current, 'edge-agent.cjs');
  writeFileSync(file, 'process.exit(1);'.padEnd(statSync(file).size));
  machine.agent.kill();
  let isAway = true;
  machine.mirror.behave(() => (isAway ? 'missing' : 'ok'));

  served(t, machine);
  await until('a try that fails', () => storedState(machine).outcome?.error != null);
  isAway = false;

  await until('the repair', () => machine.running() === '0.1.0');
  t.is(storedState(machine).refused, null);
});

test('with UPDATER_AUTOMATIC it installs what the channel names, and otherwise not; it says that it lives meanwhile', async (t) => {
  const machine = await installed(t);
  await machine.publish('0.2.0');
  machine.mirror.requests.splice(0);
  const end = served(t, machine);
  await until('that it serves', () => isLogged(machine, 'The updater is ready'));
  t.true(existsSync(machine.layout.updaterAlive));
  await sleep(10 * EVERY_MS); // that nothing is asked for is seen by time alone
  await end();
  t.deepEqual(machine.mirror.requests, []);

  served(t, machine, { UPDATER_AUTOMATIC: true }, { times: TIMES });

  await until('the update', () => machine.running() === '0.2.0');
  await until('its outcome', () => storedState(machine).outcome?.outcome === 'updated');
  t.like(storedState(machine).outcome, { request: null, from: '0.1.0', to: '0.2.0' });
});

test('an update that a full disk holds up goes on once there is room: a version that is not well is taken back', async (t) => {
  const machine = await installed(t);
  await leftWatching(machine);
  const makeRoom = fillAt(`${machine.layout.state}.new`);

  served(t, machine, {}, { times: SHORT_TIMES });
  await until('that it is held up', () => isLogged(machine, 'The updater could not go on'));
  makeRoom();

  await until('the version before', () => machine.running() === '0.1.0');
  await until('its outcome', () => storedState(machine).phase.step === 'idle');
  t.like(storedState(machine).outcome, { outcome: 'rolled_back', from: '0.1.0', to: '0.2.0' });
});

test('an agent is not restarted again and again while a disk is full', async (t) => {
  const machine = await installed(t);
  await leftWatching(machine);
  const { service } = machine.parts();
  const state = `${machine.layout.state}.new`;
  let [restarts, makeRoom] = [0, () => {}];
  const restart = async () => {
    restarts += 1;
    if (restarts === 1) makeRoom = fillAt(state);
    await service.restart();
  };
  const heldUp = () => machine.lines.filter((line) => line.includes('The updater could not go on')).length;

  served(t, machine, {}, { times: SHORT_TIMES, service: { ...service, restart } });
  await until('that it is held up several times', () => heldUp() >= 5);
  const whileFull = restarts;
  makeRoom();
  await until('the end', () => storedState(machine).phase.step === 'idle');

  t.is(whileFull, 1);
  t.is(storedState(machine).outcome?.outcome, 'rolled_back');
  await until('the version before', () => machine.running() === '0.1.0');
});

test('a version that is well is kept, however often a full disk kept that from being stored', async (t) => {
  const machine = await installed(t);
  await machine.publish('0.2.0');
  const { log } = machine.parts();
  let [held, makeRoom] = [0, () => {}];
  const info: Log['info'] = (fields, message) => {
    if (message === 'The new version is well' && held < STARTS_MAX) makeRoom = fillAt(`${machine.layout.state}.new`);
    log.info(fields, message);
  };
  const error: Log['error'] = (fields, message) => {
    if (message === 'The updater could not go on') held += 1;
    makeRoom();
    log.error(fields, message);
  };

  served(t, machine, { UPDATER_AUTOMATIC: true }, { log: { ...log, info, error } });
  await until('its outcome', () => storedState(machine).outcome !== null);

  t.is(held, STARTS_MAX);
  t.like(storedState(machine).outcome, { outcome: 'updated', from: '0.1.0', to: '0.2.0', error: null });
  t.is(storedState(machine).refused, null);
  t.is(machine.agent.starts, 2);
});

test('an update that a command of somebody left behind is taken up by the timer', async (t) => {
  const machine = await installed(t);
  served(t, machine, {}, { times: SHORT_TIMES });
  await until('that it serves', () => isLogged(machine, 'The updater is ready'));

  await leftWatching(machine);

  await until('the version before', () => machine.running() === '0.1.0');
  await until('its outcome', () => storedState(machine).phase.step === 'idle');
  t.like(storedState(machine).outcome, { outcome: 'rolled_back', from: '0.1.0', to: '0.2.0' });
});
