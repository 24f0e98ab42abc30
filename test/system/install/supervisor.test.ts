/** The supervisor of machines without systemd, which is told to end in any moment. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { ROOT } from '../../support/source/source-text.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

/** `edge-agentctl` in a directory of its own, with programs that go before those of the machine. */
function controlled(t: ExecutionContext, programs: Readonly<Record<string, string>>) {
  const place = temporaryDirectory(t);
  const control = readFileSync(join(ROOT, 'deploy/install/edge-agentctl.sh'), 'utf8')
    .replaceAll(/@[A-Z]+@/gu, place)
    .replace(/^AGAIN_S=.*$/mu, 'AGAIN_S=0')
    .replace(/^STOP_S_MAX=.*$/mu, 'STOP_S_MAX=1');
  mkdirSync(join(place, 'bin'));
  writeFileSync(join(place, 'edge-agentctl'), control);
  for (const [name, script] of Object.entries(programs))
    writeFileSync(join(place, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  writeFileSync(join(place, 'agent.log'), '');
  const env = { PATH: `${place}/bin:${process.env['PATH']}` };
  const begin = (file: string, ...args: readonly string[]): ChildProcess => {
    const child = spawn(file, args, { cwd: place, env, stdio: 'ignore' });
    t.teardown(() => child.kill('SIGKILL'));
    return child;
  };
  return { place, env, begin, has: (name: string) => existsSync(join(place, name)) };
}

test('a supervisor that is told to end as it starts the agent anew leaves none running', async (t) => {
  const { place, begin, has } = controlled(t, {
    launch: '[ -e first ] || { : >first; exit 1; }\n: >second; exec sleep 1000',
    // the third one is asked right before the second start
    'bin/date': 'echo >>dates; [ "$(wc -l <dates)" -ne 3 ] || { : >asked; read -r _ <go; }\necho 1000',
  });
  spawnSync('mkfifo', [join(place, 'go')]);
  const supervisor = begin('sh', 'edge-agentctl', 'supervise', 'agent');
  const end = once(supervisor, 'exit');
  await until('the moment before the second start', () => has('asked'));

  supervisor.kill('SIGTERM');
  writeFileSync(join(place, 'go'), '\n');
  await until('its end, or another start', () => supervisor.exitCode !== null || has('second'));

  t.false(has('second'));
  t.deepEqual(await end, [0, null]);
  t.false(has('agent.pid'));
});

test('a supervisor whose agent ended for good ends in order where it cannot note that, and leaves nothing behind', async (t) => {
  const { place, begin } = controlled(t, {
    launch: 'until [ -s sleeper ]; do /bin/sleep 0.01; done; exit 3',
    'bin/sleep': 'echo $$ >new; mv new sleeper; exec /bin/sleep "$@"',
  });
  mkdirSync(join(place, 'agent.final')); // as a disk that takes nothing
  const supervisor = begin('sh', 'edge-agentctl', 'supervise', 'agent');

  t.deepEqual(await once(supervisor, 'exit'), [0, null]);

  const sleeper = readFileSync(join(place, 'sleeper'), 'utf8').trim();
  await until('the end of what looks after its log', () => spawnSync('kill', ['-0', sleeper]).status !== 0);
});

test('an agent that was started while its supervisor was told to stop is ended with it', async (t) => {
  const { place, env, begin, has } = controlled(t, {
    // what waits for the end of the supervisor sees another agent
    'bin/sleep': 'cp next agent.child; exec /bin/sleep "$@"',
  });
  spawnSync('mkfifo', [join(place, 'never')]);
  const deaf = begin('sh', '-c', 'trap "" TERM; : >deaf; read -r _ <never', 'sh', 'supervise', 'agent', '');
  const agent = begin('/bin/sleep', '1000');
  await until('a supervisor that does not listen', () => has('deaf'));
  writeFileSync(join(place, 'agent.pid'), `${deaf.pid}\n`);
  writeFileSync(join(place, 'next'), `${agent.pid}\n`);

  const ends = Promise.all([once(agent, 'exit'), once(deaf, 'exit')]);
  spawnSync('sh', ['edge-agentctl', 'stop', 'agent'], { cwd: place, env });

  agent.kill('SIGTERM'); // of no effect on one that is dead: else its end says that nobody had ended it
  t.deepEqual(await ends, [
    [null, 'SIGKILL'],
    [null, 'SIGKILL'],
  ]);
});
