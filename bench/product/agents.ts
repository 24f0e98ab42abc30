/** Worker: thousands of simulated agents in one process. */
import type { ExecutionId } from '../../transport/protocol/ids.ts';
import { serveQuestions } from '../method/worker.ts';
import { simulatedAgent, type Ledger, type SimulatedAgent } from './simulated-agent.ts';

/** Connections that are dialled at once. */
const DIALS_AT_ONCE = 256;

const agents: SimulatedAgent[] = [];
const welcomed = new Map<number, () => void>();
const live = new Set<number>();
const runs = new Map<ExecutionId, number>();
let confirmed = 0;
let wanted = 0;
let allConfirmed: (() => void) | undefined;

const ledger: Ledger = {
  ran: (execution) => void runs.set(execution, (runs.get(execution) ?? 0) + 1),
  confirmed: (executions) => {
    confirmed += executions;
    if (confirmed >= wanted) allConfirmed?.();
  },
  live: (index) => {
    live.add(index);
    welcomed.get(index)?.();
    welcomed.delete(index);
  },
};

async function connect(port: number, index: number): Promise<void> {
  const agent = simulatedAgent(port, index, ledger);
  agents[index] = agent;
  const welcome = new Promise<void>((resolve) => { welcomed.set(index, resolve); });
  agent.session.start();
  await welcome;
}

serveQuestions({
  /** Connects nodes 0 … nodes - 1; answers the seconds from the first dial to the last welcome. */
  connect: async ({ port, nodes, atOnce = DIALS_AT_ONCE }: { port: number; nodes: number; atOnce?: number }) => {
    const began = performance.now();
    let next = agents.length;
    const dialler = async (): Promise<void> => {
      for (let index = next; index < nodes; index = next) {
        next += 1;
        await connect(port, index);
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
  confirmed: () => confirmed >= wanted ? undefined : new Promise<void>((resolve) => { allConfirmed = resolve; }),
  /** How many are connected, how many results are confirmed, and whether an execution was started twice. */
  tally: () => ({
    live: agents.filter(({ session }) => session.isLive).length, confirmed,
    executions: runs.size, ranTwice: [...runs.values()].filter((times) => times > 1).length,
  }),
  /** Nodes from … to - 1 report themselves healthy or not. */
  report: ({ from, to, healthy }: { from: number; to: number; healthy: boolean }) => {
    for (const agent of agents.slice(from, to)) agent.report(healthy);
  },
  stop: () => {
    for (const { session } of agents) session.stop();
  },
});
