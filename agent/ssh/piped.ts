/** Programs without a terminal: three streams, each with its own end. */
import { spawn } from 'node:child_process';
import { groupsOf, hangUp, send } from './hang-up.ts';
import { sendEnd } from './library.ts';
import type { Connection } from 'ssh2';
import { systemProblem } from '../problem.ts';
import type { Running, Start } from './running.ts';

/** Exit status of a program that ended by a signal which SSH has no name for: as shells say it. */
const SIGNALLED_STATUS = 128;

/** Starts it in a process group of its own. Never throws. */
export function startPiped(client: Connection, start: Start): Running {
  const { launch, channel, outlet, ended, failed } = start;
  const child = spawn(launch.file, launch.words, { cwd: launch.directory, env: launch.environment, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
  const { pid, stdin, stdout, stderr } = child;
  let isOver = pid === undefined;
  let isHungUp = false;
  child.on('error', (error) => { if (pid === undefined) failed(systemProblem(error)); });
  for (const stream of [stdin, stdout, stderr]) stream.on('error', () => {}); // EPIPE and the like: its end says enough

  channel.pipe(stdin);
  stdin.on('close', () => { channel.resume(); }); // what nobody reads must not keep the client from going on
  outlet.from(stdout, 'out');
  outlet.from(stderr, 'error');
  let open = 2;
  for (const stream of [stdout, stderr]) stream.on('end', () => { if (--open === 0 && !isHungUp) outlet.whenEmpty(() => sendEnd(client, channel)); });
  child.on('close', (code, signal) => {
    isOver = true;
    if (pid !== undefined && !isHungUp) outlet.whenEmpty(() => ended(code ?? SIGNALLED_STATUS, signal));
  });

  return {
    signal: (name) => { if (!isOver && pid !== undefined) send(pid, name); },
    resize: () => {},
    hangUp(ms, over) {
      if (isOver || pid === undefined) return over();
      isHungUp = true;
      for (const stream of [stdin, stdout, stderr]) stream.destroy();
      hangUp(groupsOf(pid), ms, over);
    },
  };
}
