/** Ava loads this in the process of each test file: it says how long that took, where somebody asked. */
import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { DURATIONS_VARIABLE, durationLine } from './durations.ts';

const path = process.env[DURATIONS_VARIABLE];
if (path !== undefined) process.once('exit', () => appendFileSync(path, durationLine(relative(process.cwd(), fileURLToPath(test.meta.file)), performance.now())));
