/**
 * One name for one thing: every field of every line that admin and agent write stands in the table of docs/tracing.md.
 */
import { readFileSync } from 'node:fs';
import test from 'ava';
import { fieldsOfLogCalls } from './support/source/log-calls.ts';
import { trackedFiles } from './support/source/source-text.ts';

const PROGRAMS = /^(?:actors|agent|api|persistence|supervisors|transport|cli)\/.*\.ts$|^main\.ts$/u;

const table = readFileSync(new URL('../docs/tracing.md', import.meta.url), 'utf8').split('<!-- fields -->')[1] ?? '';
const known = new Set(
  table
    .split('\n')
    .flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`([a-z_]+)`/gu)].map(([, name]) => name ?? '')),
);

const calls = trackedFiles()
  .filter(({ path }) => PROGRAMS.test(path))
  .flatMap((file) => fieldsOfLogCalls(file).map((field) => ({ ...field, path: file.path })));

test('every field of a log line has its name in the table', (t) => {
  t.deepEqual(
    calls.filter(({ name }) => !known.has(name)).map(({ name, path, line }) => `${path}:${line} ${name}`),
    [],
  );
});

test('every name of the table is used', (t) => {
  // the last ones are computed: those of actors
  const used = new Set([...calls.map(({ name }) => name), 'node', 'command', 'cluster', 'webhook', 'kind']);

  t.deepEqual(
    [...known].filter((name) => !used.has(name)),
    [],
  );
});

test('names are read where they stand', (t) => {
  const text =
    "log.info({ node, a: x({ b: 1 }), ...(y && { cluster: 'c, d' }), ...rest }, 'text { not: this }');\nthis.#log?.warn({ e: `${f}` }, 'Text');\nlog[live ? 'info' : 'warn']({ admin }, live ? 'x' : 'y');\nlog.info(fields, `{ ${h} }`);\nnolog.info({ g });\ncatalog.info({ h })";

  t.deepEqual(fieldsOfLogCalls({ path: 'a.ts', text }), [
    { name: 'node', line: 1 },
    { name: 'a', line: 1 },
    { name: 'cluster', line: 1 },
    { name: 'e', line: 2 },
    { name: 'admin', line: 3 },
  ]);
});
