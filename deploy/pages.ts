/** What of the documentation comes from the code. `node deploy/pages.ts` writes it; a test holds it equal. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { AGENT_SETTINGS } from '../agent/config.ts';
import { UPDATER_SETTINGS } from '../agent/updater/settings.ts';
import { ADMIN_SETTING_THEMES } from '../settings/admin.ts';
import { settingsMarkdown } from '../settings/environment.ts';
import { RELAY_SETTINGS } from '../settings/relay.ts';
import { CHART_SCHEMA_FILE, chartSchema } from './pages/chart-schema.ts';
import { edgeHelp, plainHelp } from './pages/commands.ts';
import { limitsTables } from './pages/limits-tables.ts';
import { errorsTable, operationsTable } from './pages/operations.ts';
import { promiseTests } from './pages/promise-tests.ts';

/**
 * Page, from the root of the repository → region of it → what stands there, made from the text of the page if needed.
 */
const REGIONS: Readonly<Record<string, Readonly<Record<string, (page: string) => string>>>> = {
  'docs/settings.md': {
    'settings of edge-admin': () =>
      Object.entries(ADMIN_SETTING_THEMES)
        .map(([theme, shape]) => `### ${theme}\n\n${settingsMarkdown(shape)}`)
        .join('\n'),
    'settings of edge-agent': () => settingsMarkdown(AGENT_SETTINGS),
    'settings of edge-updater': () => settingsMarkdown(UPDATER_SETTINGS),
    'settings of a relay': () => settingsMarkdown(RELAY_SETTINGS),
  },
  'docs/cli.md': {
    'commands of edge': edgeHelp,
    'commands of edge-admin': () => plainHelp('edge-admin'),
    'commands of edge-agent': () => plainHelp('edge-agent'),
    'commands of edge-updater': () => plainHelp('edge-updater'),
  },
  'docs/api.md': { errors: errorsTable, operations: operationsTable },
  'docs/limits.md': { limits: limitsTables },
  'docs/promises.md': { 'tests of promises': promiseTests },
};

/** What has such regions, or names that come from the code. */
export const GENERATED_PAGES: readonly string[] = [...Object.keys(REGIONS), CHART_SCHEMA_FILE];

/** The text of a page as it stands. */
export function pageText(page: string): string {
  return readFileSync(pathOf(page), 'utf8');
}

/** A page with every region as the code has it now. Throws when a region is not marked in it. */
export function withRegions(page: string, text: string): string {
  if (page === CHART_SCHEMA_FILE) return chartSchema(text);
  return Object.entries(REGIONS[page] ?? {}).reduce((before, [region, made]) => {
    const [begin, end] = [`<!-- begin: ${region} (node deploy/pages.ts) -->\n`, `<!-- end: ${region} -->`];
    const [from, to] = [before.indexOf(begin), before.indexOf(end)];
    if (from === -1 || to < from)
      throw new Error(`${page} has no region "${region}": it begins with ${begin.trim()} and ends with ${end}`);
    return `${before.slice(0, from + begin.length)}\n${made(text)}\n${before.slice(to)}`;
  }, text);
}

function pathOf(page: string): string {
  return fileURLToPath(new URL(`../${page}`, import.meta.url));
}

if (import.meta.main)
  for (const page of GENERATED_PAGES) writeFileSync(pathOf(page), withRegions(page, pageText(page)));
