/**
 * Worker: agents with the real session, the real journal on disk and the real runner with its processes, several in one
 * process.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { webSocketDial } from '../../agent/session/dial.ts';
import { Executor } from '../../agent/execution/executor.ts';
import { scriptEnvironment } from '../../agent/execution/exec-shim/exec-shims.ts';
import { Ledger } from '../../agent/execution/ledger/ledger.ts';
import { openJournal } from '../../agent/execution/journal/open-journal.ts';
import { Session } from '../../agent/session/session.ts';
import { machineTimeline } from '../../agent/execution/timeline.ts';
import { NodeId } from '../../transport/protocol/ids.ts';
import { BENCH_DIR } from '../fleet/database.ts';
import { nodeId, nodeToken } from '../fleet/nodes.ts';
import { serveQuestions } from '../method/worker.ts';
import { REGISTRATION, systemClock } from './simulated-agent.ts';

/** As the program's defaults have it. */
const CONCURRENCY = 10;
const OUTPUT_BYTES_MAX = 1_048_576;

const log = {
  debug() {},
  info() {},
  warn() {},
  error: (_fields: object, message: string) => {
    console.error(message);
  },
};
const directory = mkdtempSync(join(BENCH_DIR, 'agents-'));
let confirmed = 0;
let wanted = 0;
let allConfirmed: (() => void) | undefined;

process.once('exit', () => rmSync(directory, { recursive: true, force: true }));

function connect(port: number, index: number): Promise<void> {
  const journal = openJournal(
    join(directory, `${index}.journal`),
    machineTimeline(),
    log,
    new Ledger(join(directory, `${index}.ledger`), log),
  );
  const executor = new Executor({
    journal,
    timeline: machineTimeline(),
    log,
    directory: join(directory, `${index}.keepers`),
    concurrency: CONCURRENCY,
    outputBytesMax: OUTPUT_BYTES_MAX,
    environment: scriptEnvironment(nodeId(index), process.env),
    onFinished: (executions) => session.finished(executions),
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  const session: Session = new Session(
    {
      node: NodeId.parse(nodeId(index)),
      token: nodeToken(index),
      registration: REGISTRATION,
      adminUrls: () => [`http://127.0.0.1:${port}`],
      listedCount: () => 1,
      onLive: () => resolve(),
      onConfirmed: () => {
        confirmed += 1;
        if (confirmed >= wanted) allConfirmed?.();
      },
    },
    {
      journal,
      runner: executor,
      report: () => ({ services: [] }),
      dial: webSocketDial(),
      clock: systemClock,
      random: Math.random,
      log,
    },
  );
  executor.recover();
  session.start();
  return promise;
}

serveQuestions({
  connect: async ({ port, nodes }: { port: number; nodes: number }) => {
    await Promise.all(Array.from({ length: nodes }, (_, index) => connect(port, index)));
  },
  expect: (executions: number) => {
    confirmed = 0;
    wanted = executions;
  },
  confirmed: () =>
    confirmed >= wanted
      ? undefined
      : new Promise<void>((resolve) => {
          allConfirmed = resolve;
        }),
});
