/** The files of which `GET /install.sh` is made, as text. They stand in deploy/, where packages take them from too. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where the frame and its parts are. */
const SCRIPTS = 'deploy/install/';

/** The script without its parts. */
export const FRAME = 'install.sh';

/** Files that the script writes onto a machine: what it calls each, and where it is in deploy/. */
export const CARRIED_FILES = {
  launch: 'deploy/launcher.sh',
  agentctl: `${SCRIPTS}edge-agentctl.sh`,
  command: `${SCRIPTS}edge-command.sh`,
  unit_agent: 'deploy/systemd/edge-agent.service',
  unit_updater: 'deploy/systemd/edge-updater.service',
  drop_in_updater: 'deploy/systemd/edge-updater-data.conf',
  user_unit_agent: 'deploy/systemd/user/edge-agent.service',
  user_unit_updater: 'deploy/systemd/user/edge-updater.service',
  rc_agent: 'deploy/openrc/edge-agent',
  rc_updater: 'deploy/openrc/edge-updater',
} as const;

/** Parts of the script, in its order. */
const PARTS = [
  'words.sh',
  'options.sh',
  'machine.sh',
  'places.sh',
  'download.sh',
  'programs.sh',
  'settings.sh',
  'services.sh',
  'health.sh',
  'removal.sh',
] as const;

/** Paths from the root of the sources. */
export const PIECE_PATHS: readonly string[] = [
  ...[FRAME, ...PARTS].map((name) => `${SCRIPTS}${name}`),
  ...Object.values(CARRIED_FILES),
];

/** Text by path. deploy/bundles.ts puts it into the published admin, which has no such files beside it. */
declare const INSTALL_PIECES: Readonly<Record<string, string>> | undefined;

/** All pieces by their paths, as they are in this directory, or in the sources of this program. */
export function readPieces(root?: string): Readonly<Record<string, string>> {
  if (root === undefined && typeof INSTALL_PIECES === 'object') return INSTALL_PIECES;
  const from = root ?? join(import.meta.dirname, '../..');
  return Object.fromEntries(PIECE_PATHS.map((path) => [path, readFileSync(join(from, path), 'utf8')]));
}

/** The path of a part that the frame includes. */
export function partPath(name: string): string {
  return `${SCRIPTS}${name}`;
}
