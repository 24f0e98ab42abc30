/** Going back by hand: to the version before, whatever was under way. */
import { readdirSync } from 'node:fs';
import test from 'ava';
import { pin, rollBack } from '../../../agent/updater/commands.ts';
import { UpdateProblem } from '../../../agent/updater/problem.ts';
import { linkedVersion } from '../../../agent/updater/versions.ts';
import { storedState, updaterFixture } from '../../support/updater/fixture.ts';
import { SHORT_TIMES } from '../../support/updater/times.ts';
import { until } from '../../support/until.ts';

test('going back by hand ends an update that was interrupted: a version that is taken back by that is not gone back to', async (t) => {
  const machine = await updaterFixture(t);
  await machine.publish('0.1.0');
  await machine.install();
  await machine.publish('0.2.0');
  await machine.update();
  await machine.publish('0.3.0', 'not-connected');
  const stop = new AbortController();
  const update = machine.update({}, { signal: stop.signal });
  await until('the new version', () => machine.running() === '0.3.0');
  stop.abort();
  await update;

  const back = await rollBack(machine.parts({ times: SHORT_TIMES }));

  t.like(back, { outcome: 'rolled_back', from: '0.2.0', to: '0.3.0' });
  t.is(machine.current(), '0.2.0');
  t.is(linkedVersion(machine.layout, machine.layout.previous)?.version, '0.1.0');
  await until('the version before', () => machine.running() === '0.2.0');
  t.is(machine.agent.starts, 4);
});

test('going back by hand drops an update that was interrupted before it changed anything: nothing newer is installed', async (t) => {
  for (const step of ['preparing', 'switching'] as const) {
    const machine = await updaterFixture(t);
    await machine.publish('0.1.0');
    await machine.install();
    await machine.publish('0.2.0');
    await machine.update();
    await machine.publish('0.3.0');
    const stop = new AbortController();
    const isReached = () =>
      step === 'preparing'
        ? storedState(machine).phase.step === step
        : readdirSync(machine.layout.versions).some((name) => name.startsWith('0.3.0'));
    const nowMs = () => {
      if (isReached()) stop.abort(); // it asks for the time at each step
      return Date.now();
    };
    await machine.update({}, { signal: stop.signal, nowMs }).catch((error: unknown) => {
      if (!(error instanceof UpdateProblem)) throw error; // the download that was cut off
    });
    t.is(storedState(machine).phase.step, step);

    const back = await rollBack(machine.parts());

    t.like(back, { outcome: 'updated', from: '0.2.0', to: '0.1.0' }, step);
    t.is(machine.current(), '0.1.0', step);
    t.is(storedState(machine).refused?.version, '0.2.0', step);
    await until('the version before', () => machine.running() === '0.1.0');
  }
});

test('somebody goes back by hand, stays there, and pins a version', async (t) => {
  const machine = await updaterFixture(t);
  await machine.publish('0.1.0');
  await machine.install();
  await machine.publish('0.2.0');
  await machine.update();

  const back = await rollBack(machine.parts());
  const timer = await machine.update({ by: 'timer' });
  await machine.publish('0.3.0');
  pin(machine.parts(), '0.2.0');
  const pinned = await machine.update({ force: true });
  const stays = await machine.update();
  pin(machine.parts(), null);
  const follows = await machine.update();

  t.like(back, { outcome: 'updated', from: '0.2.0', to: '0.1.0' });
  t.like(timer.outcome, { outcome: 'unchanged' });
  t.regex(timer.outcome?.error ?? '', /somebody went back from it by hand/u);
  t.like(pinned.outcome, { outcome: 'updated', to: '0.2.0' });
  t.like(stays.outcome, { outcome: 'unchanged', to: '0.2.0', error: null });
  t.like(follows.outcome, { outcome: 'updated', to: '0.3.0' });
});
