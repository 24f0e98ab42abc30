/**
 * The floor's agents, many in one process: bare `ws` clients that acknowledge, answer at once with 200 bytes (or run
 * the script with /bin/sh, when they are asked to), and count confirms. No journal, no validation, no timers.
 */
import { spawn } from 'node:child_process';
import { WebSocket } from 'ws';
import { serveQuestions } from '../method/worker.ts';

/** Output of every simulated execution: 200 bytes. Source: the brief of the suite (issue, "simulated agents"). */
const OUTPUT = 'x'.repeat(200);

/** Connections that are dialled at once. */
const DIALS_AT_ONCE = 256;

/** Processes at a time: more were not faster on two cores. */
const PROCESSES_AT_ONCE = 8;

let confirmed = 0;
let wanted = 0;
let allConfirmed: (() => void) | undefined;

interface Heard {
  readonly type: 'deliver' | 'confirm';
  readonly deliveries?: readonly { readonly execution: string; readonly command_text: string }[];
  readonly executions?: readonly string[];
}

async function dial(port: number, index: number, isReal: boolean): Promise<void> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/${index}`, {
    perMessageDeflate: false,
    skipUTF8Validation: true,
  });
  let seq = 0;
  socket.on('message', (data: Buffer) => {
    const frame = JSON.parse(data.toString()) as Heard;
    if (frame.type === 'confirm') return count(frame.executions?.length ?? 0);
    for (const { execution, command_text: script } of frame.deliveries ?? []) {
      socket.send(JSON.stringify({ seq: (seq += 1), type: 'acknowledge', executions: [execution] }));
      const finish = (exitCode: number, output: string): void =>
        socket.send(
          JSON.stringify({
            seq: (seq += 1),
            type: 'result',
            results: [
              { execution, outcome: 'completed', exit_code: exitCode, output, parts: 0, output_truncated: false },
            ],
          }),
        );
      if (isReal) run(script, finish);
      else finish(0, OUTPUT);
    }
  });
  await new Promise<void>((resolve, reject) => {
    socket.on('open', resolve);
    socket.on('error', reject);
  });
}

/** Scripts that wait for one of the few processes at a time. */
const waiting: (() => void)[] = [];
let running = 0;

function run(script: string, finish: (exitCode: number, output: string) => void): void {
  const start = (): void => {
    running += 1;
    let output = '';
    const child = spawn('/bin/sh', ['-c', script], { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.on('data', (piece: Buffer) => {
      output += piece.toString();
    });
    child.stderr.on('data', (piece: Buffer) => {
      output += piece.toString();
    });
    child.on('close', (code) => {
      running -= 1;
      finish(code ?? -1, output);
      waiting.shift()?.();
    });
  };
  if (running < PROCESSES_AT_ONCE) start();
  else waiting.push(start);
}

function count(more: number): void {
  confirmed += more;
  if (confirmed >= wanted) allConfirmed?.();
}

serveQuestions({
  connect: async ({ port, nodes, isReal }: { port: number; nodes: number; isReal: boolean }) => {
    const began = performance.now();
    let next = 0;
    const dialler = async (): Promise<void> => {
      for (let index = next; index < nodes; index = next) {
        next += 1;
        await dial(port, index, isReal);
      }
    };
    await Promise.all(Array.from({ length: DIALS_AT_ONCE }, dialler));
    return (performance.now() - began) / 1_000;
  },
  counts: () => ({ confirmed }),
  /** Starts counting from zero. */
  expect: (executions: number) => {
    confirmed = 0;
    wanted = executions;
  },
  /** Answers when all that was expected is confirmed. */
  confirmed: () =>
    confirmed >= wanted
      ? undefined
      : new Promise<void>((resolve) => {
          allConfirmed = resolve;
        }),
});
