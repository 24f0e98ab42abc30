/**
 * The floor's agents, many in one process: bare `ws` clients that acknowledge, answer at once with 200 bytes, and count
 * confirms. No journal, no validation, no timers.
 */
import { WebSocket } from 'ws';
import { sourceAddress } from '../fleet/addresses.ts';
import { serveQuestions } from '../method/worker.ts';

/** Output of every simulated execution: 200 bytes. Source: the brief of the suite (issue, "simulated agents"). */
const OUTPUT = 'x'.repeat(200);

/** Connections that are dialled at once. */
const DIALS_AT_ONCE = 256;

let confirmed = 0;
let wanted = 0;
let allConfirmed: (() => void) | undefined;

interface Heard {
  readonly type: 'deliver' | 'confirm';
  readonly deliveries?: readonly { readonly execution: string }[];
  readonly executions?: readonly string[];
}

async function dial(port: number, index: number): Promise<void> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/${index}`, { perMessageDeflate: false, skipUTF8Validation: true, localAddress: sourceAddress(index) });
  let seq = 0;
  socket.on('message', (data: Buffer) => {
    const frame = JSON.parse(data.toString()) as Heard;
    if (frame.type === 'confirm') return count(frame.executions?.length ?? 0);
    for (const { execution } of frame.deliveries ?? []) {
      socket.send(JSON.stringify({ seq: seq += 1, type: 'acknowledge', executions: [execution] }));
      socket.send(JSON.stringify({ seq: seq += 1, type: 'result', results: [{ execution, outcome: 'completed', exit_code: 0, output: OUTPUT, parts: 0, output_truncated: false }] }));
    }
  });
  await new Promise<void>((resolve, reject) => {
    socket.on('open', resolve);
    socket.on('error', reject);
  });
}

function count(more: number): void {
  confirmed += more;
  if (confirmed >= wanted) allConfirmed?.();
}

serveQuestions({
  connect: async ({ port, nodes }: { port: number; nodes: number }) => {
    const began = performance.now();
    let next = 0;
    const dialler = async (): Promise<void> => {
      for (let index = next; index < nodes; index = next) {
        next += 1;
        await dial(port, index);
      }
    };
    await Promise.all(Array.from({ length: DIALS_AT_ONCE }, dialler));
    return (performance.now() - began) / 1_000;
  },
  tally: () => ({ confirmed }),
  /** Starts counting from zero. */
  expect: (executions: number) => {
    confirmed = 0;
    wanted = executions;
  },
  /** Answers when all that was expected is confirmed. */
  confirmed: () => confirmed >= wanted ? undefined : new Promise<void>((resolve) => { allConfirmed = resolve; }),
});
