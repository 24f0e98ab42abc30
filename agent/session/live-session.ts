/**
 * A session between its welcome and its end: frames of the admin reach the journal, the runner and the ways in, and
 * what happens here becomes frames.
 */
import type { HealthReport } from '../../transport/protocol/agent-description.ts';
import type { AdminFrame, AgentFrameBody } from '../../transport/protocol/frames.ts';
import type { ExecutionId } from '../../transport/protocol/ids.ts';
import type { SshCredential } from '../../transport/protocol/ssh.ts';
import {
  PROTOCOL_VERSION_FACTS,
  PROTOCOL_VERSION_GREET,
  PROTOCOL_VERSION_VPN,
  PROTOCOL_VERSION_REACH,
  PROTOCOL_VERSION_TRACES,
  PROTOCOL_VERSION_UPDATES,
} from '../../transport/protocol/version.ts';
import type { AgentNews, SessionPorts } from './ports.ts';
import { arrived, recalled, type DeliveryPorts } from './deliveries.ts';
import { Asking, type LookUpAllowance } from './still-open.ts';
import { ResultSender } from './result-sender.ts';
import { isFollowed, isSameAdmin } from './session-options.ts';
import { TailSender } from './tail-sender.ts';

/** Frames that are about what a session carries; the others are about the session. */
export type CarriedFrame = Exclude<AdminFrame, { type: 'welcome' | 'settings' | 'greet' }>;

/** What came of updates is told again after this, in ms, until an admin has stored it: its database may be away. */
export const OUTCOMES_AGAIN_MS = 300_000;

/** The connection, and what was agreed on it. */
export interface LiveOptions {
  /** Of the admin. */
  readonly url: string;
  readonly protocol: number;
  /** When `hello` was sent, on a clock that runs while the machine is suspended. */
  readonly helloMs: number;
  readonly aliveMs: () => number;
  /** Of this agent, over all of its sessions. */
  readonly allowance: LookUpAllowance;
  readonly send: (body: AgentFrameBody) => void;
  /** Whether the socket takes more now. */
  readonly isRoomy: () => boolean;
  /** Admins confirmed so many results, which are forgotten. */
  readonly confirmed: (results: number) => void;
}

/** Made anew at each welcome; allocates nothing for results and tails until there are some. */
export class LiveSession {
  readonly #options: LiveOptions;
  readonly #ports: SessionPorts;
  readonly #asking: Asking;
  #hasRefused = false;
  /** The last report, as text. */
  #reported: string | null = null;
  #results: ResultSender | null = null;
  #tails: TailSender | null = null;
  /** When what came of updates is told again, on the session's clock. */
  #outcomesDueMs = 0;

  constructor(ports: SessionPorts, options: LiveOptions) {
    this.#ports = ports;
    this.#options = options;
    this.#asking = new Asking(ports.runner, options);
  }

  /** After the welcome: what the admin is to know. Results come late: what is said where there is room goes before. */
  begin(): void {
    this.askOpen();
    this.#tellOutcomes();
    const finished = this.#ports.journal.finished();
    if (finished.length > 0) this.finished(finished);
    const grants = this.#ports.reach?.grants() ?? [];
    if (grants.length > 0 && this.#options.protocol >= PROTOCOL_VERSION_REACH) {
      this.#options.allowance.namedLogins(grants.length, this.#options.aliveMs());
      this.#options.send({ type: 'ssh-grants', grants: [...grants] });
    }
    this.#tellUnanswered(null);
  }

