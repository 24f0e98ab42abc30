/** Tests run as processes of their own (native addons and signals want that), two at a time: machines of two cores stay usable. */
export default {
  files: ['test/**/*.test.ts'],
  extensions: ['ts'],
  workerThreads: false,
  concurrency: 2,
  timeout: '2m',
};
