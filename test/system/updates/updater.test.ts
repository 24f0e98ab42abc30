/** An update from a mirror, by the real steps and with a real service: done, or taken back. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { updaterFixture } from '../../support/updater/fixture.ts';
import type { Behaviour } from '../../support/updater/small-agent.ts';
import { until } from '../../support/until.ts';

test('a release is fetched, switched to, watched and kept', async (t) => {
  const machine = await updaterFixture(t);
  await machine.publish('0.1.0');
  await machine.install();
  await until('the agent', () => machine.running() === '0.1.0');
  await machine.publish('0.2.0');

  const { outcome, phase } = await machine.update({ request: 'first' });

  t.like(outcome, { request: 'first', outcome: 'updated', from: '0.1.0', to: '0.2.0', error: null });
  t.is(phase.step, 'idle');
  t.is(machine.current(), '0.2.0');
  t.is(machine.running(), '0.2.0');
  t.false(existsSync(join(machine.dataDirectory, 'updating.json')));
});

const BROKEN: readonly (readonly [Behaviour, RegExp])[] = [
  ['crashes', /it started \d times within 5 s, so it crashes\nIts log ended with:[^]*it crashes/u],
  ['hangs', /not well within 3 s: the agent did not say how it is/u],
  ['not-connected', /not well within 3 s: the agent is not connected to an admin/u],
  ['ill', /not well within 3 s: a service of the agent has a problem: ssh: the port is taken/u],
];

for (const [behaviour, reason] of BROKEN)
  test(`a version that ${behaviour} is taken back, and says why`, async (t) => {
    const machine = await updaterFixture(t);
    await machine.publish('0.1.0');
    await machine.install();
    await machine.publish('0.2.0', behaviour);

    const { outcome, refused } = await machine.update({ request: 'first' });

    t.like(outcome, { request: 'first', outcome: 'rolled_back', from: '0.1.0', to: '0.2.0' });
    t.regex(outcome?.error ?? '', reason);
    t.is(refused?.version, '0.2.0');
    t.is(machine.current(), '0.1.0');
    await until('the version before', () => machine.running() === '0.1.0');
  });

test('a version that does not pass its own check is never switched to', async (t) => {
  const machine = await updaterFixture(t);
  await machine.publish('0.1.0');
  await machine.install();
  await machine.publish('0.2.0', 'refuses');

  const refuses = await machine.update();
  await machine.publish('0.3.0', 'other-version');
  const other = await machine.update();

  t.like(refuses.outcome, { outcome: 'unchanged', from: '0.1.0', to: '0.2.0' });
  t.regex(refuses.outcome?.error ?? '', /does not pass its check \(check\): the journal is of a later version/u);
  t.regex(other.outcome?.error ?? '', /the edge-agent.cjs of the release 0.3.0 calls itself "9.9.9"/u);
  t.is(machine.agent.starts, 1);
});
