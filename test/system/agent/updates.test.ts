/** A real agent that is asked to update its machine, and its updater, which is asked once whatever happens between. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ServerResponse } from 'node:http';
import test from 'ava';
import type { DoubleSession } from '../../support/agent/admin-double.ts';
import { AgentFixture, logged } from '../../support/agent/agent-fixture.ts';
import { UPDATER_TOKEN, UpdaterDouble } from '../../support/agent/updater-double.ts';
import { until } from '../../support/until.ts';
import { PROTOCOL_VERSION } from '../../../transport/protocol/version.ts';

const REQUEST = '0190f5c2-7a11-7c3e-8f00-000000000001';

function ask(session: DoubleSession): void {
  session.send({ type: 'update', request: REQUEST });
}

test.serial('a signal is given once, also when the agent is killed before it knows what became of it', async (t) => {
  const held: ServerResponse[] = [];
  const updater = await UpdaterDouble.start(t, { '/v1/update': () => (response) => held.push(response) });
  const { fixture, admin, session } = await AgentFixture.open(t, {}, updater.settings());
  ask(session);
  await until('the signal', () => held.length === 1);

  await fixture.kill();
  fixture.start();
  const again = await admin.session(1);
  ask(again);
  await admin.until('the answer', () => again.of('update-answer').length === 1);
  await fixture.kill();
  fixture.start();
  const third = await admin.session(2);
  ask(third);
  await admin.until('the answer', () => third.of('update-answer').length === 1);

  for (const one of [again, third])
    t.like(one.of('update-answer')[0], { request: REQUEST, accepted: true, error: null });
  t.is(updater.of('/v1/update').length, 1);
  t.deepEqual(session.of('update-answer'), []);
});

test.serial('what came of it is asked of the updater by the next agent, and told until it is stored', async (t) => {
  const updater = await UpdaterDouble.start(t, {
    '/v1/update': () => ({ status: 202 }),
    '/v1/outcome': () => ({
      status: 200,
      body: { request: REQUEST, outcome: 'rolled_back', from: '0.1.0', to: '0.2.0', error: 'it crashes', away_ms: 7 },
    }),
  });
  const { fixture, admin, session } = await AgentFixture.open(t, {}, updater.settings());
  ask(session);
  await admin.until('the answer', () => session.of('update-answer').length === 1);

  await fixture.kill(); // as the updater does it, at the latest
  fixture.start();
  const again = await admin.session(1);
  await admin.until('the outcome', () => [session, again].some((one) => one.of('update-outcome').length > 0));
  await fixture.kill();
  fixture.start();
  const third = await admin.session(2);
  await admin.until('the outcome', () => third.of('update-outcome').length === 1);
  third.send({ type: 'update-outcome-stored', request: REQUEST });
  const path = join(fixture.dataDirectory, 'updates.json');
  await until('its mark', () => readFileSync(path, 'utf8').includes('"is_told": true'));
  await fixture.kill();
  fixture.start();

  t.like(third.of('update-outcome')[0], { request: REQUEST, outcome: 'rolled_back', to: '0.2.0', error: 'it crashes' });
  const last = await admin.session(3);
  await admin.until('a ping', () => last.of('ping').length > 0, 30_000);
  t.deepEqual(last.of('update-outcome'), []);
});

test.serial('an admin that is older hears of no update, and the agent goes on', async (t) => {
  const { fixture, admin, session } = await AgentFixture.open(t, { welcomes: false });
  session.send({
    type: 'welcome',
    protocol: PROTOCOL_VERSION - 1,
    cluster_name: 'test',
    settings: admin.settings(),
  });

  const execution = await fixture.taken(session, 'echo done');

  t.like(await admin.result(execution), { output: 'done\n' });
  t.deepEqual(session.of('update-outcome'), []);
});

for (const [why, settings, error] of [
  ['switched off', {}, /^self-updates are switched off on this machine/u],
  ['without a token', { AGENT_SELF_UPDATE_ENABLED: 'true' }, /^AGENT_UPDATER_TOKEN is not set/u],
] as const) {
  test.serial(`an agent that is ${why} answers with the reason`, async (t) => {
    const { admin, session } = await AgentFixture.open(t, {}, settings);

    ask(session);
    await admin.until('the answer', () => session.of('update-answer').length === 1);

    t.like(session.of('update-answer')[0], { request: REQUEST, accepted: false });
    t.regex(session.of('update-answer')[0]?.error ?? '', error);
  });
}

test.serial('the token is in no log, no command line, and in the environment of no child', async (t) => {
  const updater = await UpdaterDouble.start(t, {
    '/v1/update': () => ({ status: 500, body: { error: `wrong token: Bearer ${UPDATER_TOKEN}` } }),
  });
  const settings = { ...updater.settings(), LOG_LEVEL: 'debug' };
  const { fixture, admin, session } = await AgentFixture.open(t, {}, settings);
  ask(session);
  await logged(fixture.agent, /The updater was not told/u);

  const peek = await fixture.taken(session, 'env; tr "\\0" "\\n" </proc/$PPID/environ; cat /proc/[0-9]*/cmdline');
  const { output } = await admin.result(peek);
  await fixture.terminate();

  t.true(output.includes('EDGE_NODE_ID='));
  for (const [place, text] of Object.entries({
    output,
    log: fixture.agent.log,
    frames: JSON.stringify(session.frames),
    file: readFileSync(join(fixture.dataDirectory, 'updates.json'), 'utf8'),
  }))
    t.false(text.includes(UPDATER_TOKEN), place);
  t.is(updater.asks[0]?.authorization, `Bearer ${UPDATER_TOKEN}`, 'where it belongs it is');
  t.false(existsSync(join(fixture.dataDirectory, 'health.json')));
});