  /** What the admin says. */
  hear(frame: CarriedFrame): void {
    const { runner, reach, vpn, updates } = this.#ports;
    switch (frame.type) {
      case 'deliver':
        this.#asking.arriving();
        return arrived(this.#deliveryPorts(), frame.deliveries);
      case 'recall':
        return recalled(this.#deliveryPorts(), frame.executions);
      case 'confirm':
        return this.#confirmed(frame.executions);
      case 'part-stored':
        return this.#results?.partStored(frame.execution, frame.part);
      case 'settle':
        this.#results?.drop(frame.executions);
        return runner.settle(frame.executions);
      case 'cancel':
        return runner.cancel(frame.executions);
      case 'tail':
        this.#tails ??= new TailSender(runner, this.#options.send, this.#options.isRoomy);
        return this.#tails.open(frame.execution, frame.offset);
      case 'untail':
        return this.#tails?.close(frame.execution);
      case 'open-tunnel':
        return this.#tunnelWanted(frame);
      case 'ssh-verdict':
        return reach?.verdict(frame.attempt, frame.verdict);
      case 'end-ssh':
        return reach?.endSsh(frame.ssh_username_ids, frame.ssh_public_key_ids);
      case 'mesh-network':
      case 'mesh-changed':
      case 'mesh-refused':
      case 'mesh-observed':
      case 'mesh-try':
      case 'netmaker-join':
        return vpn?.told(frame);
      case 'ssh-unanswered-stored':
        return this.#tellUnanswered(frame.ids);
      case 'update':
        return updates?.asked(frame.request);
      case 'update-outcome-stored':
        return updates?.outcomeStored(frame.request);
      case 'pong':
        return this.#asking.ponged();
      case 'still-open':
        return this.#asking.answered(frame);
      default:
        throw new Error(`no such frame: ${JSON.stringify(frame satisfies never).slice(0, 100)}`);
    }
  }

  /** These are finished in the journal: their results go out. */
  finished(executions: readonly ExecutionId[]): void {
    this.#results ??= new ResultSender(
      this.#ports.journal,
      this.#options.send,
      this.#options.isRoomy,
      this.#options.protocol >= PROTOCOL_VERSION_TRACES,
    );
    this.#results.add(executions);
  }

  /** Asks the admin about what waits to be asked about. */
  askOpen(): void {
    this.#asking.ask();
  }

  /** Asks the admin about a login. False: it cannot be asked now. */
  verifySsh(attempt: number, username: string, credential: SshCredential): boolean {
    if (this.#options.protocol < PROTOCOL_VERSION_REACH || !this.#options.isRoomy()) return false;
    this.#options.send({ type: 'verify-ssh', attempt, username, credential });
    return true;
  }

  /** Says something of this machine. False: this admin knows nothing of the kind, or does not hear it now. */
  say(news: AgentNews): boolean {
    if (this.#options.protocol < versionOf(news.type)) return false;
    if (!this.#options.isRoomy()) {
      if (news.type === 'update-outcome') this.#outcomesDueMs = 0;
      return false;
    }
    this.#options.send(news);
    return true;
  }

  reportNow(): void {
    this.#report(this.#ports.report());
  }

  /**
   * The regular sign of life, with a report where one is due or something in it changed. False: what was refused comes
   * again with the next hello, and there is room for it now.
   */
  pulse(isReportDue: boolean): boolean {
    const canStore = this.#ports.journal.heal();
    if (canStore && this.#hasRefused) return false;
    this.#options.send({ type: 'ping' });
    this.#asking.pinging();
    const report = this.#ports.report();
    if (isReportDue || JSON.stringify(report) !== this.#reported) this.#report(report);
    this.#tellUnanswered([]);
    if (this.#ports.clock.nowMs() >= this.#outcomesDueMs) this.#tellOutcomes();
    return true;
  }

  #report(report: HealthReport): void {
    this.#reported = JSON.stringify(report);
    this.#options.send({ type: 'report', report });
  }

  /** The socket takes more again. */
  pump(): void {
    this.#results?.pump();
    this.#tails?.pump();
  }

  /** Nothing of it goes out any more. */
  end(): void {
    this.#tails?.closeAll();
  }

  #deliveryPorts(): DeliveryPorts {
    const { journal, runner } = this.#ports;
    return {
      journal,
      runner,
      refused: () => {
        this.#hasRefused = true;
        this.reportNow();
      },
      send: this.#options.send,
      finished: (executions) => this.finished(executions),
    };
  }

  #confirmed(executions: readonly ExecutionId[]): void {
    // Only what was sent on this connection: a confirm answers a result, nothing else ends the journal's duty to keep
    // it.
    const stored = this.#results?.confirmed(executions) ?? [];
    if (stored.length === 0) return;
    this.#ports.journal.forget(stored);
    this.#options.confirmed(stored.length);
  }

  /**
   * The admin of this session passes on what is meant for another one, which may not be reached from here. Like a
   * redirect, that one is not followed from https to http.
   */
  #tunnelWanted({ admin_url: named, token, mesh_url: vpnUrl, http2 }: AdminFrame & { type: 'open-tunnel' }): void {
    const { url } = this.#options;
    const isApart = named !== undefined && !isSameAdmin(named, url) && isFollowed(url, named);
    this.#ports.reach?.openTunnel(isApart ? [named, url] : [url], token, { vpnUrl, isHttp2: http2 === true });
  }

  #tellOutcomes(): void {
    this.#outcomesDueMs = this.#ports.clock.nowMs() + OUTCOMES_AGAIN_MS;
    for (const outcome of this.#ports.updates?.outcomes() ?? []) this.say({ type: 'update-outcome', ...outcome });
  }

  #tellUnanswered(stored: readonly string[] | null): void {
    const logins = this.#options.protocol < PROTOCOL_VERSION_GREET ? [] : (this.#ports.reach?.unanswered(stored) ?? []);
    if (logins.length > 0) this.#options.send({ type: 'ssh-unanswered', logins: [...logins] });
  }
}

/** From which version on admins know what to do with it. */
function versionOf(type: AgentNews['type']): number {
  if (type === 'facts-changed') return PROTOCOL_VERSION_FACTS;
  return type === 'update-answer' || type === 'update-outcome' ? PROTOCOL_VERSION_UPDATES : PROTOCOL_VERSION_VPN;
}
