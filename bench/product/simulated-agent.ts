/**
 * One simulated agent: the real agent's session on a journal in memory and a runner that answers at once with 200
 * bytes.
 */
import { webSocketDial } from '../../agent/session/dial.ts';
import type {
  Finished,
  Received,
  SessionClock,
  SessionJournal,
  SessionReach,
  SessionRunner,
} from '../../agent/session/ports.ts';
import { Session } from '../../agent/session/session.ts';
import type { AgentSettings } from '../../transport/protocol/agent-settings.ts';
import type { Delivery } from '../../transport/protocol/frames.ts';
import type { HealthReport, Registration } from '../../transport/protocol/agent-description.ts';
import type { ExecutionId } from '../../transport/protocol/ids.ts';
import { NodeId } from '../../transport/protocol/ids.ts';
import { SlowScripts } from './slow-scripts.ts';
import { nodeId, nodeToken } from '../fleet/nodes.ts';

/** Output of every simulated execution: 200 bytes, as the floor's agents have it. */
const OUTPUT = 'x'.repeat(200);

const ENDED: Finished = { outcome: 'completed', exitCode: 0, outputTruncated: false, outputBytes: OUTPUT.length };

/** What every agent of the bench says of itself. */
export const REGISTRATION: Registration = {
  version: '1.0.0',
  id_type: 'persistent',
  self_update_enabled: false,
  ports: {
    http_port: 44_000,
    ssh_port: 40_022,
    host_metrics_port: 49_100,
    wireguard_metrics_port: 49_586,
    http_proxy_port: 43_128,
    socks5_proxy_port: 41_080,
  },
};

const HEALTHY: HealthReport = { services: [{ name: 'runner', healthy: true, detail: null }] };

const UNHEALTHY: HealthReport = { services: [{ name: 'runner', healthy: false, detail: null }] };

/** What happens in a pool of simulated agents. */
export interface Ledger {
  /** An execution was started. */
  ran(execution: ExecutionId): void;
  /** The admin has confirmed its result, and the journal forgot it. `text` is the script. */
  confirmed(execution: ExecutionId, text: string): void;
  /** A session is live, for the first time or again. */
  live(index: number): void;
}

/** A session, and the health that it reports. */
export interface SimulatedAgent {
  readonly session: Session;
  /** Turns what the agent says of its health into the opposite, and says it. */
  flip(): void;
}

const quiet = {
  debug() {},
  info() {},
  warn() {},
  error: (_fields: object, message: string) => {
    console.error(message);
  },
};

/** The machine's clock. */
export const systemClock: SessionClock = {
  nowMs: () => performance.now(),
  after: (ms, act) => {
    const timer = setTimeout(act, ms);
    return () => clearTimeout(timer);
  },
};

/** Agent of node `index`; it dials when its session is started. Without `reach` nobody gets into it. */
export function simulatedAgent(port: number, index: number, ledger: Ledger, reach?: SessionReach): SimulatedAgent {
  const journal = new MemoryJournal(ledger);
  const slow = new SlowScripts(OUTPUT);
  let report = HEALTHY;
  let adminUrls: readonly string[] = [`http://127.0.0.1:${port}`];
  const runner: SessionRunner = {
    receive(deliveries) {
      for (const { execution, command_text: text } of deliveries) slow.received(execution, text);
      return journal.receive(deliveries);
    },
    run(executions) {
      const ended = (execution: ExecutionId): void => journal.finish(execution, ENDED, OUTPUT);
      const quick = executions.filter((execution) => {
        ledger.ran(execution);
        return !slow.run(execution, () => {
          ended(execution);
          session.finished([execution]);
        });
      });
      for (const execution of quick) ended(execution);
      if (quick.length > 0) session.finished(quick);
    },
    cancel: () => undefined, // finished before a cancel can come
    settle(executions) {
      for (const execution of executions) slow.settled(execution);
      journal.forget(executions);
    },
    tail: (execution, from, wake) => slow.tail(execution, from, wake),
  };
  const session: Session = new Session(
    {
      node: NodeId.parse(nodeId(index)),
      token: nodeToken(index),
      registration: REGISTRATION,
      adminUrls: () => adminUrls,
      listedCount: () => adminUrls.length,
      onLive: () => ledger.live(index),
      onSettings: (settings: AgentSettings) => {
        if (settings.admin_urls.length > 0) adminUrls = settings.admin_urls;
      },
    },
    {
      journal,
      runner,
      ...(reach && { reach }),
      report: () => report,
      dial: webSocketDial(),
      clock: systemClock,
      random: Math.random,
      log: quiet,
    },
  );
  return {
    session,
    flip: () => {
      report = report === HEALTHY ? UNHEALTHY : HEALTHY;
      session.reportNow();
    },
  };
}

/** A journal without a disk: what the real one keeps, in memory. */
export class MemoryJournal implements SessionJournal {
  readonly #ledger: Ledger;
  readonly #held = new Map<ExecutionId, { readonly text: string; ended: Finished | null; output: string }>();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  holding(): readonly ExecutionId[] {
    return [...this.#held.keys()];
  }

  receive(deliveries: readonly Delivery[]): Received {
    const fresh = deliveries.filter(({ execution }) => !this.#held.has(execution));
    for (const { execution, command_text: text } of fresh) this.#held.set(execution, { text, ended: null, output: '' });
    return {
      acknowledged: deliveries.map(({ execution }) => execution),
      fresh: fresh.map(({ execution }) => execution),
    };
  }

  recall(executions: readonly ExecutionId[]): readonly ExecutionId[] {
    const lost = executions.filter((execution) => !this.#held.has(execution));
    for (const execution of lost)
      this.#held.set(execution, {
        text: '',
        ended: { outcome: 'cancelled', exitCode: 137, outputTruncated: false, outputBytes: 0 },
        output: '',
      });
    return lost;
  }

  finished(): readonly ExecutionId[] {
    return [...this.#held].filter(([, held]) => held.ended !== null).map(([execution]) => execution);
  }

  result(execution: ExecutionId): Finished | null {
    return this.#held.get(execution)?.ended ?? null;
  }

  output(execution: ExecutionId, offset: number): { readonly text: string; readonly next: number } | null {
    const held = this.#held.get(execution);
    return held?.ended ? { text: held.output.slice(offset), next: held.output.length } : null;
  }

  forget(executions: readonly ExecutionId[]): void {
    for (const execution of executions) {
      const held = this.#held.get(execution);
      if (held && this.#held.delete(execution)) this.#ledger.confirmed(execution, held.text);
    }
  }

  heal(): boolean {
    return true;
  }

  finish(execution: ExecutionId, ended: Finished, output: string): void {
    const held = this.#held.get(execution);
    if (held) Object.assign(held, { ended, output });
  }
}
