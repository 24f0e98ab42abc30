import { relative } from 'node:path';
import durations from './test/durations.json' with { type: 'json' };

/**
 * Tests run as processes of their own (native addons and signals want that), three at a time, as many of them wait for
 * other programs most of the time. The longest come first.
 */
export default {
  files: ['test/**/*.test.ts'],
  extensions: ['ts'],
  workerThreads: false,
  concurrency: 3,
  timeout: '5m',
  require: ['./test/support/duration-recorder.ts'],
  sortTestFiles: (one, other) => secondsOf(other) - secondsOf(one) || one.localeCompare(other),
};

function secondsOf(path) {
  return durations[relative(import.meta.dirname, path)] ?? 0;
}
