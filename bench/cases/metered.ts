/** `metered`: what an idle agent sends and receives, on a link that is paid by the byte and else. */
import { execFile } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { createScope } from '../../test/support/scope.ts';
import { startBenchServer } from '../fleet/database.ts';
import { newAdminPlace, startAdmin } from '../product/admin.ts';
import { startAgent } from '../product/agent-program.ts';
import type { CaseOptions } from './options.ts';

/**
 * Length of the look, in s: the period of settings, and of reports of a metered agent. Diagnoses are uploaded on
 * connections of their own and not in it: four to eight a day, of some 14 kB each with TLS.
 */
const SECONDS = 600;
const REST_MS = 5_000;

const DAY_SECONDS = 86_400;

/** Headers of one segment without its data, in bytes: IPv4, and TCP with timestamps. */
const SEGMENT_BYTES = 52;

/** A record of TLS 1.3 around the data of one segment, in bytes; this bench's connections have none. */
const TLS_BYTES = 22;

/** Target, in MB a day with TLS. Source: docs/performance.md. */
const MB_MAX = 2;

/** Counters of a connection, as the kernel has them at the agent's end. */
interface Counted {
  readonly bytes: number;
  readonly segments: number;
  readonly dataSegments: number;
}

/** Two agents at one admin, looked at through the same time; a day is that time as often as it fits. */
export async function metered(options: CaseOptions): Promise<void> {
  const scope = createScope();
  try {
    const postgres = await startBenchServer();
    scope.teardown(() => postgres.stop());
    const admin = await startAdmin(await newAdminPlace(await postgres.create('product')));
    scope.teardown(() => admin.stop());
    const sides = [];
    for (const [side, isMetered] of [
      ['usual', 'false'],
      ['metered', 'true'],
    ] as const) {
      const agent = await startAgent(admin, { env: { AGENT_METERED: isMetered } });
      scope.teardown(() => agent.stop());
      sides.push({ side, agent });
    }
    await delay(REST_MS);
    const seconds = options.seconds ?? SECONDS;
    const before = await Promise.all(sides.map(({ agent }) => counted(agent.pid)));
    await delay(seconds * 1_000);
    for (const [index, { side, agent }] of sides.entries()) {
      const [from, to] = [before[index], await counted(agent.pid)];
      if (from === undefined) continue;
      const segments = to.segments - from.segments;
      const bytes = to.bytes - from.bytes + segments * SEGMENT_BYTES;
      const days = DAY_SECONDS / seconds / 1_000_000;
      const withTls = bytes + (to.dataSegments - from.dataSegments) * TLS_BYTES;
      options.report.add({
        case: 'metered',
        side,
        seconds,
        ratio: null,
        payload_bytes: to.bytes - from.bytes,
        segments,
        mb_a_day: bytes * days,
        mb_a_day_with_tls: withTls * days,
        verdict: side === 'metered' ? (withTls * days <= MB_MAX ? 'met' : 'missed') : 'none',
      });
    }
  } finally {
    await scope.end();
  }
}

/** All that went both ways on the connections that a process has now; an idle agent has one, its session. */
async function counted(pid: number): Promise<Counted> {
  const { stdout } = await promisify(execFile)('ss', ['-tinpOH', 'state', 'established']);
  const lines = stdout.split('\n').filter((line) => line.includes(`pid=${pid},`));
  const sum = (name: string): number =>
    lines.reduce((total, line) => total + Number(new RegExp(`\\b${name}:(\\d+)`, 'u').exec(line)?.[1] ?? 0), 0);
  return {
    bytes: sum('bytes_sent') + sum('bytes_received'),
    segments: sum('segs_out') + sum('segs_in'),
    dataSegments: sum('data_segs_out') + sum('data_segs_in'),
  };
}
