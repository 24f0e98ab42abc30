#!/usr/bin/env node
/** `edge`: the command line of the service. */
import { enableCompileCache } from 'node:module';

// Before anything else is loaded: with compiled code at hand the start takes half the time (measured).
enableCompileCache();
void main(process.argv.slice(2));

/** Not awaited above: in its one file (deploy/one-file.ts) that is not possible. */
async function main([command, ...words]: readonly string[]): Promise<void> {
  // Every ssh to a node starts one of these: without all other commands it is there in less than half of the time
  // (measured).
  const connect = command === 'connect' ? (await import('./reach/connect.ts')).plainConnect(words) : null;
  await (connect === null ? (await import('./program.ts')).runEdge() : connect());
}
