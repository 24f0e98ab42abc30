/**
 * Services that were stopped: how the updater learns, where systemd does not start the agent for all users, that
 * somebody stopped it, and what the script stopped itself.
 */
import { hangAfter } from '../../support/busy.ts';
import { startMachine, type Machine } from '../../support/installing/machine.ts';
import { startMirror } from '../../support/installing/mirror.ts';
import { peerTest } from '../../support/run/peer-test.ts';
import { until } from '../../support/until.ts';
import { WITH_KEY } from './refusal-cases.ts';

const test = await peerTest('root', 'debian-root');

const CONTROL = '/usr/lib/edge/edge-agentctl';
const LAUNCH = '/usr/lib/edge/launch';

/** Programs that are there already, so that none is fetched. */
function layOut(machine: Machine, directory: string): void {
  machine.write(`${directory}/current/runtime/node`, '#!/bin/sh\n', 0o755);
  machine.write(`${directory}/current/edge-agent.cjs`, '');
}

/** The setting by which an updater asks, as the installation wrote it. */
function stateCommand(machine: Machine, path = '/etc/edge-agent/updater.env'): string {
  return /^UPDATER_STATE_COMMAND='(?<command>.*)'$/mu.exec(machine.read(path))?.groups?.['command'] ?? 'none is set';
}

test('an agent that somebody stopped is told from one that was killed, and from one that gave up', async (t) => {
  t.timeout(hangAfter(60_000));
  const machine = await startMachine(t);
  const { script } = await startMirror(t);
  layOut(machine, '/var/lib/edge-updater');
  await machine.run(`sh -s -- ${WITH_KEY} --init none --no-start`, { stdin: script });
  const command = stateCommand(machine);
  const state = async () => (await machine.run(command)).stdout.trim();
  machine.write(LAUNCH, '#!/bin/sh\nexec sleep infinity\n', 0o755);
  const states: [string, string][] = [['never started', await state()]];

  await machine.run(`${CONTROL} start agent`);
  states.push(['started', await state()]);
  await machine.run('kill -9 $(cat /run/edge/agent.pid) $(cat /run/edge/agent.child)');
  await until('the end of its supervisor', async () => (await state()) !== 'active');
  states.push(['killed', await state()]);
  await machine.run(`${CONTROL} restart agent`);
  states.push(['restarted', await state()]);
  await machine.run(`${CONTROL} stop agent`);
  states.push(['stopped', await state()]);
  machine.write(LAUNCH, '#!/bin/sh\nexit 3\n', 0o755);
  await machine.run(`${CONTROL} start agent`);
  await until('the end of its supervisor', async () => (await state()) !== 'active');
  states.push(['gave up', await state()]);
  machine.write(LAUNCH, '#!/bin/sh\nexec sleep infinity\n', 0o755);
  await machine.run(`${CONTROL} start agent`);
  states.push(['started after that', await state()]);
  await machine.run(`${CONTROL} stop agent`);
  states.push(['stopped after that', await state()]);
  machine.write(LAUNCH, '#!/bin/sh\nexit 3\n', 0o755);
  await machine.run(`${CONTROL} start agent`);
  await until('the end of its supervisor', async () => (await state()) !== 'active');
  await machine.run(`rm ${CONTROL}`);
  await machine.run('sh -s -- --uninstall', { stdin: script });

  t.deepEqual(states, [
    ['never started', 'inactive'],
    ['started', 'active'],
    ['killed', 'abandoned'],
    ['restarted', 'active'],
    ['stopped', 'inactive'],
    ['gave up', 'failed'],
    ['started after that', 'active'],
    ['stopped after that', 'inactive'],
  ]);
  t.is((await machine.run('ls -d /run/edge')).stdout, '');
});

test('where systemd starts the agent of one user, that is asked', async (t) => {
  const machine = await startMachine(t);
  const { script } = await startMirror(t);
  machine.write('/opt/fakes/systemctl', '#!/bin/sh\necho "$@"\n', 0o755);
  const ada = { uid: 1_000, env: { HOME: '/home/ada', PATH: '/opt/fakes:/usr/bin:/bin' } };
  layOut(machine, '/home/ada/.local/share/edge-updater');
  await machine.run('chown -R 1000:1000 /home/ada');
  await machine.run(`sh -s -- ${WITH_KEY} --user --init systemd --no-start`, { ...ada, stdin: script });

  const { stdout } = await machine.run(stateCommand(machine, '/home/ada/.config/edge-agent/updater.env'), ada);

  t.is(stdout, '--user is-active edge-agent.service\n');
});

test('a machine that no admin lets leave goes on as before: what ran runs again, and what starts at boot still does', async (t) => {
  t.timeout(hangAfter(60_000));
  const { script } = await startMirror(t);
  const leave = 'sh -s -- --uninstall --purge --leave';
  const plain = await startMachine(t);
  const systemd = await startMachine(t);
  systemd.write('/usr/local/bin/systemctl', '#!/bin/sh\necho "$@" >>/root/asked\necho active\n', 0o755);
  for (const [machine, init] of [[plain, 'none'] as const, [systemd, 'systemd'] as const]) {
    layOut(machine, '/var/lib/edge-updater');
    await machine.run(`sh -s -- ${WITH_KEY} --init ${init} --no-start`, { stdin: script });
    machine.write(LAUNCH, '#!/bin/sh\nexec sleep infinity\n', 0o755);
    machine.write('/usr/lib/edge/edge-agent', '#!/bin/sh\necho "edge-agent: no admin answers" >&2\nexit 1\n', 0o755);
  }
  await plain.run(`${CONTROL} start agent`);
  await plain.run(`${CONTROL} start updater`);
  systemd.write('/root/asked', '');

  const said = [await plain.run(leave, { stdin: script }), await systemd.run(leave, { stdin: script })];

  const states = await plain.run(`${CONTROL} is-active agent; ${CONTROL} is-active updater`);
  t.deepEqual(
    said.map(({ status, stderr }) => [
      status,
      stderr.includes('The machine did not leave: edge-agent: no admin answers'),
    ]),
    [
      [1, true],
      [1, true],
    ],
  );
  t.is(states.stdout, 'active\nactive\n');
  t.deepEqual(systemd.read('/root/asked').split('\n'), [
    'is-active edge-updater.service',
    'stop edge-updater.service',
    'is-active edge-agent.service',
    'stop edge-agent.service',
    'start edge-agent.service',
    'start edge-updater.service',
    '',
  ]);
});

test('a service that was stopped before stays so where the machine may not leave', async (t) => {
  t.timeout(hangAfter(60_000));
  const machine = await startMachine(t);
  const { script } = await startMirror(t);
  layOut(machine, '/var/lib/edge-updater');
  await machine.run(`sh -s -- ${WITH_KEY} --init none --no-start`, { stdin: script });
  machine.write('/usr/lib/edge/edge-agent', '#!/bin/sh\nexit 1\n', 0o755);

  const { stderr } = await machine.run('sh -s -- --uninstall --purge --leave', { stdin: script });

  const states = await machine.run(`${CONTROL} is-active agent; ${CONTROL} is-active updater`);
  t.regex(stderr, /The machine did not leave/u);
  t.is(states.stdout, 'inactive\ninactive\n');
});
