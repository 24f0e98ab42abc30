/** Worker: thousands of simulated agents in one process. */
import type { ExecutionId } from '../../transport/protocol/ids.ts';
import { nowMs } from '../method/clock.ts';
import { sustain, type SustainedLoad } from '../method/sustained.ts';
import { serveQuestions } from '../method/worker.ts';
import { nodeId } from '../fleet/nodes.ts';
import { createPipelinedClient } from './pipelined-client.ts';
import { SlowScripts } from './slow-scripts.ts';
import { simulatedAgent, type Ledger, type SimulatedAgent } from './simulated-agent.ts';

/** Connections that are dialled at once. */
const DIALS_AT_ONCE = 256;

/** By the index of their node. */
const agents = new Map<number, SimulatedAgent>();
const welcomed = new Map<number, () => void>();
const live = new Set<number>();
/** Sessions of each agent since they were counted last. */
const begun = new Map<number, number>();
const runs = new Map<ExecutionId, number>();
const operations = new Map<string, () => void>();
let operation = 0;
let confirmed = 0;
let wanted = 0;
let allConfirmed: (() => void) | undefined;

const ledger: Ledger = {
  ran: (execution) => void runs.set(execution, (runs.get(execution) ?? 0) + 1),
  confirmed: (_execution, text) => {
    confirmed += 1;
    operations.get(text)?.();
    if (confirmed >= wanted) allConfirmed?.();
  },
  live: (index) => {
    live.add(index);
    begun.set(index, (begun.get(index) ?? 0) + 1);
    welcomed.get(index)?.();
    welcomed.delete(index);
  },
};

async function connect(port: number, index: number): Promise<void> {
  const agent = simulatedAgent(port, index, ledger);
  agents.set(index, agent);
  const welcome = new Promise<void>((resolve) => {
    welcomed.set(index, resolve);
  });
  agent.session.start();
  await welcome;
}

/**
 * The load of `sustained`, in this process, so that the end of an operation is seen where it happens: an operation is
 * one
 * REST POST for one node, and over when its answer is here and its result is confirmed to the agent.
 */
async function sustainCommands({
  port,
  key,
  sockets,
  ...load
}: SustainedLoad & { port: number; key: string; sockets: number }) {
  const client = createPipelinedClient(port, key, sockets);
  let refused = 0;
  const one = async (node: number): Promise<void> => {
    operation += 1;
    const text = `true #${operation}`;
    const done = new Promise<void>((resolve) => {
      operations.set(text, resolve);
    });
    const status = await client.post(
      '/api/v1/commands',
      `{"command_text":"${text}","targeting":{"type":"nodes","node_ids":["${nodeId(node)}"]}}`,
    );
    if (status === 201) await done;
    else refused += 1;
    operations.delete(text);
  };
  try {
    return { ...(await sustain(load, one)), refused };
  } finally {
    client.close();
  }
}

serveQuestions({
  sustain: sustainCommands,
  /**
   * Connects nodes `from` … nodes - 1, in turns to the admins of these ports; answers the seconds from the first dial
   * to the last welcome. More of them later begin where the last ended.
   */
  connect: async ({
    port = 0,
    ports = [port],
    nodes,
    from = 0,
    atOnce = DIALS_AT_ONCE,
  }: {
    port?: number;
    ports?: readonly number[];
    nodes: number;
    from?: number;
    atOnce?: number;
  }) => {
    const began = performance.now();
    let next = from + agents.size;
    const dialler = async (): Promise<void> => {
      for (let index = next; index < nodes; index = next) {
        next += 1;
        await connect(ports[index % ports.length] ?? port, index);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, dialler));
    return (performance.now() - began) / 1_000;
  },
  /** Starts counting confirms from zero. */
  expect: (executions: number) => {
    confirmed = 0;
    wanted = executions;
    runs.clear();
  },
  /** Answers when all that was expected is confirmed. */
  confirmed: () =>
    confirmed >= wanted
      ? undefined
      : new Promise<void>((resolve) => {
          allConfirmed = resolve;
        }),
  /** How many are connected, how many results are confirmed, and whether an execution was started twice. */
  counts: () => ({
    live: [...agents.values()].filter(({ session }) => session.isLive).length,
    confirmed,
    executions: runs.size,
    ranTwice: [...runs.values()].filter((times) => times > 1).length,
  }),
  /** Agents whose session began anew since this was asked last, and how often one's did at most. */
  reconnects: () => {
    const counts = [...begun.values()];
    begun.clear();
    return { agents: counts.length, most: Math.max(0, ...counts) };
  },
  /** Nodes from … to - 1 report the opposite of what they reported before. Answers when that began: Unix time in ms. */
  flip: ({ from, to }: { from: number; to: number }) => {
    const began = nowMs();
    for (let index = from; index < to; index += 1) agents.get(index)?.flip();
    return began;
  },
  /** When the last script that takes its time ended, in Unix ms. */
  lastEnd: () => SlowScripts.lastEndMs,
  stop: () => {
    for (const { session } of agents.values()) session.stop();
  },
});
