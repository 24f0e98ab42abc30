/**
 * Collects the garbage of bytes that pass: buffers of 64 KiB behind objects of 100 bytes, which V8 does not count when
 * it decides how.
 */

import { constants, PerformanceObserver } from 'node:perf_hooks';

/**
 * Bytes that pass between two collections. V8 starts to collect the whole heap once 64 MiB of buffers have come, which
 * is after about 20 MiB that pass (each is copied three times on its way), unless the young generation, whose
 * collection takes a millisecond, is full before: at an admin, which has a large one, it is not.
 */
export const COLLECTED_BYTES = 16_777_216;

/**
 * The same of the buffers that come and go with answers that are read whole. At 67 answers of 58 KiB of text a second
 * the whole heap was collected 1.2 times a second, which took V8's threads a fifth of a core.
 */
export const COLLECTED_ANSWER_BYTES = 10_485_760;

/** The collector of this process. */
export interface Collector {
  /** As `--expose-gc` gives it. */
  readonly collect: (options: { readonly type: 'minor' }) => void;
  /** The whole heap is being marked, bit by bit. */
  readonly isMarking: () => boolean;
}

/**
 * Told of bytes that pass, collects the young generation after each `everyBytes`. Measured with a heap of 60 MB: 2.4
 * to 3.1 instead of 7.6 to 7.8 ms of processor time a MiB, and twice the throughput. While the whole heap is marked
 * it waits: V8 would first finish that, in one go of 65 to 110 ms with the same heap. Source: V8,
 * `--separate-gc-phases`.
 */
export function createMinorGc(
  everyBytes: number,
  collectorOf: () => Collector = processCollector,
): (bytes: number) => void {
  let passed = 0;
  let collector: Collector | null = null;
  return (bytes) => {
    passed += bytes;
    if (passed < everyBytes) return;
    collector ??= collectorOf();
    if (collector.isMarking()) return;
    passed = 0;
    collector.collect({ type: 'minor' });
  };
}

let ofProcess: Collector | null = null;

function processCollector(): Collector {
  ofProcess ??= { collect: exposedCollect(), isMarking: watchMarking() };
  return ofProcess;
}

function exposedCollect(): Collector['collect'] {
  const { setFlagsFromString } = process.getBuiltinModule('node:v8');
  setFlagsFromString('--expose-gc');
  const collect = process.getBuiltinModule('node:vm').runInNewContext('gc') as Collector['collect'];
  setFlagsFromString('--no-expose-gc');
  return collect;
}

/** By what Node tells of collections: marking that has begun, a turn or two later, and its end. */
function watchMarking(): Collector['isMarking'] {
  let isMarking = false;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      const { kind } = (entry as unknown as { readonly detail: { readonly kind: number } }).detail; // Node's types leave it out
      if (kind === constants.NODE_PERFORMANCE_GC_INCREMENTAL) isMarking = true;
      else if (kind === constants.NODE_PERFORMANCE_GC_MAJOR) isMarking = false;
    }
  }).observe({ entryTypes: ['gc'] });
  return () => isMarking;
}
