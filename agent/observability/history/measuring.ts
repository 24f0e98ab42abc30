/** Measures every 15 s, from its start to its end, for a history. */
import { aliveMs } from '../../../transport/net/uptime.ts';
import { HISTORY_INTERVAL_MS, type MetricsHistory } from '../../../transport/protocol/metrics-history.ts';
import { HOST_ROOTS, HostFiles, type HostRoots } from '../metrics/host/files.ts';
import { History } from './history.ts';
import { readNow, RootFilesystem } from './reading.ts';

/** How long the root filesystem may take to tell how full it is, in ms: one of another machine may hang. */
const DISK_MS_MAX = 1_000;

/** A history that goes on. */
export interface Measuring {
  /** What is known by now. */
  told(): MetricsHistory;
  close(): void;
}

/** What a test has instead. */
export interface MeasuringOptions {
  /** Default: this machine's. */
  readonly roots?: HostRoots;
  /** A clock that only goes forward, also while the machine is suspended, in ms. */
  readonly nowMs?: () => number;
}

/** Begins with what is there now. */
export function startMeasuring({ roots = HOST_ROOTS, nowMs = aliveMs }: MeasuringOptions = {}): Measuring {
  const history = new History();
  const host = new HostFiles(roots); // one for all, as it has a buffer
  const root = new RootFilesystem(host, DISK_MS_MAX);
  const measure = async (): Promise<void> => {
    const disk = await root.space();
    history.add(readNow(host, nowMs(), disk));
  };
  void measure();
  const timer = setInterval(() => void measure(), HISTORY_INTERVAL_MS).unref();
  return {
    told: () => history.told(nowMs()),
    close: () => clearInterval(timer),
  };
}
