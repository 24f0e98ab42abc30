/** A terminal by node-pty whose client is slow: its program ends long before its output was read. */
import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { PassThrough, type Readable } from 'node:stream';
import { ReadStream } from 'node:tty';
import { spawn } from '@lydell/node-pty';
import test from 'ava';
import { startTerminal } from '../../../../../../agent/access/ssh/sessions/terminal.ts';
import type { Running, Start } from '../../../../../../agent/access/ssh/sessions/running.ts';
import { signalAll } from '../../../../../support/processes.ts';
import { until } from '../../../../../support/until.ts';

const OWN = { name: 'own', uid: 0, gid: 0, home: '/', shell: '/bin/sh', isOther: false };

/** A program on a terminal of which nothing is read. */
async function unread(script: string): Promise<{ readonly running: Running; readonly pid: number }> {
  let pid = 0;
  const start = {
    launch: { file: '/bin/sh', words: ['-c', script], directory: '/', environment: {}, notice: null },
    channel: new PassThrough(),
    writer: { from: (output: Readable) => output.pause(), whenEmpty: (act: () => void) => act() },
    ended: () => {},
  } as unknown as Start;
  const load = async () => ({
    spawn: (...words: Parameters<typeof spawn>) => {
      const pty = spawn(...words);
      ({ pid } = pty);
      return pty;
    },
  });
  return { running: await startTerminal(OWN, 'dumb', { columns: 80, rows: 24 }, start, load), pid };
}

/** What the process sends meanwhile, and sends not. */
async function sentBy(act: () => void | Promise<void>): Promise<string[]> {
  const kill = process.kill.bind(process);
  const sent: string[] = [];
  process.kill = (pid, signal) => {
    sent.push(`${signal} to ${pid}`);
    return true;
  };
  try {
    await act();
  } finally {
    process.kill = kill;
  }
  return sent;
}

/** Files of processes that this one holds open. */
function heldFiles(): number {
  return readdirSync('/proc/self/fd').filter((file) => {
    try {
      return /^\/proc\/\d+\/stat$/u.test(readlinkSync(`/proc/self/fd/${file}`));
    } catch {
      return false; // that of this very look
    }
  }).length;
}

test.serial(
  'once the program of a terminal has ended its number gets no signal, however late its output is read',
  async (t) => {
    const { running, pid } = await unread('echo said');
    await until('its number was given back', () => !existsSync(`/proc/${pid}`));

    const sent = await sentBy(async () => {
      running.signal('SIGKILL');
      await new Promise<void>((resolve) => {
        running.hangUp(1, resolve);
      });
    });

    t.deepEqual(sent, []);
    await t.notThrowsAsync(until('nothing of it is held', () => heldFiles() === 0));
  },
);

test.serial(
  'the program of a terminal that lives gets signals, and HUP and KILL when its client is gone',
  async (t) => {
    const { running, pid } = await unread('trap "" HUP; echo said; while :; do sleep 1000; done');

    const sent = await sentBy(async () => {
      running.signal('SIGUSR1');
      await new Promise<void>((resolve) => {
        running.hangUp(1, resolve);
      });
    });
    signalAll([-pid], 'SIGKILL');

    t.deepEqual(sent, [`SIGUSR1 to ${-pid}`, `SIGHUP to ${-pid}`, `SIGCONT to ${-pid}`, `SIGKILL to ${-pid}`]);
    await t.notThrowsAsync(until('nothing of it is held', () => heldFiles() === 0));
  },
);

test.serial('the program of a terminal that cannot be given to its account is hung up', async (t) => {
  let pid = 0;
  const load = async () => ({
    spawn: (...words: Parameters<typeof spawn>) => {
      const pty = spawn(...words);
      ({ pid } = pty);
      return Object.create(pty, { ptsName: { value: '/nowhere' } }) as typeof pty;
    },
  });
  const start = {
    launch: { file: '/bin/sh', words: ['-c', 'exec sleep 1000'], directory: '/', environment: {}, notice: null },
  } as unknown as Start;

  await t.throwsAsync(startTerminal({ ...OWN, isOther: true }, 'dumb', { columns: 80, rows: 24 }, start, load), {
    message: /nowhere/u,
  });

  await until('it is gone', () => !existsSync(`/proc/${pid}`));
  t.is(heldFiles(), 0);
});

test.serial('what node-pty does not offer is there', async (t) => {
  const pty = spawn('/bin/true', [], { encoding: null }) as unknown as Record<string, unknown>;

  t.is(typeof pty['fd'], 'number');
  t.regex(String(pty['ptsName']), /^\/dev\/pts\/\d+$/u);
  t.true(pty['_socket'] instanceof ReadStream);
  await until('it has ended', () => !existsSync(`/proc/${String(pty['pid'])}`));
});
