/**
 * Diagnoses of nodes: what this admin sees of the way to them, and then what their agents say of their machines, live
 * or as they said it last.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { ok, refuse, type Result } from '../../actors/refusal.ts';
import type { NodeDiagnosisResource } from '../../actors/resources/node-diagnosis.ts';
import type { NodeDiagnoses } from '../../api/node-ports.ts';
import { AGENT_DIAGNOSTICS_PATH } from '../protocol/agent-api.ts';
import { DIAGNOSIS_BYTES_MAX, overallOf } from '../protocol/diagnosis.ts';
import type { DiagnosisCheck } from '../protocol/diagnosis.ts';
import type { NodeId } from '../protocol/ids.ts';
import type { AgentAnswer } from '../tunnels/agent-requests.ts';
import { DIAGNOSES_MAX, DIAGNOSIS_MS_MAX, REPORT_MS_MAX, STORE_MS_MAX } from './limits.ts';
import type { DiagnosisPorts, NodeStanding } from './ports.ts';
import { cleaned, readReport, reportOf } from './reading.ts';
import { lookFromHere, reportCheck, versionCheck } from './admin-checks.ts';

/** Diagnoses through this admin. */
export class Diagnoses implements NodeDiagnoses {
  readonly #ports: DiagnosisPorts;
  readonly #underWay = new Map<NodeId, Promise<Result<NodeDiagnosisResource>>>();

  constructor(ports: DiagnosisPorts) {
    this.#ports = ports;
  }

  get(node: NodeId): Promise<Result<NodeDiagnosisResource>> {
    const running = this.#underWay.get(node);
    if (running !== undefined) return running;
    if (this.#underWay.size >= DIAGNOSES_MAX)
      return Promise.resolve(refuse('service_unavailable', 'Too many nodes are being diagnosed: try again shortly.'));
    const started = this.#diagnose(node).finally(() => this.#underWay.delete(node));
    this.#underWay.set(node, started);
    return started;
  }

  async take(node: NodeId, body: unknown): Promise<Result<null>> {
    const { rows, clock } = this.#ports;
    const ranges = await rows.ranges(node);
    if (ranges === null) return refuse('not_found', 'Resource not found');
    const read = reportOf(body, ranges);
    if (!read.ok) return refuse('validation_failed', 'Validation failed', { body: [read.problem] });
    await rows.store(node, read.checks, clock.nowMs());
    return ok(null);
  }

  async #diagnose(node: NodeId): Promise<Result<NodeDiagnosisResource>> {
    const endMs = performance.now() + DIAGNOSIS_MS_MAX;
    const standing = await this.#ports.rows.standing(node);
    if (standing === null) return refuse('not_found', 'Resource not found');
    const { checks: way, isReached } = await lookFromHere(this.#ports, node, standing);
    const told = await this.#report(
      node,
      standing,
      isReached ? Math.max(1, Math.min(REPORT_MS_MAX, endMs - performance.now())) : null,
    );
    const seen = cleaned([...way, told.check], standing.ranges); // failures are told in the words of the machine
    const checks = [...seen, ...told.checks, versionCheck(standing.version, this.#ports.version)];
    return ok({
      overall: overallOf(checks),
      collected_at: new Date(told.collectedAtMs).toISOString(),
      is_live: told.isLive,
      checks,
    });
  }

  /** What the agent says within this time; else, and where it cannot be asked (null), what it said last. */
  async #report(node: NodeId, standing: NodeStanding, msMax: number | null): Promise<Told> {
    const startedMs = performance.now();
    const durationMs = (): number => Math.round(performance.now() - startedMs);
    const answer = msMax === null ? null : await this.#ask(node, msMax);
    const read = answer?.ok === true ? readReport(answer.body, standing.ranges) : null;
    const nowMs = this.#ports.clock.nowMs();
    if (read?.ok === true) {
      await this.#keep(node, read.checks, nowMs);
      return { check: reportCheck('live', durationMs()), checks: read.checks, collectedAtMs: nowMs, isLive: true };
    }
    const last = standing.report;
    const problem = problemOf(answer, read?.problem);
    return {
      check: reportCheck({ problem, from: askedOf(answer), lastAtMs: last?.collectedAtMs ?? null }, durationMs()),
      checks: last?.checks ?? [],
      collectedAtMs: last?.collectedAtMs ?? nowMs,
      isLive: false,
    };
  }

  #ask(node: NodeId, msMax: number): Promise<AgentAnswer> {
    return this.#ports.requests.get(node, {
      server: 'api',
      path: AGENT_DIAGNOSTICS_PATH,
      bytesMax: DIAGNOSIS_BYTES_MAX,
      msMax: Math.round(msMax),
    });
  }

  /** A report is worth its answer also when it cannot be kept, or not in time. */
  async #keep(node: NodeId, checks: readonly DiagnosisCheck[], atMs: number): Promise<void> {
    const { rows, log } = this.#ports;
    const stored = rows
      .store(node, checks, atMs)
      .catch((error: unknown) => log.warn({ error, node }, 'a diagnosis was not stored'));
    const limit = new AbortController();
    await Promise.race([stored, delay(STORE_MS_MAX, undefined, { signal: limit.signal }).catch(() => {})]);
    limit.abort();
  }
}

/** Who is behind an answer that is no report. */
function askedOf(answer: AgentAnswer | null): 'agent' | 'stranger' | 'nobody' {
  if (answer?.ok === true) return 'agent';
  return answer?.failure === 'invalid' ? 'stranger' : 'nobody';
}

/** What came of asking the agent. */
interface Told {
  readonly check: DiagnosisCheck;
  readonly checks: readonly DiagnosisCheck[];
  readonly collectedAtMs: number;
  readonly isLive: boolean;
}

/** Why there is no report; `unreadable`: what is wrong with the one that came. */
function problemOf(answer: AgentAnswer | null, unreadable: string | undefined): string {
  if (answer === null) return 'the machine cannot be reached';
  return answer.ok ? `its report cannot be used: ${unreadable}` : answer.message;
}
