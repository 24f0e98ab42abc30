/**
 * The few numbers of the machine and the agent that a history is made of, read without the exporters: five small files
 * in place of hundreds, in a tenth of a millisecond.
 */
import { statfs } from 'node:fs/promises';
import { numberOrNull, type HostFiles } from '../metrics/host/files.ts';
import { mountsOf } from '../metrics/host/mounts.ts';

/** What was there at one moment; null: this machine does not tell it, or not now. */
export interface Reading {
  /** ms of the clock of the history. */
  readonly atMs: number;
  /** Ticks of all processors together since the machine started: all, and those that were not idle. */
  readonly allTicks: number | null;
  readonly busyTicks: number | null;
  readonly cores: number | null;
  /** Load of the last minute. */
  readonly load: number | null;
  readonly memory: Space | null;
  /** Of the root filesystem. */
  readonly disk: Space | null;
  /** Of all interfaces but loopback, since they came up. */
  readonly receivedBytes: number | null;
  readonly sentBytes: number | null;
  /** Resident memory of this program. */
  readonly agentBytes: number | null;
}

/** Something that fills up, in one unit. */
export interface Space {
  readonly total: number;
  readonly available: number;
}

/** Reads now. `disk` is asked elsewhere, as it may hang. */
export function readNow(host: HostFiles, atMs: number, disk: Space | null): Reading {
  return {
    atMs,
    ...orNone(() => processorsOf(host.proc('stat')), { allTicks: null, busyTicks: null, cores: null }),
    load: orNone(() => numberOrNull(host.proc('loadavg').split(' ', 1)[0]), null),
    memory: orNone(() => memoryOf(host.proc('meminfo')), null),
    disk,
    ...orNone(() => networkOf(host.proc('net/dev')), { receivedBytes: null, sentBytes: null }),
    agentBytes: orNone(() => process.memoryUsage.rss(), null),
  };
}

/**
 * How full the root filesystem is, as the host's exporter would tell it: null where that leaves it out (an overlay of a
 * container), and where it does not answer within `msMax`. It is asked once at a time: one that hangs holds one of the
 * few threads that Node has for files.
 */
export class RootFilesystem {
  readonly #host: HostFiles;
  readonly #msMax: number;
  #isServed: boolean | null = null;
  #asked: Promise<Space | null> | null = null;

  constructor(host: HostFiles, msMax: number) {
    this.#host = host;
    this.#msMax = msMax;
  }

  async space(): Promise<Space | null> {
    this.#isServed ??= orNone(() => mountsOf(this.#host).some(({ mountPoint }) => mountPoint === '/'), null);
    if (this.#isServed !== true || this.#asked !== null) return null;
    this.#asked = statfs('/')
      .then(({ blocks, bavail }) => ({ total: blocks, available: bavail }))
      .catch(() => null)
      .finally(() => {
        this.#asked = null;
      });
    const late = Promise.withResolvers<null>();
    const timer = setTimeout(() => late.resolve(null), this.#msMax).unref();
    const space = await Promise.race([this.#asked, late.promise]);
    clearTimeout(timer);
    return space;
  }
}

/** Fields of the line of all processors that are idle: idle and iowait. Source: proc(5), /proc/stat. */
const IDLE_FIELDS: ReadonlySet<number> = new Set([3, 4]);

/** Fields behind the eighth are guests, which are in the first two already. */
const FIELDS = 8;

function processorsOf(stat: string): Pick<Reading, 'allTicks' | 'busyTicks' | 'cores'> {
  const ticks = (/^cpu +([\d ]+)$/mu.exec(stat)?.[1] ?? '').split(' ').slice(0, FIELDS).map(Number);
  const sum = (those: readonly number[]): number => those.reduce((total, one) => total + one, 0);
  const isTold = ticks.length > Math.max(...IDLE_FIELDS);
  return {
    allTicks: isTold ? sum(ticks) : null,
    busyTicks: isTold ? sum(ticks.filter((_, field) => !IDLE_FIELDS.has(field))) : null,
    cores: [...stat.matchAll(/^cpu\d+ /gmu)].length || null,
  };
}

function memoryOf(meminfo: string): Space | null {
  const [total, available] = ['MemTotal', 'MemAvailable'].map((name) =>
    numberOrNull(new RegExp(`^${name}: +(\\d+) kB$`, 'mu').exec(meminfo)?.[1]),
  );
  return total == null || available == null ? null : { total, available };
}

/** Columns of /proc/net/dev behind the name: bytes that came first, bytes that went ninth. Source: proc(5). */
const RECEIVED = 0;
const SENT = 8;

function networkOf(dev: string): Pick<Reading, 'receivedBytes' | 'sentBytes'> {
  let [receivedBytes, sentBytes] = [0, 0];
  for (const line of dev.split('\n').slice(2)) {
    const end = line.lastIndexOf(':');
    if (end === -1 || line.slice(0, end).trim() === 'lo') continue;
    const columns = line
      .slice(end + 1)
      .trim()
      .split(/ +/u);
    receivedBytes += Number(columns[RECEIVED] ?? 0);
    sentBytes += Number(columns[SENT] ?? 0);
  }
  return { receivedBytes, sentBytes };
}

/** What is not here, or not for this user, is not told: a log line every 15 s would help nobody. */
function orNone<T>(read: () => T, none: T): T {
  try {
    return read();
  } catch {
    return none;
  }
}
