/**
 * Unit tests that share a process. Starting one for each file, and reading the same code in each, takes more than most
 * of them do: see docs/decisions/unit-tests.md.
 */
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../source/source-text.ts';

/** Where the processes are written down: a file for each. */
export const TOGETHER_DIRECTORY = 'test/unit/together';

/** Variable that says that they run, and that what is in them does not run by itself too. */
export const TOGETHER_VARIABLE = 'EDGE_TEST_TOGETHER';

/**
 * What runs in which process: tests that only compute, or that wait for nothing but themselves. Those that measure
 * time, memory or the event loop, or that fuzz, have a process of their own.
 */
const TOGETHER = {
  actors: ['{actors,settings,supervisors,cli}/**'],
  agent: ['agent', 'agent/{access,enrollment,execution,session,update,vpn}/**'],
  api: ['api', 'api/{client,debug,docs,forwarding,inputs,internal,mcp,metrics,operations}/**'],
  transport: ['transport/{protocol,tracing}/**', 'transport/net/exposition', 'transport/vpn/{gateway,member}/**'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** One of the processes. */
export type TogetherName = keyof typeof TOGETHER;

/** The test files in any of them, as patterns from the root. */
export function patternsTogether(): string[] {
  return (Object.keys(TOGETHER) as TogetherName[]).flatMap(patternsOf);
}

/** Loads the tests of one of them; ava runs them as if they stood in the file that asks. */
export async function loadTogether(name: TogetherName): Promise<void> {
  for (const file of globSync(patternsOf(name), { cwd: ROOT }).toSorted()) await import(join(ROOT, file));
}

function patternsOf(name: TogetherName): string[] {
  return TOGETHER[name].map((directory) => `test/unit/${directory}/*.test.ts`);
}
