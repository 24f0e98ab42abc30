/** `edge login`. */
import { createInterface } from 'node:readline/promises';
import type { Command as Program } from 'commander';
import { createClient } from '../client.ts';
import { storeConnection } from '../connection.ts';
import { tell } from '../output.ts';
import { EXIT, Problem } from '../problem.ts';
import { sessionOf } from '../session.ts';

/** Remembers where the service is and with which key, after trying them. */
export function addLoginCommand(program: Program): void {
  program.command('login').description('remember the URL and key (--key, EDGE_API_KEY, or asked for on stdin)').action(async (_flags: object, command: Program) => {
    const { key: flag } = command.optsWithGlobals<{ readonly key?: string }>();
    const { connection } = sessionOf(command);
    const key = flag ?? process.env['EDGE_API_KEY'] ?? await askedKey(connection.url);
    const chosen = { url: connection.url, key };
    const admin = await createClient(chosen).get_admin.query({});
    tell(`${admin.name} (${admin.version}) at ${chosen.url} accepts this key; remembered in ${storeConnection(chosen, process.env)}`);
  });
}

async function askedKey(url: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  if (process.stdin.isTTY) process.stderr.write(`Key for ${url}: `);
  try {
    for await (const line of lines) if (line.trim() !== '') return line.trim();
  } finally {
    lines.close();
  }
  throw new Problem('no key was given: pass --key, set EDGE_API_KEY, or write it to stdin', EXIT.usage);
}
