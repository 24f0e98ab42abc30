import { relative } from 'node:path';
import durations from './test/durations.json' with { type: 'json' };
import { PLACES_MAX } from './test/support/run/places.ts';
import { patternsTogether, TOGETHER_DIRECTORY, TOGETHER_VARIABLE } from './test/support/run/together.ts';

const outside = process.env[TOGETHER_VARIABLE] === 'yes' ? patternsTogether() : [`${TOGETHER_DIRECTORY}/*.test.ts`];

/**
 * Tests run as processes of their own (native addons and signals want that), each once it has a place: four at a time,
 * and more where processors have nothing to do. The longest come first. Of the unit tests many share one where all of
 * them run.
 */
export default {
  files: ['test/**/*.test.ts', ...outside.map((pattern) => `!${pattern}`)],
  extensions: ['ts'],
  workerThreads: false,
  concurrency: PLACES_MAX,
  timeout: '5m',
  require: ['./test/support/run/duration-recorder.ts'],
  sortTestFiles: (one, other) => secondsOf(other) - secondsOf(one) || one.localeCompare(other),
};

function secondsOf(path) {
  return durations[relative(import.meta.dirname, path)] ?? 0;
}
