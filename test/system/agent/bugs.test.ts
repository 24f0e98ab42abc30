/**
 * Faults of ours that nobody catches, in a real agent and a real updater: told in their logs with where they are, and
 * the end of the program, which its service starts again. What an agent runs goes on.
 */
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { AgentFixture, logged } from '../../support/agent/agent-fixture.ts';
import { AgentProcess } from '../../support/agent/agent-process.ts';
import { programFile } from '../../support/run/programs.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** Has a program do what none does by itself, each at a signal that it has no other use for. */
const FAULTS = `
process.on('SIGURG', () => { Promise.reject(new Error('a bug')); });
process.on('SIGWINCH', () => { throw new Error('a bug'); });
process.on('SIGTTIN', () => { throw 1n; });
process.on('SIGIO', () => { console.log('a word of a peer\\u001b[2J'); });`;
const FAULTY = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(FAULTS)}`, LOG_LEVEL: 'debug' };

/** The fields of the line that says this. */
function lineOf({ log }: AgentProcess, msg: string): Readonly<Record<string, unknown>> | undefined {
  const lines = log
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  return lines.find((line) => line['msg'] === msg);
}

function isToldAsBug(t: ExecutionContext, program: AgentProcess, msg: string): void {
  const line = lineOf(program, msg);
  t.like(line, { level: 'error', error: 'a bug' });
  t.regex(String(line?.['stack']), /^at .* \| at /u);
}

test('an agent names an unhandled rejection and ends; its execution goes on, and the next agent reports the result', async (t) => {
  const { fixture, admin, session } = await AgentFixture.open(t, {}, FAULTY);
  const execution = admin.deliver(session, `echo ran >>${fixture.ledger}; ${fixture.waiting()}; exit 9`);
  await fixture.wrote(1);

  fixture.agent.child.kill('SIGIO');
  await logged(fixture.agent, /"msg":"A library printed"/u);
  fixture.agent.child.kill('SIGURG');
  t.deepEqual(await fixture.agent.ended(), { code: 1, signal: null });

  isToldAsBug(t, fixture.agent, 'A rejection that nobody handled');
  t.like(lineOf(fixture.agent, 'A library printed'), { level: 'debug', text: 'a word of a peer\u001b[2J' });
  fixture.start();
  await admin.session(1);
  fixture.letGo();
  t.like(await admin.result(execution), { outcome: 'completed', exit_code: 9 });
  t.deepEqual(fixture.lines(), ['ran']);
});

test('an agent with an error that nobody caught says where it is, and ends', async (t) => {
  const { fixture } = await AgentFixture.open(t, {}, FAULTY);

  fixture.agent.child.kill('SIGWINCH');

  t.deepEqual(await fixture.agent.ended(), { code: 1, signal: null });
  isToldAsBug(t, fixture.agent, 'An error that nobody caught');
});

test('an agent that says nothing by its setting says of an error that nobody caught what Node does', async (t) => {
  const { fixture } = await AgentFixture.open(t, {}, { ...FAULTY, LOG_LEVEL: 'silent' });

  fixture.agent.child.kill('SIGWINCH');

  t.deepEqual(await fixture.agent.ended(), { code: 1, signal: null });
  t.regex(fixture.agent.log, /^Error: a bug\n {4}at /u);
});

test('an agent in which something was thrown that is no error says what, and ends', async (t) => {
  const { fixture } = await AgentFixture.open(t, {}, FAULTY);

  fixture.agent.child.kill('SIGTTIN');

  t.deepEqual(await fixture.agent.ended(), { code: 1, signal: null });
  t.like(lineOf(fixture.agent, 'An error that nobody caught'), { level: 'error', error: '1n', stack: '' });
});

test('an updater with a rejection that nobody handled says where it is, and ends', async (t) => {
  const directory = temporaryDirectory(t);
  const places = { UPDATER_DIR: join(directory, 'updater'), UPDATER_AGENT_DATA_DIR: join(directory, 'agent') };
  const settings = { UPDATER_MIRRORS: 'http://127.0.0.1:1', UPDATER_ALLOW_HTTP: 'true', UPDATER_LISTEN: '127.0.0.1:0' };
  const updater = AgentProcess.start(t, { ...FAULTY, ...places, ...settings }, ['serve'], programFile('edge-updater'));
  await logged(updater, /"msg":"The updater is ready"/u);

  updater.child.kill('SIGURG');

  t.deepEqual(await updater.ended(), { code: 1, signal: null });
  isToldAsBug(t, updater, 'A rejection that nobody handled');
});
