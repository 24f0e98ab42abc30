/**
 * `console`: the pages in Debian's Chromium against a real admin: how soon they paint and answer, how they keep up with
 * changes, storms, long lists and runs, and what open ones cost the admin.
 */
import { buildConsole, CONSOLE_DIST } from '../../deploy/console.ts';
import { createScope } from '../../test/support/scope.ts';
import { benchBrowser } from '../console/browser.ts';
import { changes } from '../console/changes.ts';
import { consoles } from '../console/consoles.ts';
import { paint } from '../console/paint.ts';
import { run } from '../console/run.ts';
import { scroll } from '../console/scroll.ts';
import { startBenchServer, withClient, type BenchServer } from '../fleet/database.ts';
import { insertNodes } from '../fleet/nodes.ts';
import { WATCHED_NODES_MAX } from '../../api/feeds/limits.ts';
import { newAdminPlace, startAdmin, UNDAMPED } from '../product/admin.ts';
import { startProduct } from '../product/contestant.ts';
import type { ConsolePlace } from '../console/browser.ts';
import type { CaseOptions } from './options.ts';

const NODES = 10_000;

/** Rows of the list that is scrolled: as many as a page follows, and too many. */
const ROWS = WATCHED_NODES_MAX;
const TOO_MANY = WATCHED_NODES_MAX + 1;

/** All parts; each can be named. */
const PARTS = ['paint', 'frames', 'storm', 'run', 'server', 'scroll', 'too-many'] as const;

/** Parts that need agents. */
const WITH_AGENTS = ['frames', 'storm', 'run', 'server'];

/** The parts that are named, else all. */
export async function consolePages(options: CaseOptions): Promise<void> {
  const unknown = options.names.find((name) => !PARTS.some((part) => part === name));
  if (unknown !== undefined) throw new Error(`console has no part ${unknown}: ${PARTS.join(', ')}`);
  const parts: readonly string[] = options.names.length > 0 ? options.names : PARTS;
  const scope = createScope();
  try {
    await buildConsole(CONSOLE_DIST); // what is measured are these sources
    const postgres = await startBenchServer();
    scope.teardown(() => postgres.stop());
    const browser = await benchBrowser(scope);
    const [nodes = NODES] = options.nodes;
    const rows = options.nodes[0] ?? ROWS;
    if (parts.includes('paint'))
      await stored(postgres, 'paint', nodes, (place) => paint(options, browser, place, nodes));
    if (parts.some((part) => WITH_AGENTS.includes(part))) {
      const product = await startProduct(postgres, nodes, { env: UNDAMPED });
      try {
        await changes(options, browser, product, { nodes, parts });
        if (parts.includes('run')) await run(options, browser, product, nodes);
        if (parts.includes('server')) await consoles(options, product, options.nodes[1]);
      } finally {
        await product.end();
      }
    }
    if (parts.includes('scroll'))
      await stored(postgres, 'scroll', rows, (place) => scroll(options, browser, place, rows));
    if (parts.includes('too-many'))
      await stored(postgres, 'toomany', TOO_MANY, (place) => scroll(options, browser, place, TOO_MANY));
  } finally {
    await scope.end();
  }
}

/** An admin of nodes that are stored and away. */
async function stored(
  postgres: BenchServer,
  name: string,
  nodes: number,
  work: (place: ConsolePlace) => Promise<void>,
): Promise<void> {
  const database = await postgres.create(name);
  await withClient(database, (client) => insertNodes(client, nodes));
  const place = await newAdminPlace(database);
  const admin = await startAdmin(place);
  try {
    await work(place);
  } finally {
    await admin.stop();
  }
}
